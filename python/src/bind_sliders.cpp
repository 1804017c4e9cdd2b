#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "callback.h"
#include "model.h"
#include "sinew/core/blendshapes.h"
#include "sinew/core/error.h"
#include "sinew/io/blendshapes.h"
#include "sinew/solve/blendshapes.h"

namespace sinew::python {
namespace nb = nanobind;
namespace {

/// N×S values of sliders.
Eigen::MatrixXf values_of(nb::handle value, std::size_t sliders) {
  const FloatArray array = float_array(value, "values", {"N", "S"});
  if (array.shape(1) != sliders)
    throw Error(ErrorKind::input, fmt::format("values: {} columns, there are {} sliders", array.shape(1), sliders));
  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::MatrixXf out = Eigen::Map<const RowMajor>(array.data(), static_cast<Eigen::Index>(array.shape(0)),
                                                         static_cast<Eigen::Index>(array.shape(1)));
  if (!out.allFinite()) throw Error(ErrorKind::input, "values: not all of them are finite");
  return out;
}

/// Sliders of arrays: S×V×3 displacements of V×3 positions.
Blendshapes shapes_of_arrays(nb::handle shapes, nb::handle rest, nb::handle faces, nb::handle names, nb::handle values,
                             double fps) {
  Blendshapes out;
  out.name = "shapes";
  out.rest.positions = points_of(rest, "rest");
  set_faces(faces, out.rest);
  const FloatArray array = float_array(shapes, "shapes", {"S", "V", "3"});
  const std::size_t V = out.rest.vertex_count();
  if (array.shape(1) != V)
    throw Error(ErrorKind::input, fmt::format("shapes: {} vertices, rest has {}", array.shape(1), V));
  std::vector<std::string> called;
  if (!names.is_none() && (nb::isinstance<nb::str>(names) || !nb::try_cast(names, called)))
    throw nb::type_error("names: a list of text is expected");
  if (!names.is_none() && called.size() != array.shape(0))
    throw Error(ErrorKind::input, fmt::format("names: {} of them, there are {} shapes", called.size(), array.shape(0)));
  for (std::size_t s = 0; s < array.shape(0); ++s) {
    Shape shape;
    shape.name = names.is_none() ? fmt::format("shape_{}", s) : called[s];
    shape.offsets = ConstPointsMap(array.data() + 3 * V * s, 3, static_cast<Eigen::Index>(V));
    out.rest.shapes.push_back(std::move(shape));
  }
  if (values.is_none()) {
    play_in_turn(out);
  } else {
    if (!(fps > 0)) throw Error(ErrorKind::usage, fmt::format("fps: {} given, a number above 0 is expected", fps));
    out.values = values_of(values, out.slider_count());
    out.times = uniform_times(static_cast<std::size_t>(out.values.rows()), 1 / fps);
  }
  out.check();
  return out;
}

/// Sliders of a file, of the frames of a Sequence, or of arrays.
Blendshapes shapes_of(nb::handle shapes, nb::handle rest, nb::handle faces, nb::handle names, nb::handle values,
                      double fps) {
  const bool path = nb::isinstance<nb::str>(shapes) || nb::hasattr(shapes, "__fspath__");
  if (!path && !nb::isinstance<Sequence>(shapes)) return shapes_of_arrays(shapes, rest, faces, names, values, fps);
  if (!rest.is_none() || !faces.is_none() || !names.is_none() || !values.is_none())
    throw nb::type_error("shapes: a file or a Sequence brings its own rest, faces, names and values");
  if (!path) return blendshapes_of(nb::cast<const Sequence&>(shapes));
  ReadOptions options;
  options.warn = warn;
  return read_gltf_blendshapes(nb::cast<std::filesystem::path>(shapes), options);
}

nb::dict tried(const Errors& errors) {
  nb::dict out;
  out["e_rms"] = errors.e_rms;
  out["max_distance"] = errors.max_distance;
  out["poses"] = errors.per_frame.size();
  return out;
}

Model solve_shapes(nb::handle shapes, nb::handle rest, nb::handle faces, nb::handle names, nb::handle values,
                   double fps, int bones, int influences, const std::string& transforms, double sparsity,
                   const std::string& quality, std::uint64_t seed, int threads, nb::object progress) {
  BlendshapeOptions options;
  options.bones = bones;
  options.influences = influences;
  options.transforms = transforms == "rigid" ? Transforms::rigid : Transforms::affine;
  options.sparsity = sparsity;
  options.quality = quality == "fast" ? Quality::fast : quality == "best" ? Quality::best : Quality::balanced;
  options.seed = seed;
  options.threads = threads;
  const Blendshapes sliders = shapes_of(shapes, rest, faces, names, values, fps);
  struct Solved {
    SliderRig found;
    FitReport report;
    Errors errors;       // of the frames
    Errors shapes;       // of each slider at 1 alone
    Errors expressions;  // of random ones
    double seconds = 0;
  };
  LongWork work(std::move(progress));
  Solved out = work.run([&](const Progress& told) {
    constexpr std::size_t kExpressions = 200;     // as many as `sinew solve --blendshapes` tries
    constexpr std::uint64_t kExpressionSeed = 1;  // and the same
    Solved solved;
    const double start = now_seconds();
    solved.found = solve_blendshapes(sliders, options, solved.report, told);
    solved.seconds = now_seconds() - start;
    const auto errors_at = [&](const Eigen::MatrixXf& at) {
      return evaluate_sliders(solved.found.rig, solved.found.map, sliders, at, threads);
    };
    const auto S = static_cast<Eigen::Index>(sliders.slider_count());
    solved.errors = evaluate(solved.found.rig, shaped_frames(sliders), threads);
    solved.shapes = errors_at(Eigen::MatrixXf::Identity(S, S));
    solved.expressions = errors_at(random_slider_values(kExpressions, sliders.slider_count(), kExpressionSeed));
    return solved;
  });
  const std::size_t pairs = out.found.rig.bone_count() * out.found.map.slider_count();
  nb::dict map;
  map["entries"] = out.found.map.entries.size();
  map["zeros"] = 1 - static_cast<double>(out.found.map.entries.size()) / static_cast<double>(pairs);
  map["dense_e_rms"] = out.found.dense_e_rms;
  map["full_map_e_rms"] = out.found.full_map_e_rms;
  nb::dict errors;
  errors["shapes"] = tried(out.shapes);
  errors["frames"] = tried(out.errors);
  errors["expressions"] = tried(out.expressions);
  map["errors"] = errors;
  nb::dict facts = facts_of(out.report);
  facts["seconds"]["solve"] = out.seconds;
  facts["map"] = map;
  facts["errors"] = facts_of(out.errors);
  return {std::move(out.found.rig), make_report(facts), std::move(out.found.map)};
}

/// The map as arrays, by the names of `sinew solve --sliders`.
nb::object sliders_of(const Model& model) {
  if (!model.sliders) return nb::none();
  const SliderMap& map = *model.sliders;
  SliderEntries entries = entries_of(map);
  const std::size_t n = map.entries.size();
  nb::dict out;
  out["names"] = map.names;
  out["entry_bone"] = array_of(std::move(entries.bones), {n});
  out["entry_slider"] = array_of(std::move(entries.sliders), {n});
  out["entry_by"] = array_of(std::move(entries.by), {n, map.width()});
  return out;
}

nb::object pose_sliders(const Model& model, nb::handle values) {
  if (!model.sliders) throw Error(ErrorKind::input, "rig: its bones follow no sliders");
  const Eigen::MatrixXf at = values_of(values, model.sliders->slider_count());
  const std::size_t V = model.rig.vertex_count();
  const auto N = static_cast<std::size_t>(at.rows());
  std::vector<float> out(3 * V * N);
  {
    const nb::gil_scoped_release released;
    Rig rig = model.rig;
    rig.clips.clear();
    rig.motion = slider_motion(*model.sliders, rig.bones, at);
    rig.times = uniform_times(N, 1);
    for (std::size_t n = 0; n < N; ++n)
      pose(rig, n, PointsMap(out.data() + 3 * V * n, 3, static_cast<Eigen::Index>(V)));
  }
  return array_of(std::move(out), {N, V, 3});
}

}  // namespace

void bind_sliders(nb::module_& module, nb::class_<Model>& rig) {
  rig.def_prop_ro("sliders", &sliders_of, nb::sig("def sliders(self) -> dict[str, typing.Any] | None"),
                  "How the bones follow sliders, of a rig of solve_blendshapes: names (S), and of the n entries of the "
                  "map entry_bone, entry_slider and entry_by, n×6 for rigid bones and n×12 for affine ones "
                  "(docs/algorithms/blendshapes.md); new arrays; or None.")
      .def("pose_sliders", &pose_sliders,
           nb::sig("def pose_sliders(self, values: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.float32]"),
           nb::arg("values"), "N×V×3 positions where the sliders have the N×S `values`.");
  module.def(
      "solve_blendshapes", &solve_shapes,
      nb::sig("def solve_blendshapes(shapes: typing.Any, rest: typing.Any, faces: typing.Any, names: typing.Any, "
              "values: typing.Any, fps: float, bones: int, influences: int, transforms: str, sparsity: float, "
              "quality: str, seed: int, threads: int, progress: typing.Any) -> Rig"),
      nb::arg("shapes"), nb::arg("rest").none(), nb::arg("faces").none(), nb::arg("names").none(),
      nb::arg("values").none(), nb::arg("fps"), nb::arg("bones"), nb::arg("influences"), nb::arg("transforms"),
      nb::arg("sparsity"), nb::arg("quality"), nb::arg("seed"), nb::arg("threads"), nb::arg("progress").none());
}

}  // namespace sinew::python
