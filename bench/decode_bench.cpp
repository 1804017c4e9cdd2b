// How fast the compressed parts of a packed file become numbers again, in one thread: decode_bench PACKED.glb...
// Every view is decoded as the reader does it, filters and allocation included, until a tenth of a second has passed.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "io/gltf/meshopt.h"
#include "sinew/core/error.h"
#include "sinew/io/output_file.h"

namespace {

using Json = nlohmann::json;

constexpr double kSeconds = 0.1;  // of each view

struct Total {
  double coded = 0;  // bytes
  double out = 0;
  double seconds = 0;
};

std::uint32_t word(const std::vector<std::byte>& bytes, std::size_t at) {
  std::uint32_t out = 0;
  if (bytes.size() < at + 4) throw sinew::Error(sinew::ErrorKind::input, "not a GLB file");
  std::memcpy(&out, bytes.data() + at, 4);
  return out;
}

/// Seconds of the fastest time that a view was decoded in.
double seconds_of(const sinew::gltf::CompressedView& view, std::span<const std::byte> coded) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  double best = 1e30;
  for (const Clock::time_point start = Clock::now(); since(start) < kSeconds;) {
    const Clock::time_point begin = Clock::now();
    const std::vector<std::byte> decoded = sinew::gltf::decode_view(view, coded, "view");
    best = std::min(best, since(begin));
  }
  return best;
}

void measure(const char* path) {
  const std::vector<std::byte> file = sinew::read_file(path);
  const std::size_t json_size = word(file, 12);
  const Json root = Json::parse(reinterpret_cast<const char*>(file.data()) + 20,
                                reinterpret_cast<const char*>(file.data()) + 20 + json_size);
  const std::span<const std::byte> binary = std::span(file).subspan(20 + json_size + 8);
  std::map<std::string, Total> totals;
  for (const Json& entry : root.value("bufferViews", Json::array())) {
    const Json extensions = entry.value("extensions", Json::object());
    for (const char* name : {"EXT_meshopt_compression", "KHR_meshopt_compression"}) {
      if (!extensions.contains(name)) continue;
      const Json& coded = extensions[name];
      const sinew::gltf::CompressedView view{coded.value("mode", ""), coded.value("filter", "NONE"),
                                             coded.value("count", std::size_t{0}),
                                             coded.value("byteStride", std::size_t{0})};
      const auto bytes =
          binary.subspan(coded.value("byteOffset", std::size_t{0}), coded.value("byteLength", std::size_t{0}));
      const double seconds = seconds_of(view, bytes);
      for (const std::string& kind : {view.mode + " " + view.filter, std::string("all")}) {
        totals[kind].coded += static_cast<double>(bytes.size());
        totals[kind].out += static_cast<double>(view.count * view.stride);
        totals[kind].seconds += seconds;
      }
    }
  }
  fmt::print("{}\n", path);
  for (const auto& [kind, total] : totals)
    fmt::print("  {:<26} {:>9.0f} -> {:>9.0f} bytes  {:>6.2f} GB/s of output\n", kind, total.coded, total.out,
               total.out / total.seconds / 1e9);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    for (int i = 1; i < count; ++i) measure(arguments[i]);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "decode_bench: {}\n", error.what());
    return 1;
  }
}
