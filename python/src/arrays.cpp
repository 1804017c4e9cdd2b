#include "arrays.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <limits>
#include <memory>
#include <vector>

#include "sinew/core/error.h"

namespace sinew::python {
namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw Error(ErrorKind::input, sentence);
}

nb::object numpy() {
  return nb::module_::import_("numpy");
}

/// str() of an attribute.
std::string attribute_text(nb::handle value, const char* name) {
  const nb::object attribute = value.attr(name);
  return nb::cast<std::string>(nb::str(attribute));
}

/// numpy's view of a value as an array of this type; a TypeError where it is no array of numbers.
nb::object as_array(nb::handle value, const char* name, const char* type) {
  try {
    nb::object array = numpy().attr("asarray")(value);
    const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
    if (kind.find_first_of("fiub") == std::string::npos) {
      throw nb::type_error(
          fmt::format("{}: an array of {} was given, numbers are expected", name, attribute_text(array, "dtype"))
              .c_str());
    }
    if (std::string_view(type) == "int64" && kind == "f")
      throw nb::type_error(fmt::format("{}: floating-point numbers were given, integers are expected", name).c_str());
    return numpy().attr("require")(array, nb::arg("dtype") = type, nb::arg("requirements") = "CA");
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ValueError) && !error.matches(PyExc_TypeError)) throw;
    throw nb::type_error(fmt::format("{}: an array of numbers is expected", name).c_str());
  }
}

void check_shape(nb::handle array, const char* name, std::initializer_list<const char*> shape) {
  const auto given = nb::cast<nb::tuple>(array.attr("shape"));
  bool fits = given.size() == shape.size();
  std::size_t axis = 0;
  for (const char* expected : shape) {
    if (!fits) break;
    if (std::isdigit(static_cast<unsigned char>(*expected)) != 0)
      fits = nb::cast<std::size_t>(given[axis]) == static_cast<std::size_t>(std::atoi(expected));
    ++axis;
  }
  if (fits) return;
  std::string text;
  for (const char* expected : shape) text += fmt::format("{}{}", text.empty() ? "" : "×", expected);
  refuse(fmt::format("{}: an array of shape {} was given, {} is expected", name, attribute_text(array, "shape"), text));
}

template <class Array>
Array checked_array(nb::handle value, const char* name, const char* type, std::initializer_list<const char*> shape) {
  const nb::object array = as_array(value, name, type);
  check_shape(array, name, shape);
  return nb::cast<Array>(array);
}

Index index_of(std::int64_t value, std::size_t face) {
  if (value < 0 || value > std::numeric_limits<Index>::max())
    refuse(fmt::format("faces: face {} has vertex {}", face, value));
  return static_cast<Index>(value);
}

/// Adds a list or tuple of Python's own integers, which numpy would be slow to look at one by one. False: it is
/// something else, and nothing was added.
bool add_plain_face(nb::handle polygon, Mesh& mesh) {
  if (!nb::isinstance<nb::list>(polygon) && !nb::isinstance<nb::tuple>(polygon)) return false;
  const std::size_t before = mesh.corners.size();
  for (const nb::handle corner : nb::borrow<nb::sequence>(polygon)) {
    int overflow = 0;
    const bool plain = PyLong_CheckExact(corner.ptr());
    const long long number = plain ? PyLong_AsLongLongAndOverflow(corner.ptr(), &overflow) : 0;
    if (!plain || overflow != 0) {
      mesh.corners.resize(before);
      return false;
    }
    mesh.corners.push_back(index_of(number, mesh.face_sizes.size()));
  }
  mesh.face_sizes.push_back(static_cast<Index>(mesh.corners.size() - before));
  return true;
}

}  // namespace

FloatArray float_array(nb::handle value, const char* name, std::initializer_list<const char*> shape) {
  return checked_array<FloatArray>(value, name, "float32", shape);
}

DoubleArray double_array(nb::handle value, const char* name, std::initializer_list<const char*> shape) {
  return checked_array<DoubleArray>(value, name, "float64", shape);
}

IntegerArray integer_array(nb::handle value, const char* name, std::initializer_list<const char*> shape) {
  return checked_array<IntegerArray>(value, name, "int64", shape);
}

Points points_of(nb::handle value, const char* name) {
  const FloatArray array = float_array(value, name, {"V", "3"});
  Points points(3, static_cast<Eigen::Index>(array.shape(0)));
  std::copy(array.data(), array.data() + array.size(), points.data());
  return points;
}

void set_faces(nb::handle value, Mesh& mesh) {
  mesh.face_sizes.clear();
  mesh.corners.clear();
  if (value.is_none()) return;
  if (nb::isinstance(value, numpy().attr("ndarray"))) {
    const IntegerArray faces = integer_array(value, "faces", {"T", "corners"});
    mesh.face_sizes.assign(faces.shape(0), static_cast<Index>(faces.shape(1)));
    mesh.corners.resize(faces.size());
    for (std::size_t i = 0; i < faces.size(); ++i) mesh.corners[i] = index_of(faces.data()[i], i / faces.shape(1));
    return;
  }
  if (!nb::isinstance<nb::sequence>(value)) throw nb::type_error("faces: an array or a list of polygons is expected");
  for (const nb::handle polygon : nb::borrow<nb::sequence>(value)) {
    if (add_plain_face(polygon, mesh)) continue;
    const IntegerArray face = integer_array(polygon, "faces", {"corners"});
    for (std::size_t c = 0; c < face.size(); ++c)
      mesh.corners.push_back(index_of(face.data()[c], mesh.face_sizes.size()));
    mesh.face_sizes.push_back(static_cast<Index>(face.size()));
  }
}

Frames frames_of(nb::handle value, const char* name) {
  const FloatArray array = float_array(value, name, {"F", "V", "3"});
  // Whoever lets go of the frames last may do so without the interpreter's lock.
  const auto let_go = [](FloatArray* kept) {
    const nb::gil_scoped_acquire lock;
    delete kept;
  };
  return {array.shape(0), array.shape(1), array.data(), std::shared_ptr<FloatArray>(new FloatArray(array), let_go)};
}

Sequence make_sequence(nb::handle frames, nb::handle faces, nb::handle rest, nb::handle times, double fps,
                       std::string name) {
  if (!(fps > 0)) throw Error(ErrorKind::usage, fmt::format("fps: {} given, a number above 0 is expected", fps));
  Sequence sequence;
  sequence.name = std::move(name);
  sequence.frames = frames_of(frames, "frames");
  if (!rest.is_none()) {
    sequence.rest.positions = points_of(rest, "rest");
  } else if (sequence.frames.count() > 0) {
    sequence.rest.positions = std::as_const(sequence.frames)[0];
  }
  set_faces(faces, sequence.rest);
  if (times.is_none()) {
    sequence.times = uniform_times(sequence.frame_count(), 1 / fps);
  } else {
    const DoubleArray seconds = double_array(times, "times", {"F"});
    sequence.times.assign(seconds.data(), seconds.data() + seconds.size());
  }
  sequence.check();
  return sequence;
}

}  // namespace sinew::python
