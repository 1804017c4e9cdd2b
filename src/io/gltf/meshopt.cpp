#include "io/gltf/meshopt.h"

#include <fmt/format.h>
#include <meshoptimizer.h>

#include <algorithm>
#include <cstring>

#include "sinew/core/error.h"

namespace sinew::gltf {
namespace {

constexpr std::size_t kLargestStride = 256;
constexpr std::size_t kMostPerByte = 1024;  // of output: more than the codecs can reach

}  // namespace

std::vector<std::byte> decode_view(const CompressedView& view, std::span<const std::byte> bytes,
                                   const std::string& where) {
  const auto refuse = [&](const std::string& sentence) {
    throw Error(ErrorKind::input, fmt::format("{}: {}", where, sentence));
  };
  const bool attributes = view.mode == "ATTRIBUTES";
  const bool triangles = view.mode == "TRIANGLES";
  if (!attributes && !triangles && view.mode != "INDICES")
    refuse(fmt::format("compressed in mode '{}', expected ATTRIBUTES, TRIANGLES or INDICES", view.mode));
  const bool stride_fits = attributes ? view.stride > 0 && view.stride <= kLargestStride && view.stride % 4 == 0
                                      : view.stride == 2 || view.stride == 4;
  if (!stride_fits) refuse(fmt::format("compressed elements of {} bytes", view.stride));
  if (triangles && view.count % 3 != 0) refuse(fmt::format("{} compressed corners of triangles", view.count));
  if (view.count > kMostPerByte * (bytes.size() + 1))
    refuse(fmt::format("{} bytes cannot hold {} elements", bytes.size(), view.count));
  std::vector<std::byte> out(view.count * view.stride);
  const auto* const from = reinterpret_cast<const unsigned char*>(bytes.data());
  const int status = attributes  ? meshopt_decodeVertexBuffer(out.data(), view.count, view.stride, from, bytes.size())
                     : triangles ? meshopt_decodeIndexBuffer(out.data(), view.count, view.stride, from, bytes.size())
                                 : meshopt_decodeIndexSequence(out.data(), view.count, view.stride, from, bytes.size());
  if (status != 0) refuse("its compressed bytes are damaged");
  if (view.filter == "NONE" || view.filter.empty()) return out;
  if (view.filter == "OCTAHEDRAL" && attributes && (view.stride == 4 || view.stride == 8)) {
    meshopt_decodeFilterOct(out.data(), view.count, view.stride);
  } else if (view.filter == "QUATERNION" && attributes && view.stride == 8) {
    meshopt_decodeFilterQuat(out.data(), view.count, view.stride);
  } else if (view.filter == "EXPONENTIAL" && attributes) {
    meshopt_decodeFilterExp(out.data(), view.count, view.stride);
  } else {
    refuse(fmt::format("compressed with filter '{}' over elements of {} bytes", view.filter, view.stride));
  }
  return out;
}

std::vector<std::byte> encode_view(const CompressedView& view, std::span<const std::byte> bytes) {
  meshopt_encodeVertexVersion(0);  // the versions that the extension names
  meshopt_encodeIndexVersion(1);
  std::vector<unsigned char> coded;
  if (view.mode == "ATTRIBUTES") {
    coded.resize(meshopt_encodeVertexBufferBound(view.count, view.stride));
    coded.resize(meshopt_encodeVertexBuffer(coded.data(), coded.size(), bytes.data(), view.count, view.stride));
  } else {
    std::vector<unsigned int> corners(view.count);
    std::memcpy(corners.data(), bytes.data(), view.count * sizeof(unsigned int));
    coded.resize(meshopt_encodeIndexBufferBound(view.count, *std::max_element(corners.begin(), corners.end()) + 1));
    coded.resize(meshopt_encodeIndexBuffer(coded.data(), coded.size(), corners.data(), corners.size()));
  }
  if (coded.empty()) throw Error(ErrorKind::output, fmt::format("a view of {} elements cannot be coded", view.count));
  const auto out = std::as_bytes(std::span(coded));
  return {out.begin(), out.end()};
}

}  // namespace sinew::gltf
