#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "callback.h"
#include "model.h"
#include "sinew/core/error.h"
#include "sinew/evaluate/surface_distance.h"
#include "sinew/evaluate/vertex_match.h"
#include "sinew/io/gltf.h"
#include "sinew/io/gltf_levels.h"
#include "sinew/io/output_file.h"
#include "sinew/pack/engines.h"
#include "sinew/pack/pack.h"
#include "sinew/rework/bounds.h"
#include "sinew/rework/edit_rest.h"
#include "sinew/rework/lod.h"
#include "sinew/rework/transfer.h"

namespace sinew::python {
namespace nb = nanobind;
namespace {

/// A mesh: the rest pose of a Sequence or a Rig, or V×3 positions with faces.
Mesh mesh_of(nb::handle value, nb::handle faces, const char* name) {
  if (nb::isinstance<Sequence>(value) || nb::isinstance<Model>(value)) {
    if (!faces.is_none()) throw nb::type_error(fmt::format("{}: brings its own faces", name).c_str());
    return nb::isinstance<Sequence>(value) ? nb::cast<const Sequence&>(value).rest
                                           : nb::cast<const Model&>(value).rig.rest;
  }
  Mesh mesh;
  mesh.positions = points_of(value, name);
  set_faces(faces, mesh);
  mesh.check(name);
  return mesh;
}

nb::list lod(const Model& model, std::size_t triangles, double error, double ratio, int levels, int frames,
             double attributes, int threads, nb::object progress) {
  const LodOptions options{.triangles = triangles,
                           .max_error = error,
                           .ratio = ratio,
                           .levels = levels,
                           .frames = frames,
                           .attributes = attributes,
                           .threads = threads};
  LodReport report;
  LongWork work(std::move(progress));
  std::vector<LodLevel> made = work.run([&](const Progress& told) {
    Rig rig = model.rig;
    rig.two_layer.reset();
    return simplify(rig, options, report, told);
  });
  nb::list out;
  for (LodLevel& level : made) {
    nb::dict facts;
    facts["triangles"] = level.triangles;
    facts["triangles_before"] = report.triangles;
    facts["error_percent"] = level.error_percent;
    facts["frames"] = report.frames;
    out.append(nb::cast(Model{std::move(level.rig), make_report(facts)}));
  }
  return out;
}

nb::dict facts_of(const TransferReport& report) {
  nb::dict out;
  out["vertices"] = report.vertices;
  out["matched"] = report.matched;
  out["filled"] = report.filled;
  out["unreached"] = report.unreached;
  out["farthest_percent"] = report.farthest_percent;
  return out;
}

Model transfer_model(const Model& model, nb::handle mesh, nb::handle faces, double distance, double degrees,
                     int influences, int threads, nb::object progress) {
  const Mesh target = mesh_of(mesh, faces, "mesh");
  const TransferOptions options{.distance = distance, .degrees = degrees, .influences = influences, .threads = threads};
  TransferReport report;
  LongWork work(std::move(progress));
  Rig out = work.run([&](const Progress& told) { return transfer(model.rig, target, options, report, told); });
  return {std::move(out), make_report(facts_of(report))};
}

/// The edited rest pose: the rig's own with its vertices moved, or another mesh.
Mesh edited_mesh(const Rig& rig, nb::handle rest, nb::handle faces, nb::handle displacements) {
  if (rest.is_none() == displacements.is_none())
    throw Error(ErrorKind::usage, "edit: give the edited rest pose, either rest or displacements");
  const bool arrays = !nb::isinstance<Sequence>(rest) && !nb::isinstance<Model>(rest);
  if (displacements.is_none() && (!arrays || !faces.is_none())) return mesh_of(rest, faces, "rest");
  const char* const name = displacements.is_none() ? "rest" : "displacements";
  const Points given = points_of(displacements.is_none() ? rest : displacements, name);
  if (given.cols() != rig.rest.positions.cols())
    throw Error(ErrorKind::input,
                fmt::format("{}: {} vertices, the rig has {}{}", name, given.cols(), rig.vertex_count(),
                            displacements.is_none() ? "; a mesh of others needs its faces" : ""));
  Mesh out = rig.rest;
  if (displacements.is_none())
    out.positions = given;
  else
    out.positions += given;
  out.check(name);
  return out;
}

Model edit(const Model& model, nb::handle rest, nb::handle faces, nb::handle displacements, double joints, double reach,
           const std::string& corrections, int threads, nb::object progress) {
  EditOptions options;
  options.follow = joints;
  options.reach = reach;
  if (corrections != "keep" && corrections != "drop" && corrections != "rescale")
    throw Error(ErrorKind::usage,
                fmt::format("corrections: '{}' was given, 'keep', 'drop' or 'rescale' is expected", corrections));
  options.corrections = corrections == "keep"   ? CorrectionRule::keep
                        : corrections == "drop" ? CorrectionRule::drop
                                                : CorrectionRule::rescale;
  options.transfer.threads = threads;
  const Mesh edited = edited_mesh(model.rig, rest, faces, displacements);
  EditReport report;
  LongWork work(std::move(progress));
  Rig out = work.run([&](const Progress& told) { return edit_rest(model.rig, edited, options, report, told); });
  nb::dict facts;
  facts["same_faces"] = report.same_faces;
  facts["moved_percent"] = report.moved_percent;
  facts["joints_percent"] = report.joints_percent;
  if (!report.same_faces) facts["transfer"] = facts_of(report.transfer);
  return {std::move(out), make_report(facts)};
}

/// low and high as a 2×3 array.
nb::object array_of(const Bounds& box) {
  std::vector<float> values(box.low.data(), box.low.data() + 3);
  values.insert(values.end(), box.high.data(), box.high.data() + 3);
  return python::array_of(std::move(values), {2, 3});
}

nb::dict bounds(const Model& model, int threads) {
  std::vector<ClipBounds> clips;
  {
    const nb::gil_scoped_release released;
    clips = played_bounds(model.rig, threads);
  }
  const Points& rest = model.rig.rest.positions;
  nb::dict out;
  out["rest"] = array_of(Bounds{rest.rowwise().minCoeff(), rest.rowwise().maxCoeff()});
  nb::dict boxes;
  for (const ClipBounds& clip : clips) boxes[nb::str(clip.name.c_str(), clip.name.size())] = array_of(clip.box);
  out["clips"] = boxes;
  return out;
}

nb::object distance_between(const Model& first, const Model& second, int threads, nb::object progress) {
  LongWork work(std::move(progress));
  const SurfaceDistance distance =
      work.run([&](const Progress& told) { return surface_distance(first.rig, second.rig, threads, told); });
  nb::dict out;
  out["mean_percent"] = distance.mean();
  out["max_percent"] = distance.max();
  out["forward_mean_percent"] = distance.forward_mean;
  out["forward_max_percent"] = distance.forward_max;
  out["backward_mean_percent"] = distance.backward_mean;
  out["backward_max_percent"] = distance.backward_max;
  out["worst_frame"] = distance.worst_frame;
  return make_report(out);
}

/// The limits of each engine by its name.
nb::dict engine_limits() {
  nb::dict out;
  for (const Engine& engine : engines()) {
    nb::dict facts;
    facts["influences"] = engine.influences;
    facts["bones"] = engine.bones;
    facts["shear"] = engine.shear;
    facts["meshopt"] = engine.meshopt;
    facts["safe_names"] = engine.safe_names;
    out[nb::str(engine.name.data(), engine.name.size())] = facts;
  }
  return out;
}

nb::dict facts_of(const PackReport& report) {
  nb::list parts;
  for (const PackedPart& part : report.parts) {
    nb::dict facts;
    facts["name"] = part.name;
    facts["before"] = part.before;
    facts["after"] = part.after;
    facts["precision"] = part.precision;
    facts["e_rms"] = part.e_rms;
    facts["normal_degrees"] = part.normal_degrees;
    parts.append(facts);
  }
  nb::dict bytes;
  bytes["before"] = report.bytes_before;
  bytes["after"] = report.bytes_after;
  nb::dict allowed;
  allowed["e_rms"] = report.allowed_e_rms;
  allowed["normal_degrees"] = report.allowed_normals;
  nb::dict out;
  out["bytes"] = bytes;
  out["parts"] = parts;
  out["allowed"] = allowed;
  out["before"] = python::facts_of(report.before);
  if (report.fitted.e_rms > 0) out["fitted"] = python::facts_of(report.fitted);
  out["errors"] = python::facts_of(report.after);
  out["dropped_bones"] = report.dropped_bones;
  out["skins"] = report.skins;
  return out;
}

nb::object pack(const Model& model, const std::filesystem::path& path, const Sequence* examples,
                const std::string& quality, double max_error, bool lossless, bool strip_textures, bool khronos,
                bool only_two_layer, bool safe_names, int bones_per_mesh, int threads, nb::object progress) {
  if (lower_extension(path) != ".glb")
    throw Error(ErrorKind::usage, fmt::format("{}: packed rigs are .glb files", path.string()));
  if (quality != "low" && quality != "medium" && quality != "high")
    throw Error(ErrorKind::usage,
                fmt::format("quality: '{}' was given, 'low', 'medium' or 'high' is expected", quality));
  PackOptions options;
  options.quality = quality == "low" ? PackQuality::low : quality == "high" ? PackQuality::high : PackQuality::medium;
  options.max_error = max_error;
  options.lossless = lossless;
  options.strip_textures = strip_textures;
  options.khronos = khronos;
  options.only_two_layer = only_two_layer;
  options.safe_names = safe_names;
  options.bones_per_mesh = bones_per_mesh;
  options.threads = threads;
  LongWork work(std::move(progress));
  const PackReport report = work.run([&](const Progress& told) {
    PackReport out;
    const bool reordered = examples != nullptr && !same_vertices(model.rig, *examples);
    const Rig ordered = reordered ? in_order_of(model.rig, match_vertices(model.rig, *examples), *examples) : Rig();
    const std::vector<std::byte> bytes = pack_glb(reordered ? ordered : model.rig, examples, options, out, told);
    if (out.cancelled) throw Error(ErrorKind::interrupted, "interrupted: nothing was written");
    OutputFile file(path);
    file.write(std::span<const std::byte>(bytes));
    file.commit();
    return out;
  });
  return make_report(facts_of(report));
}

nb::list read_levels(const std::filesystem::path& path) {
  std::vector<Rig> read;
  {
    const nb::gil_scoped_release released;
    ReadOptions options;
    options.warn = warn;
    read = read_rig_levels(path, options);
  }
  nb::list out;
  for (Rig& rig : read) out.append(nb::cast(Model{std::move(rig), make_report(nb::dict())}));
  return out;
}

}  // namespace

std::vector<ClipBounds> played_bounds(const Rig& rig, int threads) {
  std::vector<ClipBounds> out = clip_bounds(rig, threads);
  if (rig.two_layer) return out;
  ReadOptions options;
  options.halfway = true;
  const std::vector<ClipBounds> between = clip_bounds(parse_gltf_rig(glb_bytes(rig), {}, options), threads);
  for (std::size_t i = 0; i < out.size() && between.size() == out.size(); ++i) {
    out[i].box.low = out[i].box.low.cwiseMin(between[i].box.low);
    out[i].box.high = out[i].box.high.cwiseMax(between[i].box.high);
  }
  return out;
}

void bind_rework(nb::module_& module) {
  module.def("lod", &lod,
             nb::sig("def lod(rig: Rig, triangles: int, error: float, ratio: float, levels: int, "
                     "frames: int, attributes: float, threads: int, progress: typing.Any) -> list[Rig]"),
             nb::arg("rig"), nb::arg("triangles"), nb::arg("error"), nb::arg("ratio"), nb::arg("levels"),
             nb::arg("frames"), nb::arg("attributes"), nb::arg("threads"), nb::arg("progress").none());
  module.def("transfer", &transfer_model, nb::arg("rig"), nb::arg("mesh"), nb::arg("faces").none(), nb::arg("distance"),
             nb::arg("degrees"), nb::arg("influences"), nb::arg("threads"), nb::arg("progress").none());
  module.def("edit", &edit, nb::arg("rig"), nb::arg("rest").none(), nb::arg("faces").none(),
             nb::arg("displacements").none(), nb::arg("joints"), nb::arg("reach"), nb::arg("corrections"),
             nb::arg("threads"), nb::arg("progress").none());
  module.def("bounds", &bounds, nb::sig("def bounds(rig: Rig, threads: int) -> dict[str, typing.Any]"), nb::arg("rig"),
             nb::arg("threads"));
  module.def("surface_distance", &distance_between,
             nb::sig("def surface_distance(first: Rig, second: Rig, threads: int, progress: typing.Any) -> "
                     "sinew._types.Report"),
             nb::arg("first"), nb::arg("second"), nb::arg("threads"), nb::arg("progress").none());
  module.def("engines", &engine_limits, nb::sig("def engines() -> dict[str, dict[str, typing.Any]]"));
  module.def("pack", &pack,
             nb::sig("def pack(rig: Rig, path: str, examples: Sequence | None, quality: str, max_error: float, "
                     "lossless: bool, strip_textures: bool, khronos: bool, only_two_layer: bool, safe_names: bool, "
                     "bones_per_mesh: int, threads: int, progress: typing.Any) -> sinew._types.Report"),
             nb::arg("rig"), nb::arg("path"), nb::arg("examples").none(), nb::arg("quality"), nb::arg("max_error"),
             nb::arg("lossless"), nb::arg("strip_textures"), nb::arg("khronos"), nb::arg("only_two_layer"),
             nb::arg("safe_names"), nb::arg("bones_per_mesh"), nb::arg("threads"), nb::arg("progress").none());
  module.def("read_levels", &read_levels, nb::sig("def read_levels(path: str | os.PathLike[str]) -> list[Rig]"),
             nb::arg("path"),
             "Every level of detail of a rig in a .glb, the finest first; a file without levels, or of another format, "
             "is one.");
}

}  // namespace sinew::python
