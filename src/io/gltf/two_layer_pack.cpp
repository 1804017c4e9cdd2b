#include "io/gltf/two_layer_pack.h"

#include <fmt/format.h>
#include <meshoptimizer.h>
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "sinew/core/error.h"

// Three streams: dictionary slots (bone, weight), vertices (q virtual bones, q weights), motion (bone by bone, one
// entry of twelve numbers per frame). Each is quantised, coded by meshoptimizer's vertex codec, and all of them
// together are one zstd frame. In front of the streams: ranges as floats.
namespace sinew::gltf {
namespace {

constexpr double kSteps = 65535;
constexpr int kLevel = 19;
constexpr std::size_t kMotionNumbers = 12;

struct Range {
  float low = 0;
  float high = 0;

  std::uint16_t encode(float x) const {
    const double width = static_cast<double>(high) - low;
    if (!(width > 0)) return 0;
    return static_cast<std::uint16_t>(
        std::lround(std::clamp((x - static_cast<double>(low)) / width, 0.0, 1.0) * kSteps));
  }
  float decode(std::uint16_t step) const {
    return static_cast<float>(low + (static_cast<double>(high) - low) * step / kSteps);
  }
  void include(float x) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  static Range nothing() { return {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}; }
};

Range range_of(const std::vector<float>& values) {
  Range range = Range::nothing();
  for (const float x : values) range.include(x);
  return range;
}

template <class T>
void put(std::vector<std::byte>& out, const T& value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof(T));
}

/// A stream: its coded size, then the coded bytes. `stride` is a multiple of 4 and at most 256.
void put_stream(std::vector<std::byte>& out, const std::vector<std::byte>& raw, std::size_t stride) {
  const std::size_t count = raw.size() / stride;
  std::vector<unsigned char> coded(meshopt_encodeVertexBufferBound(count, stride));
  coded.resize(meshopt_encodeVertexBuffer(coded.data(), coded.size(), raw.data(), count, stride));
  put(out, static_cast<std::uint64_t>(coded.size()));
  const auto* bytes = reinterpret_cast<const std::byte*>(coded.data());
  out.insert(out.end(), bytes, bytes + coded.size());
}

/// Reads what put and put_stream wrote; never beyond the end.
class Source {
 public:
  Source(std::vector<std::byte> bytes, const std::string& name) : bytes_(std::move(bytes)), name_(name) {}

  [[noreturn]] void refuse(const char* what) const {
    throw Error(ErrorKind::input, fmt::format("{}: packed two-layer model: {}", name_, what));
  }
  template <class T>
  T take() {
    T value;
    if (bytes_.size() - at_ < sizeof(T)) refuse("ends too soon");
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  Range take_range() {
    const Range range{take<float>(), take<float>()};
    if (!std::isfinite(range.low) || !std::isfinite(range.high)) refuse("a range is not finite");
    return range;
  }
  std::vector<std::byte> take_stream(std::size_t count, std::size_t stride) {
    const auto size = take<std::uint64_t>();
    if (size > bytes_.size() - at_) refuse("a stream is longer than the file");
    std::vector<std::byte> raw(count * stride);
    const auto* coded = reinterpret_cast<const unsigned char*>(bytes_.data() + at_);
    if (meshopt_decodeVertexBuffer(raw.data(), count, stride, coded, static_cast<std::size_t>(size)) != 0)
      refuse("a stream cannot be decoded");
    at_ += static_cast<std::size_t>(size);
    return raw;
  }
  void finish() const {
    if (at_ != bytes_.size()) refuse("has bytes left over");
  }

 private:
  std::vector<std::byte> bytes_;
  const std::string& name_;
  std::size_t at_ = 0;
};

std::uint16_t word(const std::vector<std::byte>& raw, std::size_t at) {
  std::uint16_t value = 0;
  std::memcpy(&value, raw.data() + at, sizeof value);
  return value;
}

/// Makes each row sum to 1 again: what rounding left over goes to its largest value.
void restore_sums(BlendRows& rows) {
  const auto slots = static_cast<std::size_t>(rows.slots);
  for (std::size_t row = 0; row < rows.row_count(); ++row) {
    float* values = rows.values.data() + row * slots;
    double sum = 0;
    for (std::size_t k = 0; k < slots; ++k) sum += values[k];
    *std::max_element(values, values + slots) += static_cast<float>(1 - sum);
  }
}

std::size_t index_bytes(std::size_t virtual_bones) {
  return virtual_bones <= 0x10000 ? 2 : 4;
}

/// Bytes of one vertex, a multiple of 4.
std::size_t vertex_stride(std::size_t virtual_bones, int slots) {
  return (static_cast<std::size_t>(slots) * (index_bytes(virtual_bones) + 2) + 3) / 4 * 4;
}

void put_dictionary(std::vector<std::byte>& out, const BlendRows& D) {
  const Range range = range_of(D.values);
  put(out, range);
  std::vector<std::byte> raw;
  for (std::size_t i = 0; i < D.values.size(); ++i) {
    put(raw, static_cast<std::uint16_t>(D.columns[i]));
    put(raw, range.encode(D.values[i]));
  }
  put_stream(out, raw, 4);
}

void put_vertices(std::vector<std::byte>& out, const TwoLayer& model) {
  const BlendRows& A = model.coefficients;
  const Range range = range_of(A.values);
  put(out, range);
  const std::size_t stride = vertex_stride(model.virtual_bone_count(), A.slots);
  const bool narrow = index_bytes(model.virtual_bone_count()) == 2;
  const auto slots = static_cast<std::size_t>(A.slots);
  std::vector<std::byte> raw;
  for (std::size_t v = 0; v < A.row_count(); ++v) {
    for (std::size_t i = v * slots; i < (v + 1) * slots; ++i)
      if (narrow)
        put(raw, static_cast<std::uint16_t>(A.columns[i]));
      else
        put(raw, A.columns[i]);
    for (std::size_t i = v * slots; i < (v + 1) * slots; ++i) put(raw, range.encode(A.values[i]));
    raw.resize((v + 1) * stride);
  }
  put_stream(out, raw, stride);
}

void put_motion(std::vector<std::byte>& out, const Motion& motion) {
  std::vector<std::byte> raw;
  for (std::size_t b = 0; b < motion.bone_count(); ++b) {
    Range ranges[kMotionNumbers];
    for (std::size_t e = 0; e < kMotionNumbers; ++e) {
      ranges[e] = Range::nothing();
      for (std::size_t f = 0; f < motion.frame_count(); ++f) ranges[e].include(motion(f, b).data()[e]);
      if (motion.frame_count() == 0) ranges[e] = {};
      put(out, ranges[e]);
    }
    for (std::size_t f = 0; f < motion.frame_count(); ++f)
      for (std::size_t e = 0; e < kMotionNumbers; ++e) put(raw, ranges[e].encode(motion(f, b).data()[e]));
  }
  put_stream(out, raw, 2 * kMotionNumbers);
}

BlendRows take_dictionary(Source& source, const PackedSizes& sizes) {
  const Range range = source.take_range();
  const std::size_t count = sizes.virtual_bones * static_cast<std::size_t>(sizes.masters_per_virtual);
  const std::vector<std::byte> raw = source.take_stream(count, 4);
  BlendRows D{sizes.masters_per_virtual, {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    D.columns.push_back(word(raw, 4 * i));
    D.values.push_back(range.decode(word(raw, 4 * i + 2)));
  }
  restore_sums(D);
  return D;
}

BlendRows take_vertices(Source& source, const PackedSizes& sizes) {
  const Range range = source.take_range();
  const std::size_t stride = vertex_stride(sizes.virtual_bones, sizes.virtual_per_vertex);
  const std::size_t width = index_bytes(sizes.virtual_bones);
  const auto slots = static_cast<std::size_t>(sizes.virtual_per_vertex);
  const std::vector<std::byte> raw = source.take_stream(sizes.vertices, stride);
  BlendRows A{sizes.virtual_per_vertex, {}, {}};
  for (std::size_t v = 0; v < sizes.vertices; ++v)
    for (std::size_t k = 0; k < slots; ++k) {
      Index index = 0;
      std::memcpy(&index, raw.data() + v * stride + k * width, width);
      A.columns.push_back(index);
      A.values.push_back(range.decode(word(raw, v * stride + slots * width + 2 * k)));
    }
  restore_sums(A);
  return A;
}

Motion take_motion(Source& source, const PackedSizes& sizes) {
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < sizes.bones * kMotionNumbers; ++i) ranges.push_back(source.take_range());
  const std::vector<std::byte> raw = source.take_stream(sizes.bones * sizes.frames, 2 * kMotionNumbers);
  Motion motion(sizes.frames, sizes.bones);
  for (std::size_t b = 0; b < sizes.bones; ++b)
    for (std::size_t f = 0; f < sizes.frames; ++f)
      for (std::size_t e = 0; e < kMotionNumbers; ++e)
        motion(f, b).data()[e] =
            ranges[b * kMotionNumbers + e].decode(word(raw, 2 * ((b * sizes.frames + f) * kMotionNumbers + e)));
  return motion;
}

}  // namespace

std::vector<std::byte> pack_two_layer(const TwoLayer& model, const Motion& motion) {
  std::vector<std::byte> raw;
  put_dictionary(raw, model.dictionary);
  put_vertices(raw, model);
  put_motion(raw, motion);
  std::vector<std::byte> out(ZSTD_compressBound(raw.size()));
  const std::size_t size = ZSTD_compress(out.data(), out.size(), raw.data(), raw.size(), kLevel);
  if (ZSTD_isError(size) != 0)
    throw Error(ErrorKind::output, fmt::format("two-layer model: zstd: {}", ZSTD_getErrorName(size)));
  out.resize(size);
  return out;
}

void unpack_two_layer(std::span<const std::byte> bytes, const PackedSizes& sizes, const std::string& name,
                      TwoLayer& model, Motion& motion) {
  // The streams are never larger than what they decode to, plus the codec's headers.
  const std::size_t numbers = sizes.virtual_bones * static_cast<std::size_t>(sizes.masters_per_virtual) +
                              sizes.vertices * static_cast<std::size_t>(sizes.virtual_per_vertex) * 2 +
                              (sizes.frames + 2) * sizes.bones * kMotionNumbers;
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  const auto refuse = [&](const char* what) {
    throw Error(ErrorKind::input, fmt::format("{}: packed two-layer model: {}", name, what));
  };
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR) refuse("is not a zstd frame");
  if (size > 8 * numbers + 65536) refuse("claims to be larger than it can be");
  std::vector<std::byte> raw(static_cast<std::size_t>(size));
  if (ZSTD_decompress(raw.data(), raw.size(), bytes.data(), bytes.size()) != raw.size())
    refuse("cannot be decompressed");
  Source source(std::move(raw), name);
  model.dictionary = take_dictionary(source, sizes);
  model.coefficients = take_vertices(source, sizes);
  motion = take_motion(source, sizes);
  source.finish();
}

}  // namespace sinew::gltf
