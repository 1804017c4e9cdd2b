#include <fmt/format.h>

#include "io/arrays/npz_members.h"
#include "io/scene/sequence_times.h"
#include "sinew/io/npz.h"

namespace sinew {
namespace {

/// The bytes before the values of an array in format 1.0, padded so that the values lie at a multiple of 64.
std::string npy_header(const std::string& type, const std::vector<std::size_t>& shape) {
  const std::string tail = shape.size() == 1 ? "," : "";
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type, fmt::join(shape, ", "), tail);
  constexpr std::size_t kPreamble = 10;
  text.append(63 - (kPreamble + text.size()) % 64, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xffU);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace

void NpzMembers::add_bytes(const std::string& name, const std::string& type, const std::vector<std::size_t>& shape,
                           std::span<const std::byte> values) {
  headers_.push_back(npy_header(type, shape));
  members_.push_back({name + ".npy", {std::as_bytes(std::span(headers_.back())), values}});
}

void write_npz(const std::filesystem::path& path, const Sequence& sequence, const Progress& progress) {
  const std::size_t frames = sequence.frame_count();
  const std::size_t vertices = sequence.vertex_count();
  const std::vector<double> times = continuous_times(sequence);
  const Mesh& mesh = sequence.rest;
  const std::span<const float> rest(mesh.positions.data(), 3 * vertices);

  NpzMembers out;
  out.add("rest", "<f4", {vertices, 3}, rest);
  out.add("frames", "<f4", {frames, vertices, 3}, sequence.frames.data());
  out.add("times", "<f8", {frames}, std::span<const double>(times));
  out.add("face_sizes", "<u4", {mesh.face_count()}, std::span<const Index>(mesh.face_sizes));
  out.add("corners", "<u4", {mesh.corners.size()}, std::span<const Index>(mesh.corners));
  out.write(path, progress);
}

}  // namespace sinew
