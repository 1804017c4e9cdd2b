/// Writes what check_usd.py and check_three_usd.mjs read: usd_cases FOLDER. The rigs of the glTF tests that USD can
/// hold as NAME.usda and NAME.usdz, and for each a NAME.json that says which clips and time codes there are, with our
/// positions of all frames in NAME.f32 (F×V×3), those at rest in NAME.rest.f32.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/usd/usd_rigs.h"
#include "io/usd/writer.h"
#include "sinew/core/error.h"
#include "sinew/io/usd.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void describe(const fs::path& folder, const std::string& name, const sinew::Sequence& sequence,
              const sinew::usd::TimeCodes& times, json out) {
  const sinew::Points& rest = sequence.rest.positions;
  out["vertices"] = sequence.vertex_count();
  out["diagonal"] = (rest.rowwise().maxCoeff() - rest.rowwise().minCoeff()).norm();
  out["codes"] = times.codes;
  out["per_second"] = times.per_second;
  for (const sinew::Clip& clip : sequence.clips) out["clips"].push_back({clip.name, clip.first_frame, clip.frames});
  for (const sinew::Piece& piece : sequence.rest.pieces) out["pieces"].push_back({piece.first_vertex, piece.vertices});
  std::ofstream(folder / (name + ".json")) << out.dump();
  const auto write = [&](const char* extension, const float* values, std::size_t number) {
    std::ofstream(folder / (name + extension), std::ios::binary)
        .write(reinterpret_cast<const char*>(values), static_cast<std::streamsize>(number * sizeof(float)));
  };
  write(".f32", sequence.frames.data().data(), sequence.frames.data().size());
  write(".rest.f32", rest.data(), static_cast<std::size_t>(rest.size()));
}

void write_rig_case(const fs::path& folder, const std::string& name, const sinew::Rig& rig) {
  for (const char* extension : {".usda", ".usdz"}) sinew::write_usd_rig(folder / (name + extension), rig);
  describe(folder, name, sinew::pose_all(rig), sinew::usd::time_codes(rig.times, rig.clips),
           {{"kind", "rig"},
            {"influences", rig.weights.influences},
            {"bones", rig.bone_count()},
            // Scales are half floats in USD: 11 bits.
            {"tolerance", rig.transforms == sinew::Transforms::rigid ? 1e-5 : 0x1p-11}});
}

/// The posed rig as a sequence, whose rest pose is not its first frame.
void write_sequence_case(const fs::path& folder, const std::string& name, sinew::Sequence sequence) {
  sequence.clips.clear();
  sequence.times = sinew::uniform_times(sequence.frame_count(), 0.04);
  for (const char* extension : {".usda", ".usdz"}) sinew::write_usd_sequence(folder / (name + extension), sequence);
  describe(folder, name, sequence, sinew::usd::time_codes(sequence.times, {}),
           {{"kind", "sequence"}, {"tolerance", 0}});
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  try {
    const fs::path folder = arguments[1];
    fs::remove_all(folder);
    fs::create_directories(folder);
    for (const auto& entry : sinew::test::usd_cases())
      if (entry.rig.frame_count() > 0) write_rig_case(folder, entry.name, entry.rig);
    for (const char* name : {"painted", "pieces"})
      write_sequence_case(folder, fmt::format("sequence_{}", name), sinew::pose_all(sinew::test::gltf_case(name)));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "usd_cases: %s\n", error.what());
    return 1;
  }
}
