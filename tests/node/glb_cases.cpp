/// Writes what the scripts in this folder check: glb_cases FOLDER [DATA]. Every rig of the glTF tests as NAME.glb, and
/// for each of them and for every model in
/// DATA/gltf a NAME.json that says which frames there are and which control point
/// each vertex of the file is, with our positions of all frames in NAME.f32 (F×V×3).
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "io/gltf_cases.h"
#include "io/gltf_model.h"
#include "sinew/core/error.h"
#include "sinew/io/gltf.h"
#include "sinew/io/output_file.h"

namespace {

namespace fs = std::filesystem;

void describe(const fs::path& folder, const std::string& name, const fs::path& file, const sinew::Sequence& sequence,
              const sinew::ReadOptions& options, int influences) {
  const std::vector<std::byte> bytes = sinew::read_file(file);
  const sinew::gltf::Document document(bytes, file.parent_path(), file.string());
  const sinew::gltf::Model model = sinew::gltf::read_model(document, options);
  const sinew::gltf::Timeline timeline = sinew::gltf::timeline(document, model, options);
  sinew::gltf::Json out = {
      {"file", fs::absolute(file).string()}, {"vertices", sequence.vertex_count()}, {"influences", influences}};
  const sinew::Points& rest = sequence.rest.positions;
  out["diagonal"] = (rest.rowwise().maxCoeff() - rest.rowwise().minCoeff()).norm();
  for (const auto& frame : timeline.frames)
    out["frames"].push_back({{"animation", frame.animation == nullptr ? -1 : static_cast<int>(frame.animation->index)},
                             {"time", frame.time}});
  Eigen::Index first = 0;
  for (const auto& part : model.parts) {
    const auto& mesh = model.meshes[part.mesh];
    out["parts"].push_back({{"node", part.node}, {"first", first}, {"control_point", mesh.control_point}});
    first += mesh.positions.cols();
  }
  std::ofstream(folder / (name + ".json")) << out.dump();
  std::ofstream positions(folder / (name + ".f32"), std::ios::binary);
  const std::vector<float>& data = sequence.frames.data();
  positions.write(reinterpret_cast<const char*>(data.data()),
                  static_cast<std::streamsize>(data.size() * sizeof(float)));
}

void write_cases(const fs::path& folder) {
  for (const auto& entry : sinew::test::gltf_cases()) {
    const fs::path file = folder / (entry.name + ".glb");
    sinew::write_glb(file, entry.rig);
    sinew::Sequence sequence = sinew::pose_all(entry.rig);
    if (sequence.frame_count() == 0) sequence = sinew::read_gltf_sequence(file);
    describe(folder, entry.name, file, sequence, {}, entry.rig.weights.influences);
  }
}

/// Models from elsewhere, baked at their keys and, between keys, at 17 frames per second.
void bake_models(const fs::path& folder, const fs::path& models) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(models))
    if (entry.path().extension() == ".glb" || entry.path().extension() == ".gltf") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files)
    for (const double rate : {0.0, 17.0}) {
      sinew::ReadOptions options;
      options.frames_per_second = rate;
      const std::string name = fmt::format("model-{}-{}", file.stem().string(), rate == 0 ? "keys" : "between");
      describe(folder, name, file, sinew::read_gltf_sequence(file, options), options, 4);
    }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  try {
    fs::remove_all(arguments[1]);
    fs::create_directories(arguments[1]);
    write_cases(arguments[1]);
    const char* data = std::getenv("SINEW_DATA");
    const fs::path models = fs::path(data != nullptr ? data : count > 2 ? arguments[2] : "") / "gltf";
    if (fs::is_directory(models)) bake_models(arguments[1], models);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glb_cases: %s\n", error.what());
    return 1;
  }
}
