#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <string>

#include "sinew/core/mesh.h"
#include "sinew/core/sequence.h"

/// Arrays of Python on their way in and out.
///
/// In: whatever numpy makes an array of. What is float32 and contiguous already is used as it is; everything else is
/// converted by numpy. Out: read-only views of the library's memory that keep their owner alive.
namespace sinew::python {

namespace nb = nanobind;

using FloatArray = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
using DoubleArray = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using IntegerArray = nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu>;

/// `shape` has a name for every axis ("F", "V") or a number ("3"); `name` stands for the array in sentences. Throws
/// Error{input} when the array has another number of axes or another size where there is a number.
FloatArray float_array(nb::handle value, const char* name, std::initializer_list<const char*> shape);
DoubleArray double_array(nb::handle value, const char* name, std::initializer_list<const char*> shape);
/// Refuses floating-point numbers as well.
IntegerArray integer_array(nb::handle value, const char* name, std::initializer_list<const char*> shape);

/// V×3 positions as the library has them.
Points points_of(nb::handle value, const char* name);

/// Faces: None, T×k numbers, or a list of polygons. Sets face_sizes and corners.
void set_faces(nb::handle value, Mesh& mesh);

/// F×V×3 positions. Contiguous float32 stays where it is, and its array alive as long as the frames need it.
Frames frames_of(nb::handle value, const char* name);

/// A sequence, checked. `times`: None or F seconds, then `fps` does not count.
Sequence make_sequence(nb::handle frames, nb::handle faces, nb::handle rest, nb::handle times, double fps,
                       std::string name);

/// A read-only view of `data`, which `owner` keeps alive. `strides` counts elements; empty: contiguous.
template <class T>
nb::object view_of(const T* data, std::initializer_list<std::size_t> shape, nb::handle owner,
                   std::initializer_list<std::int64_t> strides = {}) {
  return nb::cast(nb::ndarray<nb::numpy, const T>(data, shape, owner, strides));
}

/// An array of its own.
template <class T>
nb::object array_of(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto* const kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* data) noexcept { delete static_cast<std::vector<T>*>(data); });
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape, owner));
}

}  // namespace sinew::python
