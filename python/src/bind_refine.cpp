#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "callback.h"
#include "model.h"
#include "sinew/core/error.h"
#include "sinew/refine/corrections.h"
#include "sinew/refine/reduce.h"
#include "sinew/refine/reduce_weights.h"
#include "sinew/refine/two_layer.h"

namespace sinew::python {
namespace nb = nanobind;
namespace {

void refuse_two_layers(const Rig& rig, const char* what) {
  if (rig.two_layer) throw Error(ErrorKind::input, std::string("rig: is a two-layer model") + what);
}

Model reduce_model(const Model& model, const Sequence* examples, int influences, const std::string& method,
                   const std::string& refit, int threads, nb::object progress) {
  refuse_two_layers(model.rig, ", reduce its original");
  ReduceOptions options;
  options.method = reduce_method(method);
  options.influences = influences;
  options.threads = threads;
  Refit wanted = refit_called(refit);  // sliders know the bones by their motion
  if (model.sliders && wanted == Refit::automatic) wanted = Refit::weights;
  if (model.sliders && wanted == Refit::always && !model.rig.jointed)
    throw Error(ErrorKind::usage, "reduce: sliders would not fit a motion that is fitted anew; 'weights' keeps it");
  struct Reduced {
    Rig rig;
    ReduceReport report;
    Errors errors;
  };
  LongWork work(std::move(progress));
  Reduced out = work.run([&](const Progress& told) {
    const Sequence own = examples == nullptr ? pose_all(model.rig) : Sequence{};
    const Sequence& target = examples == nullptr ? own : *examples;
    Reduced reduced;
    reduced.rig = reduce(model.rig, &target, options, wanted, reduced.report, told);
    reduced.errors = evaluate(reduced.rig, target, threads);
    return reduced;
  });
  nb::dict facts;
  facts["method"] = method;
  facts["influences"] = used_influences(out.rig.weights);
  facts["e_rms_cut"] = out.report.e_rms_cut;
  facts["refitted"] = out.report.refitted;
  facts["errors"] = facts_of(out.errors);
  return {std::move(out.rig), make_report(facts), model.sliders};
}

struct Compressed {
  Rig rig;
  TwoLayerReport report;
  Errors errors;
};

nb::dict facts_of(const Compressed& compressed) {
  const TwoLayerReport& report = compressed.report;
  nb::dict out;
  out["virtual_bones"] = report.virtual_bones;
  out["bones_per_virtual_bone"] = report.masters_per_virtual;
  out["blends_per_vertex"] = report.blends_per_vertex;
  out["weight_error"] = report.weight_error;
  out["example_error"] = report.example_error;
  out["history"] = report.history;
  out["cancelled"] = report.cancelled;
  out["errors"] = sinew::python::facts_of(compressed.errors);
  return out;
}

Model compress(const Model& model, const Sequence* examples, double blends_per_vertex, int virtual_bones,
               double max_error, int virtual_per_vertex, int bones_per_virtual, bool keep_motion, int threads,
               nb::object progress) {
  refuse_two_layers(model.rig, " already");
  TwoLayerOptions options;
  options.blends_per_vertex = blends_per_vertex;
  options.virtual_bones = virtual_bones;
  options.max_error = max_error / 1000;
  options.virtual_per_vertex = virtual_per_vertex;
  options.masters_per_virtual = bones_per_virtual;
  options.keep_motion = keep_motion;
  options.threads = threads;
  LongWork work(std::move(progress));
  Compressed out = work.run([&](const Progress& told) {
    Compressed compressed;
    compressed.rig = compress_two_layer(model.rig, examples, options, compressed.report, told);
    if (compressed.report.cancelled) throw Error(ErrorKind::interrupted, "interrupted: the rig was not compressed");
    // Players that know nothing of virtual bones show four influences that fit what the dense rig does.
    ReduceOptions stand_in;
    stand_in.threads = threads;
    compressed.rig.weights = reduce_weights(compressed.rig, examples, stand_in, told);
    compressed.errors = examples == nullptr ? evaluate(compressed.rig, pose_all(model.rig), threads)
                                            : evaluate(compressed.rig, *examples, threads);
    return compressed;
  });
  const nb::dict facts = facts_of(out);
  return {std::move(out.rig), make_report(facts)};
}

Model correct_model(const Model& model, const Sequence& sequence, int rank, double max_error, int iterations,
                    std::uint64_t seed, int threads, nb::object progress) {
  CorrectionOptions options;
  options.rank = rank;
  options.max_error = max_error;
  options.iterations = iterations;
  options.seed = seed;
  options.threads = threads;
  struct Corrected {
    Rig rig;
    CorrectionReport report;
    Errors errors;
  };
  LongWork work(std::move(progress));
  Corrected out = work.run([&](const Progress& told) {
    Corrected corrected{model.rig, {}, {}};
    corrected.report = correct(corrected.rig, sequence, options, told);
    corrected.errors = evaluate(corrected.rig, sequence, threads);
    return corrected;
  });
  nb::dict facts;
  facts["rank"] = out.report.rank;
  facts["dropped"] = out.report.dropped;
  facts["near_singular_vertices"] = out.report.near_singular;
  facts["e_rms"] = out.report.e_rms;
  facts["errors"] = sinew::python::facts_of(out.errors);
  return {std::move(out.rig), make_report(facts)};
}

}  // namespace

void bind_refine(nb::module_& module) {
  module.def("reduce", &reduce_model, nb::arg("rig"), nb::arg("examples").none(), nb::arg("influences"),
             nb::arg("method"), nb::arg("refit"), nb::arg("threads"), nb::arg("progress").none());
  module.def("compress", &compress, nb::arg("rig"), nb::arg("examples").none(), nb::arg("blends_per_vertex"),
             nb::arg("virtual_bones"), nb::arg("max_error"), nb::arg("virtual_per_vertex"),
             nb::arg("bones_per_virtual"), nb::arg("keep_motion"), nb::arg("threads"), nb::arg("progress").none());
  module.def("correct", &correct_model, nb::arg("rig"), nb::arg("sequence"), nb::arg("rank"), nb::arg("max_error"),
             nb::arg("iterations"), nb::arg("seed"), nb::arg("threads"), nb::arg("progress").none());
}

}  // namespace sinew::python
