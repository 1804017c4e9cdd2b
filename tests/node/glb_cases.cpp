/// Writes what the scripts in this folder check: glb_cases FOLDER [DATA]. Every rig of the glTF tests and some solved
/// ones as NAME.glb, and for each of them and for every model in DATA/gltf a NAME.json that says which frames there are
/// and which control point each vertex of the file is, with our positions of all frames in NAME.f32 (F×V×3).
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "io/gltf/gltf_cases.h"
#include "io/gltf/model.h"
#include "sinew/core/error.h"
#include "sinew/io/blendshapes.h"
#include "sinew/io/gltf.h"
#include "sinew/io/output_file.h"
#include "sinew/pack/pack.h"
#include "sinew/refine/corrections.h"
#include "sinew/rework/bounds.h"
#include "sinew/rework/lod.h"
#include "sinew/solve/blendshapes.h"
#include "sinew/solve/sma.h"
#include "support/jointed_bar.h"
#include "support/patch_face.h"

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
  const std::span<const float> data = sequence.frames.data();
  positions.write(reinterpret_cast<const char*>(data.data()),
                  static_cast<std::streamsize>(data.size() * sizeof(float)));
}

void write_case(const fs::path& folder, const std::string& name, const sinew::Rig& rig) {
  const fs::path file = folder / (name + ".glb");
  sinew::write_glb(file, rig);
  sinew::Sequence sequence = sinew::pose_all(rig);
  if (sequence.frame_count() == 0) sequence = sinew::read_gltf_sequence(file);
  describe(folder, name, file, sequence, {}, rig.weights.influences);
}

/// The same rig packed, with our positions of what that file says.
void write_packed(const fs::path& folder, const std::string& name, const sinew::Rig& rig) {
  if (rig.frame_count() == 0) return;
  for (const bool lossless : {false, true}) {
    sinew::PackOptions options;
    options.lossless = lossless;
    sinew::PackReport report;
    const std::string label = fmt::format("packed-{}{}", lossless ? "lossless-" : "", name);
    const fs::path file = folder / (label + ".glb");
    sinew::OutputFile out(file);
    out.write(std::span<const std::byte>(sinew::pack_glb(rig, nullptr, options, report)));
    out.commit();
    describe(folder, label, file, sinew::read_gltf_sequence(file), {}, rig.weights.influences);
  }
}

/// Rigs as solvers make them: negative weights carried by mirrored helper bones, and corrections as morph targets.
void write_solved(const fs::path& folder) {
  const sinew::Sequence bar = sinew::test::jointed_bar();
  sinew::FitReport report;
  sinew::SmaOptions options;
  options.weights = sinew::SmaWeights::tsvd;
  options.influences = 2;  // and one for the helpers: within the four that three.js reads
  sinew::Rig rig = sinew::solve_sma(bar, options, report);
  write_case(folder, "solved-negative-weights", rig);
  sinew::CorrectionReport corrected;
  sinew::CorrectionOptions rank;
  rank.rank = 3;
  rig.corrections = sinew::fit_corrections(rig, bar, rank, corrected);
  write_case(folder, "solved-negative-weights-corrected", rig);
  sinew::Rig convex = sinew::solve_sma(bar, {}, report);
  convex.corrections = sinew::fit_corrections(convex, bar, rank, corrected);
  write_case(folder, "solved-corrected", convex);
}

/// What people make of rigs: levels of detail in one file, of which players that do not know them show the finest, and
/// a tree of boxes beside the rig.
void write_reworked(const fs::path& folder) {
  const sinew::Sequence bar = sinew::test::jointed_bar();
  sinew::FitReport report;
  sinew::Rig rig = sinew::solve_sma(bar, {}, report);
  sinew::CorrectionReport corrected;
  sinew::CorrectionOptions rank;
  rank.rank = 2;
  rig.corrections = sinew::fit_corrections(rig, bar, rank, corrected);
  sinew::LodOptions options;
  options.levels = 2;
  sinew::LodReport simplified;
  std::vector<sinew::Rig> levels{rig};
  for (sinew::LodLevel& level : sinew::simplify(rig, options, simplified)) levels.push_back(std::move(level.rig));
  const fs::path in_levels = folder / "reworked-levels.glb";
  sinew::write_glb_levels(in_levels, levels);
  describe(folder, "reworked-levels", in_levels, sinew::pose_all(rig), {}, rig.weights.influences);
  write_case(folder, "reworked-lowest", levels.back());
  const sinew::BoundsTree tree = sinew::build_bounds_tree(rig);
  const std::vector<sinew::GltfExtension> extensions{sinew::bounds_extension(sinew::clip_bounds(rig), &tree)};
  const fs::path bounded = folder / "reworked-bounds.glb";
  sinew::write_glb(bounded, rig, {}, extensions);
  describe(folder, "reworked-bounds", bounded, sinew::pose_all(rig), {}, rig.weights.influences);
}

/// Faces whose bones follow sliders, which players that do not know them show in the frames of the file.
void write_faces(const fs::path& folder) {
  const sinew::Blendshapes face = sinew::test::patch_face();
  for (const bool affine : {false, true}) {
    sinew::BlendshapeOptions options;
    options.bones = 4;
    options.influences = 4;
    options.sparsity = 0.7;
    options.transforms = affine ? sinew::Transforms::affine : sinew::Transforms::rigid;
    sinew::FitReport report;
    const sinew::SliderRig found = sinew::solve_blendshapes(face, options, report);
    const std::vector<sinew::GltfExtension> extensions{sinew::sliders_extension(found.map)};
    const std::string name = fmt::format("sliders-{}", affine ? "affine" : "rigid");
    sinew::write_glb(folder / (name + ".glb"), found.rig, {}, extensions);
    describe(folder, name, folder / (name + ".glb"), sinew::pose_all(found.rig), {}, found.rig.weights.influences);
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
    for (const auto& entry : sinew::test::gltf_cases()) {
      write_case(arguments[1], entry.name, entry.rig);
      write_packed(arguments[1], entry.name, entry.rig);
    }
    write_solved(arguments[1]);
    write_reworked(arguments[1]);
    write_faces(arguments[1]);
    const char* data = std::getenv("SINEW_DATA");
    const fs::path models = fs::path(data != nullptr ? data : count > 2 ? arguments[2] : "") / "gltf";
    if (fs::is_directory(models)) bake_models(arguments[1], models);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glb_cases: %s\n", error.what());
    return 1;
  }
}
