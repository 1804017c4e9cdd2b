/// check_fbx2gltf TOOL FOLDER written: our FBX files, converted to GLB by fbx2gltf, which reads them with Autodesk's
/// library, and read by our glTF reader. In every frame that both have, vertices agree with pose() within 1e-4 of the
/// diagonal; clips have our names and durations, and materials ours. fbx2gltf samples at 30 frames per second and keeps
/// four influences per vertex. check_fbx2gltf TOOL FOLDER read DATA: files of others, binary and text, read by us and
/// by fbx2gltf.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <set>

#include "fbx2gltf.h"
#include "io/fbx/fbx_builder.h"
#include "io/fbx/fbx_rigs.h"
#include "io/fbx/fbx_text.h"
#include "sinew/core/error.h"
#include "sinew/io/fbx.h"
#include "sinew/io/output_file.h"

namespace {

namespace fs = std::filesystem;
using namespace sinew;

/// What is wrong with the converted file, or nothing; `largest` is over the diagonal.
std::string compare(const test::GltfCase& entry, const Sequence& read, double& largest) {
  const Rig& rig = entry.rig;
  if (rig.weights.influences > 4) return "";
  const Sequence ours = pose_all(rig);
  const test::Matched match = test::match_by_rest(ours.rest.positions, read.rest.positions);
  if (match.farthest > 1e-4) return fmt::format("a vertex rests {} of the diagonal away from ours", match.farthest);
  std::vector<Clip> clips = rig.clips;
  if (clips.empty() && rig.frame_count() > 0) clips.push_back({"motion", 0, rig.frame_count()});
  if (read.clips.size() != clips.size()) return fmt::format("{} clips, expected {}", read.clips.size(), clips.size());
  for (std::size_t c = 0; c < clips.size(); ++c) {
    const test::ClipDifference difference = test::compare_clips(ours, clips[c], read, read.clips[c], match);
    if (difference.compared == 0) return fmt::format("clip '{}': no frame is at a time of ours", clips[c].name);
    if (std::abs(difference.seconds) > 1.0 / 30 + 1e-4)
      return fmt::format("clip '{}' is {} s longer than ours", clips[c].name, difference.seconds);
    largest = std::max(largest, difference.largest);
  }
  if (!(largest <= 1e-4)) return fmt::format("differs by {} of the diagonal", largest);
  std::set<std::string> names;
  for (const Material& material : read.rest.appearance.materials) names.insert(material.name);
  for (const Material& material : rig.rest.appearance.materials)
    if (!names.contains(material.name)) return fmt::format("material '{}' is missing", material.name);
  return "";
}

/// Prints a line about one file; true when nothing is wrong.
bool report(const std::string& name, const std::string& problem, double largest) {
  fmt::print("{} {} (largest difference {:.1e}){}{}\n", problem.empty() ? "ok" : "FAILED", name, largest,
             problem.empty() ? "" : ": ", problem);
  std::fflush(stdout);
  return problem.empty();
}

int check_written(const test::Fbx2gltf& tool, const fs::path& folder) {
  int failed = 0;
  for (const test::GltfCase& entry : test::fbx_cases()) {
    if (entry.rig.rest.face_count() == 0) continue;  // glTF of a mesh without faces is not made
    const fs::path file = folder / (entry.name + ".fbx");
    write_fbx(file, entry.rig, {.bake_shear = true});
    double largest = 0;
    const std::string problem = compare(entry, tool.sequence(file), largest);
    failed += report(entry.name, problem, largest) ? 0 : 1;
  }
  return failed;
}

/// Our reading of a file against that of fbx2gltf. Vertices are told by their motion.
std::string compare_read(const fs::path& file, const test::Fbx2gltf& tool, double& largest) {
  ReadOptions options;
  options.frames_per_second = 30;
  const Sequence ours = read_fbx_sequence(file, options);
  const Sequence theirs = tool.sequence(file);
  if (ours.clips.size() != theirs.clips.size())
    return fmt::format("{} clips, fbx2gltf finds {}", ours.clips.size(), theirs.clips.size());
  std::vector<Clip> a = ours.clips;
  std::vector<Clip> b = theirs.clips;
  if (a.empty()) a = b = {{"", 0, 1}};
  for (std::size_t c = 0; c < a.size(); ++c) {
    if (a[c].name != b[c].name) return fmt::format("clip '{}', fbx2gltf calls it '{}'", a[c].name, b[c].name);
    const test::Matched match = test::match_by_motion(ours, a[c], theirs, b[c]);
    const test::ClipDifference difference = test::compare_clips(ours, a[c], theirs, b[c], match);
    if (difference.compared + 1 < a[c].frames)
      return fmt::format("clip '{}': only {} of {} frames are in both", a[c].name, difference.compared, a[c].frames);
    largest = std::max(largest, difference.largest);
  }
  return largest <= 1e-4 ? "" : fmt::format("differs by {} of the diagonal", largest);
}

int check_read(const test::Fbx2gltf& tool, const fs::path& folder, const fs::path& data) {
  int failed = 0;
  for (const test::BuiltCase& entry : test::built_cases()) {
    const std::vector<std::byte> binary = test::build_fbx(entry.file);
    const std::string text = test::fbx_text(binary);
    for (const auto& [kind, bytes] :
         {std::pair("binary", std::span<const std::byte>(binary)), std::pair("text", std::as_bytes(std::span(text)))}) {
      const fs::path file = folder / fmt::format("{}_{}.fbx", kind, entry.name);
      OutputFile out(file);
      out.write(bytes);
      out.commit();
      double largest = 0;
      const std::string problem = compare_read(file, tool, largest);
      failed += report(fmt::format("{}, {}", entry.name, kind), problem, largest) ? 0 : 1;
    }
  }
  if (!fs::is_directory(data / "fbx")) {
    fmt::print("no files in {}: only those built here\n", (data / "fbx").string());
    return failed;
  }
  for (const char* name : {"RotationTest", "vCube", "morph_test", "samba-dancing", "mixamo"}) {
    const fs::path file = folder / (std::string(name) + ".fbx");  // the library writes beside what it reads
    fs::copy_file(data / "fbx" / file.filename(), file, fs::copy_options::overwrite_existing);
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    double largest = 0;
    const std::string problem = compare_read(file, tool, largest);
    failed += report(name, problem, largest) ? 0 : 1;
  }
  std::string refusal;
  try {
    read_fbx_sequence(data / "fbx/nurbs.fbx");
  } catch (const Error& error) {
    refusal = error.what();
  }
  const bool said = refusal.find("no polygon mesh") != std::string::npos;
  failed += report("nurbs", said ? "" : fmt::format("is not refused as it should: '{}'", refusal), 0) ? 0 : 1;
  return failed;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) return 2;
  int failed = 0;
  try {
    const test::Fbx2gltf tool(arguments[1], arguments[2]);
    const char* data = std::getenv("SINEW_DATA");
    const fs::path models = data != nullptr ? data : count > 4 ? arguments[4] : "";
    failed = std::string(arguments[3]) == "read" ? check_read(tool, arguments[2], models)
                                                 : check_written(tool, arguments[2]);
  } catch (const test::NotThere& reason) {
    fmt::print("skipped: {}\n", reason.what());
    return 77;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "check_fbx2gltf: %s\n", error.what());
    return 1;
  }
  return failed == 0 ? 0 : 1;
}
