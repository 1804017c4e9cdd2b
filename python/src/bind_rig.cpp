#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>

#include "arrays.h"
#include "model.h"
#include "sinew/core/error.h"
#include "sinew/io/blendshapes.h"
#include "sinew/io/gltf.h"
#include "sinew/io/output_file.h"
#include "sinew/view/page.h"

namespace sinew::python {
namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw Error(ErrorKind::input, sentence);
}

std::string text_of(const Model& model) {
  const Rig& rig = model.rig;
  std::string text =
      fmt::format("Rig({} vertices, {} {}bones, {} influences, {} frames", rig.vertex_count(), rig.bone_count(),
                  rig.transforms == Transforms::rigid ? "rigid " : "", used_influences(rig.weights), rig.frame_count());
  if (rig.jointed) text += ", a skeleton";
  if (rig.corrections) text += fmt::format(", {} corrections", rig.corrections->rank());
  if (rig.two_layer) text += fmt::format(", {} virtual bones", rig.two_layer->virtual_bone_count());
  const auto report = nb::cast<nb::dict>(model.report);
  if (report.contains("errors"))
    text += fmt::format(", E_RMS {:.3g}", nb::cast<double>(nb::object(report["errors"]["e_rms"])));
  return text + ")";
}

using DenseWeights = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The most bones of a vertex that have weight; of a bone that is named twice, the sum counts.
int fullest_row(const DoubleArray& values, const IntegerArray& bones) {
  const std::size_t slots = values.shape(1);
  std::size_t most = 1;
  std::vector<std::int64_t> used;
  for (std::size_t v = 0; v < values.shape(0); ++v) {
    used.clear();
    for (std::size_t i = v * slots; i < (v + 1) * slots; ++i)
      if (values.data()[i] > 0) used.push_back(bones.data()[i]);
    std::sort(used.begin(), used.end());
    most = std::max(most, static_cast<std::size_t>(std::unique(used.begin(), used.end()) - used.begin()));
  }
  return static_cast<int>(most);
}

/// V×K weights with their bones, some rows at a time: V×B numbers may be more than memory has.
SkinWeights pack_sparse(const DoubleArray& values, const IntegerArray& bones, Eigen::Index bone_count) {
  constexpr std::size_t kRows = 256;
  const std::size_t slots = values.shape(1);
  SkinWeights out;
  out.influences = fullest_row(values, bones);
  for (std::size_t first = 0; first < values.shape(0); first += kRows) {
    const std::size_t rows = std::min(kRows, values.shape(0) - first);
    DenseWeights dense = DenseWeights::Zero(static_cast<Eigen::Index>(rows), bone_count);
    for (std::size_t i = 0; i < rows * slots; ++i)
      dense(static_cast<Eigen::Index>(i / slots), static_cast<Eigen::Index>(bones.data()[first * slots + i])) +=
          values.data()[first * slots + i];
    const SkinWeights part = pack_weights(dense, out.influences);
    out.bones.insert(out.bones.end(), part.bones.begin(), part.bones.end());
    out.values.insert(out.values.end(), part.values.begin(), part.values.end());
  }
  return out;
}

/// V×K weights with their bones, or V×B weights alone.
SkinWeights weights_of(nb::handle weights, nb::handle bones, std::size_t bone_count) {
  const DoubleArray values = double_array(weights, "weights", {"V", "K"});
  const auto V = static_cast<Eigen::Index>(values.shape(0));
  const auto K = static_cast<Eigen::Index>(values.shape(1));
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values.data()[i]) || values.data()[i] < 0)
      refuse(fmt::format("weights: vertex {} has weight {}", i / values.shape(1), values.data()[i]));
  if (bones.is_none()) {
    if (values.shape(1) != bone_count)
      refuse(fmt::format("weights: {} columns, transforms has {} bones; give `bones` for sparse weights",
                         values.shape(1), bone_count));
    return pack_weights(Eigen::Map<const DenseWeights>(values.data(), V, K));
  }
  const IntegerArray indices = integer_array(bones, "bones", {"V", "K"});
  if (indices.shape(0) != values.shape(0) || indices.shape(1) != values.shape(1))
    refuse("bones: its shape is not that of weights");
  for (Eigen::Index i = 0; i < V * K; ++i) {
    const std::int64_t bone = indices.data()[i];
    if (bone < 0 || static_cast<std::size_t>(bone) >= bone_count)
      refuse(fmt::format("bones: vertex {} refers to bone {}, there are {}", i / K, bone, bone_count));
  }
  return pack_sparse(values, indices, static_cast<Eigen::Index>(bone_count));
}

Motion motion_of(nb::handle transforms) {
  const FloatArray array = float_array(transforms, "transforms", {"F", "B", "3", "4"});
  Motion motion(array.shape(0), array.shape(1));
  const float* at = array.data();
  for (std::size_t f = 0; f < array.shape(0); ++f)
    for (std::size_t b = 0; b < array.shape(1); ++b)
      for (Eigen::Index row = 0; row < 3; ++row)
        for (Eigen::Index column = 0; column < 4; ++column) motion(f, b)(row, column) = *at++;
  return motion;
}

/// Heads where none are given: the mean of what a bone moves, by weight.
void set_centers(Rig& rig) {
  std::vector<Eigen::Vector3d> sums(rig.bone_count(), Eigen::Vector3d::Zero());
  std::vector<double> totals(rig.bone_count(), 0);
  const auto K = static_cast<std::size_t>(rig.weights.influences);
  for (std::size_t i = 0; i < rig.weights.values.size(); ++i) {
    const double weight = rig.weights.values[i];
    sums[rig.weights.bones[i]] += weight * rig.rest.positions.col(static_cast<Eigen::Index>(i / K)).cast<double>();
    totals[rig.weights.bones[i]] += weight;
  }
  for (std::size_t b = 0; b < rig.bone_count(); ++b)
    if (totals[b] > 0) rig.bones[b].head = rig.bones[b].tail = (sums[b] / totals[b]).cast<float>();
}

std::vector<std::string> texts_of(nb::handle value, const char* name) {
  std::vector<std::string> out;
  if (nb::isinstance<nb::str>(value) || !nb::try_cast(value, out))
    throw nb::type_error(fmt::format("{}: a list of text is expected", name).c_str());
  return out;
}

void set_bones(Rig& rig, nb::handle names, nb::handle parents, nb::handle heads, nb::handle tails) {
  const std::size_t B = rig.bone_count();
  const auto check_count = [&](const char* name, std::size_t count) {
    if (count != B) refuse(fmt::format("{}: {} entries, transforms has {} bones", name, count, B));
  };
  for (std::size_t b = 0; b < B; ++b) rig.bones[b].name = fmt::format("bone{}", b);
  if (!names.is_none()) {
    const std::vector<std::string> list = texts_of(names, "names");
    check_count("names", list.size());
    for (std::size_t b = 0; b < B; ++b) rig.bones[b].name = list[b];
  }
  if (!parents.is_none()) {
    const IntegerArray array = integer_array(parents, "parents", {"B"});
    check_count("parents", array.size());
    for (std::size_t b = 0; b < B; ++b) {
      if (array.data()[b] < -1 || array.data()[b] >= static_cast<std::int64_t>(b))
        refuse(fmt::format("parents: bone {} has parent {}, -1 or an earlier bone is expected", b, array.data()[b]));
      rig.bones[b].parent = static_cast<int>(array.data()[b]);
    }
  }
  set_centers(rig);
  if (!heads.is_none()) {
    const Points points = points_of(heads, "heads");
    check_count("heads", static_cast<std::size_t>(points.cols()));
    for (std::size_t b = 0; b < B; ++b)
      rig.bones[b].head = rig.bones[b].tail = points.col(static_cast<Eigen::Index>(b));
  }
  if (!tails.is_none()) {
    const Points points = points_of(tails, "tails");
    check_count("tails", static_cast<std::size_t>(points.cols()));
    for (std::size_t b = 0; b < B; ++b) rig.bones[b].tail = points.col(static_cast<Eigen::Index>(b));
  }
}

Rig make_rig(nb::handle rest, nb::handle faces, nb::handle weights, nb::handle transforms, nb::handle bones,
             nb::handle names, nb::handle parents, nb::handle heads, nb::handle tails, nb::handle times, bool rigid,
             bool skeleton, double fps) {
  if (!(fps > 0)) throw Error(ErrorKind::usage, fmt::format("fps: {} given, a number above 0 is expected", fps));
  Rig rig;
  rig.rest.positions = points_of(rest, "rest");
  set_faces(faces, rig.rest);
  rig.motion = motion_of(transforms);
  rig.bones.resize(rig.motion.bone_count());
  rig.weights = weights_of(weights, bones, rig.bone_count());
  if (rig.weights.vertex_count() != rig.vertex_count())
    refuse(fmt::format("weights: {} rows, rest has {} vertices", rig.weights.vertex_count(), rig.vertex_count()));
  set_bones(rig, names, parents, heads, tails);
  rig.times = uniform_times(rig.frame_count(), 1 / fps);
  if (!times.is_none()) {
    const DoubleArray seconds = double_array(times, "times", {"F"});
    rig.times.assign(seconds.data(), seconds.data() + seconds.size());
  }
  rig.transforms = rigid ? Transforms::rigid : Transforms::affine;
  rig.jointed = skeleton;
  rig.check();
  return rig;
}

std::vector<float> posed(const Rig& rig, std::int64_t frame) {
  const auto count = static_cast<std::int64_t>(rig.frame_count());
  if (frame < -count || frame >= count)
    throw nb::index_error(fmt::format("frame {} of a rig with {} frames", frame, count).c_str());
  std::vector<float> out(rig.vertex_count() * 3);
  pose(rig, static_cast<std::size_t>(frame < 0 ? frame + count : frame),
       PointsMap(out.data(), 3, static_cast<Eigen::Index>(rig.vertex_count())));
  return out;
}

struct SaveOptions {
  WriteOptions write;
  std::vector<Rig> levels;  // coarser ones to write behind the rig
  bool bounds = false;      // boxes of the clips and a tree beside it
};

/// What the file has no place for, in words; empty: it holds all of the model.
std::string save(const Model& model, const std::filesystem::path& path, SaveOptions options) {
  const bool glb = lower_extension(path) == ".glb";
  if (!glb && (!options.levels.empty() || options.bounds))
    throw Error(ErrorKind::usage, fmt::format("{}: {} are kept in .glb files", path.string(),
                                              options.bounds ? "bounds" : "levels of detail"));
  if (!options.levels.empty() && (options.bounds || model.sliders))
    throw Error(ErrorKind::usage, "levels: a file of several has no place for bounds or sliders");
  std::vector<GltfExtension> extensions;
  if (options.bounds) {
    const BoundsTree tree = build_bounds_tree(model.rig);
    extensions.push_back(bounds_extension(played_bounds(model.rig, 0), &tree));
  }
  if (glb && model.sliders) extensions.push_back(sliders_extension(*model.sliders));
  if (!options.levels.empty()) {
    options.levels.insert(options.levels.begin(), model.rig);
    options.levels.front().two_layer.reset();
    write_glb_levels(path, options.levels, options.write);
  } else if (!extensions.empty()) {
    write_glb(path, model.rig, options.write, extensions);
  } else {
    write_rig(path, model.rig, options.write);
  }
  if (model.rig.two_layer && !has_two_layers(path))
    return "two layers; the file holds the weights that stand in for them";
  return model.sliders && !glb ? "sliders; the file holds the motion alone" : "";
}

std::string page_of(const Model& model, const Sequence* original, std::string name, std::string report) {
  PageOptions options;
  options.name = std::move(name);
  options.report = std::move(report);
  options.original = original;
  if (original != nullptr &&
      (original->vertex_count() != model.rig.vertex_count() || original->frame_count() != model.rig.frame_count()))
    refuse(fmt::format("the rig has {} vertices and {} frames, the sequence to compare with has {} and {}",
                       model.rig.vertex_count(), model.rig.frame_count(), original->vertex_count(),
                       original->frame_count()));
  const nb::gil_scoped_release released;
  return view_page(glb_bytes(model.rig), options);
}

/// A member of all bones as a view, `columns` numbers of each (0: one alone).
template <class T>
nb::object bone_view(const Rig& rig, const T* first, std::size_t columns, nb::handle owner) {
  static_assert(sizeof(Bone) % sizeof(T) == 0);
  const auto stride = static_cast<std::int64_t>(sizeof(Bone) / sizeof(T));
  if (columns == 0) return view_of(first, {rig.bone_count()}, owner, {stride});
  return view_of(first, {rig.bone_count(), columns}, owner, {stride, 1});
}

/// Corrections as arrays: offsets R×V×3, coefficients F×R.
nb::object corrections_of(const Rig& rig) {
  if (!rig.corrections) return nb::none();
  const Corrections& corrections = *rig.corrections;
  std::vector<float> offsets;
  for (const Points& shape : corrections.offsets)
    offsets.insert(offsets.end(), shape.data(), shape.data() + shape.size());
  std::vector<float> coefficients;
  for (Eigen::Index f = 0; f < corrections.coefficients.rows(); ++f)
    for (Eigen::Index r = 0; r < corrections.coefficients.cols(); ++r)
      coefficients.push_back(corrections.coefficients(f, r));
  nb::dict out;
  out["offsets"] = array_of(std::move(offsets), {corrections.rank(), rig.vertex_count(), 3});
  out["coefficients"] = array_of(std::move(coefficients), {rig.frame_count(), corrections.rank()});
  return out;
}

/// The two layers as arrays: dictionary M×c over bones, coefficients V×q over virtual bones.
nb::object two_layer_of(const Rig& rig, nb::handle owner) {
  if (!rig.two_layer) return nb::none();
  nb::dict out;
  const auto add = [&](const char* name, const BlendRows& rows) {
    const auto slots = static_cast<std::size_t>(rows.slots);
    nb::dict entry;
    entry["columns"] = view_of(rows.columns.data(), {rows.row_count(), slots}, owner);
    entry["values"] = view_of(rows.values.data(), {rows.row_count(), slots}, owner);
    out[name] = entry;
  };
  add("dictionary", rig.two_layer->dictionary);
  add("coefficients", rig.two_layer->coefficients);
  return out;
}

constexpr const char* kRigInit =
    R"(def __init__(self, rest: numpy.typing.ArrayLike, faces: numpy.typing.ArrayLike | collections.abc.Sequence[collections.abc.Sequence[int]] | None, weights: numpy.typing.ArrayLike, transforms: numpy.typing.ArrayLike, *, bones: numpy.typing.ArrayLike | None = None, names: collections.abc.Sequence[str] | None = None, parents: numpy.typing.ArrayLike | None = None, heads: numpy.typing.ArrayLike | None = None, tails: numpy.typing.ArrayLike | None = None, times: numpy.typing.ArrayLike | None = None, rigid: bool = False, skeleton: bool = False, fps: float = 30.0) -> None)";

constexpr const char* kRigDoc =
    R"(A skinned mesh with its motion. Solvers and readers make one; arrays from elsewhere do as well:

rest        V×3 positions of the rest pose.
faces       T×k vertex numbers, or a list of polygons, or None.
weights     V×B, or V×K with `bones` V×K; rows are scaled to sum 1.
transforms  F×B×3×4 affines that take rest positions to posed ones.
names, parents, heads, tails   of the bones: text, -1 or an earlier bone, B×3 and B×3 rest positions.
times       F seconds; None: `fps` frames per second from 0.
rigid, skeleton   whether transforms are rotations with translations, and children stay at their parents' joints.
Raises sinew.Error (kind 'input') for whatever does not agree. Arrays of a rig are read-only views but for triangles and corrections.)";

constexpr const char* kSaveDoc =
    R"(Writes .glb, .fbx, .usda, .usdz or, the skeleton alone, .bvh: complete or not at all.

pack        the numbers of a two-layer model in 16 bits, compressed. Small files for engines: sinew.pack.
bake_shear  bones that shear as pairs of nodes, .fbx.
safe_names  names of letters, digits, _ and - only, which some engines want, .glb.
levels      coarser levels of detail behind the rig, of sinew.lod, .glb [MSFT_lod].
bounds      boxes of the clips, and the tree that sinew_tree.h reads, .glb.)";

void bind_arrays(nb::class_<Model>& rig) {
  const auto rig_of = [](nb::handle self) -> const Rig& { return nb::cast<const Model&>(self).rig; };
  rig.def_prop_ro(
         "weights",
         [rig_of](nb::handle_t<Model> self) {
           const SkinWeights& weights = rig_of(self).weights;
           return view_of(weights.values.data(), {weights.vertex_count(), static_cast<std::size_t>(weights.influences)},
                          self);
         },
         nb::sig("def weights(self) -> numpy.typing.NDArray[numpy.float32]"),
         "V×K weights, each row falling and of sum 1; a view.")
      .def_prop_ro(
          "bones",
          [rig_of](nb::handle_t<Model> self) {
            const SkinWeights& weights = rig_of(self).weights;
            return view_of(weights.bones.data(), {weights.vertex_count(), static_cast<std::size_t>(weights.influences)},
                           self);
          },
          nb::sig("def bones(self) -> numpy.typing.NDArray[numpy.uint32]"), "V×K bones of those weights; a view.")
      .def(
          "dense_weights",
          [](const Model& self) {
            const auto dense = unpack_weights(self.rig.weights, self.rig.bone_count());
            return array_of(std::vector<float>(dense.data(), dense.data() + dense.size()),
                            {self.rig.vertex_count(), self.rig.bone_count()});
          },
          nb::sig("def dense_weights(self) -> numpy.typing.NDArray[numpy.float32]"), "V×B weights, a new array.")
      .def_prop_ro(
          "transforms",
          [rig_of](nb::handle_t<Model> self) {
            const Motion& motion = rig_of(self).motion;
            const auto F = motion.frame_count();
            const auto B = motion.bone_count();
            const float* const data = F * B == 0 ? nullptr : motion(0, 0).data();
            return view_of(data, {F, B, 3, 4}, self, {static_cast<std::int64_t>(12 * B), 12, 1, 3});
          },
          nb::sig("def transforms(self) -> numpy.typing.NDArray[numpy.float32]"),
          "F×B×3×4 affines [A | t] that take rest positions to posed ones; a view (its last two axes are swapped in "
          "memory).")
      .def_prop_ro(
          "rest",
          [rig_of](nb::handle_t<Model> self) {
            const Mesh& mesh = rig_of(self).rest;
            return view_of(mesh.positions.data(), {mesh.vertex_count(), 3}, self);
          },
          nb::sig("def rest(self) -> numpy.typing.NDArray[numpy.float32]"), "V×3 positions of the rest pose; a view.")
      .def_prop_ro(
          "triangles",
          [](const Model& self) {
            std::vector<Index> corners = triangles_of(self.rig.rest);
            const std::size_t count = corners.size() / 3;
            return array_of(std::move(corners), {count, 3});
          },
          nb::sig("def triangles(self) -> numpy.typing.NDArray[numpy.uint32]"),
          "T×3 vertices, polygons cut up; a new array.")
      .def_prop_ro(
          "times",
          [rig_of](nb::handle_t<Model> self) {
            const auto& times = rig_of(self).times;
            return view_of(times.data(), {times.size()}, self);
          },
          nb::sig("def times(self) -> numpy.typing.NDArray[numpy.float64]"), "F seconds; a view.")
      .def_prop_ro(
          "clips", [](const Model& self) { return facts_of(self.rig.clips); },
          nb::sig("def clips(self) -> list[dict[str, typing.Any]]"),
          "Animations of the rig: name, first_frame, frames; empty for a single one.")
      .def_prop_ro(
          "names",
          [](const Model& self) {
            std::vector<std::string> names;
            for (const Bone& bone : self.rig.bones) names.push_back(bone.name);
            return names;
          },
          "Names of the B bones.")
      .def_prop_ro(
          "parents",
          [rig_of](nb::handle_t<Model> self) {
            const Rig& held = rig_of(self);
            return bone_view(held, held.bones.empty() ? nullptr : &held.bones[0].parent, 0, self);
          },
          nb::sig("def parents(self) -> numpy.typing.NDArray[numpy.int32]"),
          "B parents: an earlier bone, or -1; a view.")
      .def_prop_ro(
          "heads",
          [rig_of](nb::handle_t<Model> self) {
            const Rig& held = rig_of(self);
            return bone_view(held, held.bones.empty() ? nullptr : held.bones[0].head.data(), 3, self);
          },
          nb::sig("def heads(self) -> numpy.typing.NDArray[numpy.float32]"),
          "B×3 rest positions of the joints (free bones: the middle of what they move); a view.")
      .def_prop_ro(
          "tails",
          [rig_of](nb::handle_t<Model> self) {
            const Rig& held = rig_of(self);
            return bone_view(held, held.bones.empty() ? nullptr : held.bones[0].tail.data(), 3, self);
          },
          nb::sig("def tails(self) -> numpy.typing.NDArray[numpy.float32]"),
          "B×3 rest positions of the bones' other ends, for display; a view.")
      .def_prop_ro(
          "corrections", [](const Model& self) { return corrections_of(self.rig); },
          nb::sig("def corrections(self) -> dict[str, numpy.typing.NDArray[numpy.float32]] | None"),
          "Corrections of the rest pose: offsets R×V×3 and coefficients F×R, new arrays; or None.")
      .def_prop_ro(
          "two_layer", [rig_of](nb::handle_t<Model> self) { return two_layer_of(rig_of(self), self); },
          nb::sig("def two_layer(self) -> dict[str, dict[str, numpy.typing.NDArray[typing.Any]]] | None"),
          "Two-layer model: dictionary M×c over bones and coefficients V×q over virtual bones, each with columns and "
          "values, which are views; or None.");
}

}  // namespace

void bind_rig(nb::module_& module) {
  nb::class_<Model> rig(module, "Rig", kRigDoc);
  rig.def(
         "__init__",
         [](Model* self, nb::object rest, nb::object faces, nb::object weights, nb::object transforms, nb::object bones,
            nb::object names, nb::object parents, nb::object heads, nb::object tails, nb::object times, bool rigid,
            bool skeleton, double fps) {
           new (self) Model{make_rig(rest, faces, weights, transforms, bones, names, parents, heads, tails, times,
                                     rigid, skeleton, fps),
                            make_report(nb::dict())};
         },
         nb::sig(kRigInit), nb::arg("rest"), nb::arg("faces").none(), nb::arg("weights"), nb::arg("transforms"),
         nb::kw_only(), nb::arg("bones").none() = nb::none(), nb::arg("names").none() = nb::none(),
         nb::arg("parents").none() = nb::none(), nb::arg("heads").none() = nb::none(),
         nb::arg("tails").none() = nb::none(), nb::arg("times").none() = nb::none(), nb::arg("rigid") = false,
         nb::arg("skeleton") = false, nb::arg("fps") = 30.0)
      .def("__repr__", &text_of)
      .def_prop_ro(
          "rigid", [](const Model& self) { return self.rig.transforms == Transforms::rigid; },
          "Whether every transform is a rotation with a translation.")
      .def_prop_ro(
          "skeleton", [](const Model& self) { return self.rig.jointed; }, "Whether bones are joints of a hierarchy.")
      .def_prop_ro(
          "notes", [](const Model& self) { return parsed_json(self.rig.notes); },
          nb::sig("def notes(self) -> dict[str, typing.Any] | None"),
          "What a solver wants kept with the file, or None.")
      .def_ro("report", &Model::report, nb::sig("def report(self) -> sinew._types.Report"),
              "How the rig was made: a dict, empty for a rig from a file.")
      .def(
          "pose",
          [](const Model& self, std::int64_t frame) {
            return array_of(posed(self.rig, frame), {self.rig.vertex_count(), 3});
          },
          nb::sig("def pose(self, frame: int) -> numpy.typing.NDArray[numpy.float32]"), nb::arg("frame"),
          "V×3 positions in a frame, counted from 0 or, below 0, from the end.")
      .def(
          "pose_all",
          [](const Model& self) {
            auto frames = std::make_unique<Frames>();
            {
              const nb::gil_scoped_release released;
              *frames = std::move(pose_all(self.rig).frames);
            }
            const float* const data = std::as_const(*frames).data().data();
            const nb::capsule owner(frames.release(), [](void* kept) noexcept { delete static_cast<Frames*>(kept); });
            return nb::cast(nb::ndarray<nb::numpy, float>(const_cast<float*>(data),
                                                          {self.rig.frame_count(), self.rig.vertex_count(), 3}, owner));
          },
          nb::sig("def pose_all(self) -> numpy.typing.NDArray[numpy.float32]"), "F×V×3 positions in all frames.")
      .def(
          "save",
          [](const Model& self, const std::filesystem::path& path, bool pack, bool bake_shear, bool safe_names,
             const std::vector<const Model*>& levels, bool bounds) {
            std::string missing;
            {
              const nb::gil_scoped_release released;
              SaveOptions options;
              options.write = {.bake_shear = bake_shear, .pack = pack, .safe_names = safe_names};
              for (const Model* level : levels) options.levels.push_back(level->rig);
              options.bounds = bounds;
              missing = save(self, path, std::move(options));
            }
            if (!missing.empty()) warn(fmt::format("{}: the format has no place for {}", path.string(), missing));
          },
          nb::sig(
              "def save(self, path: str | os.PathLike[str], pack: bool = False, bake_shear: bool = False, "
              "safe_names: bool = False, levels: collections.abc.Sequence[Rig] = (), bounds: bool = False) -> None"),
          nb::arg("path"), nb::arg("pack") = false, nb::arg("bake_shear") = false, nb::arg("safe_names") = false,
          nb::arg("levels") = nb::make_tuple(), nb::arg("bounds") = false, kSaveDoc);
  bind_arrays(rig);
  bind_sliders(module, rig);
  module.def(
      "read_rig",
      [](const std::filesystem::path& path, std::string mesh, double fps) {
        if (!(fps >= 0))
          throw Error(ErrorKind::usage, fmt::format("fps: {} given, a number of at least 0 is expected", fps));
        Model out{{}, make_report(nb::dict())};
        {
          const nb::gil_scoped_release released;
          ReadOptions options;
          options.mesh = std::move(mesh);
          options.frames_per_second = fps;
          options.warn = warn;
          out.rig = read_rig(path, options);
          const std::string extension = lower_extension(path);
          if (extension == ".glb" || extension == ".gltf") out.sliders = read_sliders(path, out.rig);
        }
        return out;
      },
      nb::sig("def read_rig(path: str | os.PathLike[str], mesh: str = '', fps: float = 0.0) -> Rig"), nb::arg("path"),
      nb::arg("mesh") = "", nb::arg("fps") = 0.0,
      "Reads a skinned .glb, .gltf, .fbx, .usda or .usdz: weights, bones and their motion at the keys, or sampled at "
      "`fps`. mesh: a pattern such as 'Body*' over mesh names; '': all. What was mended on the way is a warning.");
  module.def(
      "write_text",
      [](const std::filesystem::path& path, const std::string& text) {
        OutputFile file(path);
        file.write(std::string_view(text));
        file.commit();
      },
      nb::sig("def write_text(path: str | os.PathLike[str], text: str) -> None"), nb::arg("path"), nb::arg("text"),
      "Writes a file, complete or not at all.");
  module.def("page", &page_of, nb::arg("rig"), nb::arg("original").none(), nb::arg("name"), nb::arg("report"),
             "The viewer page as text.");
}

}  // namespace sinew::python
