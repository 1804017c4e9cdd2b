/// What we make of a USD file: usd_frames IN OUT. Positions of all frames go to OUT.f32 (F×V×3), their times to OUT.txt
/// and, where the file is a rig, the positions that it poses to OUT.rig.f32.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <span>

#include "sinew/core/error.h"
#include "sinew/io/usd.h"

namespace {

void write(const std::string& path, std::span<const float> values) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string out = arguments[2];
  try {
    sinew::ReadOptions options;
    options.warn = [](std::string_view sentence) { fmt::print("{}\n", sentence); };
    const sinew::Sequence sequence = sinew::read_usd_sequence(arguments[1], options);
    write(out + ".f32", sequence.frames.data());
    std::ofstream times(out + ".txt");
    for (const double t : sequence.times) times << fmt::format("{}\n", t);
    try {
      write(out + ".rig.f32", sinew::pose_all(sinew::read_usd_rig(arguments[1])).frames.data());
    } catch (const sinew::Error& error) {
      fmt::print("no rig: {}\n", error.what());
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "usd_frames: %s\n", error.what());
    return 1;
  }
}
