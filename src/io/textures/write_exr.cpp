#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "sinew/core/error.h"
#include "sinew/io/exr.h"

/// Layout: https://openexr.com/en/latest/OpenEXRFileLayout.html, single part, scan lines, no compression.
namespace sinew {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::array<char, 4> kChannels{'A', 'B', 'G', 'R'};  // in the alphabetical order that the format asks for
constexpr std::size_t kMostBytes = std::size_t{1} << 31;      // what is known to be read everywhere

class Bytes {
 public:
  template <class T>
  void add(T value) {
    const auto* at = reinterpret_cast<const std::byte*>(&value);
    data_.insert(data_.end(), at, at + sizeof value);
  }

  /// With the zero that ends it.
  void add_text(std::string_view text) {
    for (const char c : text) add(c);
    add('\0');
  }

  template <class... T>
  void add_attribute(std::string_view name, std::string_view type, T... values) {
    add_text(name);
    add_text(type);
    add(static_cast<std::int32_t>((sizeof(T) + ... + 0)));
    (add(values), ...);
  }

  std::size_t size() const { return data_.size(); }
  std::vector<std::byte> take() { return std::move(data_); }

 private:
  std::vector<std::byte> data_;
};

void add_header(Bytes& out, const ExrImage& image) {
  out.add(std::int32_t{20000630});  // magic number
  out.add(std::int32_t{2});         // version, no flags
  out.add_text("channels");
  out.add_text("chlist");
  out.add(static_cast<std::int32_t>(kChannels.size() * 18 + 1));
  for (const char channel : kChannels) {
    out.add_text({&channel, 1});
    out.add(std::int32_t{image.half ? 1 : 2});
    out.add(std::uint32_t{1});  // linear: numbers, not light
    out.add(std::int32_t{1});   // every column
    out.add(std::int32_t{1});   // every row
  }
  out.add('\0');
  out.add_attribute("compression", "compression", std::uint8_t{0});
  for (const char* window : {"dataWindow", "displayWindow"})
    out.add_attribute(window, "box2i", std::int32_t{0}, std::int32_t{0}, std::int32_t{image.width - 1},
                      std::int32_t{image.height - 1});
  out.add_attribute("lineOrder", "lineOrder", std::uint8_t{0});
  out.add_attribute("pixelAspectRatio", "float", 1.0F);
  out.add_attribute("screenWindowCenter", "v2f", 0.0F, 0.0F);
  out.add_attribute("screenWindowWidth", "float", 1.0F);
  out.add('\0');
}

}  // namespace

std::vector<std::byte> exr_bytes(const ExrImage& image) {
  const auto width = static_cast<std::size_t>(std::max(image.width, 0));
  const auto height = static_cast<std::size_t>(std::max(image.height, 0));
  if (width == 0 || height == 0 || image.texels.size() != 4 * width * height)
    throw Error(ErrorKind::output,
                fmt::format("image: {} numbers, expected {} x {} x 4", image.texels.size(), image.width, image.height));
  const std::size_t line = 4 * width * (image.half ? 2 : 4);
  if (line > kMostBytes / height)
    throw Error(ErrorKind::output, fmt::format("image: {} x {} texels are too large for a file", width, height));
  Bytes out;
  add_header(out, image);
  const std::size_t lines = out.size() + 8 * height;
  for (std::size_t y = 0; y < height; ++y) out.add(static_cast<std::uint64_t>(lines + y * (8 + line)));
  for (std::size_t y = 0; y < height; ++y) {
    out.add(static_cast<std::int32_t>(y));
    out.add(static_cast<std::int32_t>(line));
    for (const std::size_t channel : {3U, 2U, 1U, 0U})
      for (std::size_t x = 0; x < width; ++x) {
        const float value = image.texels[4 * (y * width + x) + channel];
        if (!image.half) {
          out.add(value);
          continue;
        }
        const Eigen::half rounded(value);
        if (!std::isfinite(static_cast<float>(rounded)))
          throw Error(ErrorKind::output, fmt::format("image: {} is larger than a half float holds (65504)", value));
        out.add(Eigen::numext::bit_cast<std::uint16_t>(rounded));
      }
  }
  return out.take();
}

}  // namespace sinew
