#include <fmt/format.h>

#include <memory>

#include "sinew/core/error.h"
#include "sinew/solve/sma.h"
#include "solve.h"

namespace sinew::tool {
namespace {

struct SmaRequest {
  double epsilon = SmaOptions{}.epsilon;
  std::string weights = "nnls";
};

/// --weights nnls, tsvd or bounded:δ.
void set_weights(const std::string& text, SmaOptions& options) {
  if (text == "nnls" || text == "tsvd") {
    options.weights = text == "nnls" ? SmaWeights::nnls : SmaWeights::tsvd;
    return;
  }
  const std::string prefix = "bounded:";
  std::size_t used = 0;
  try {
    if (text.rfind(prefix, 0) == 0) options.negative_bound = std::stod(text.substr(prefix.size()), &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used + prefix.size() != text.size() || !(options.negative_bound >= 0))
    throw Error(ErrorKind::usage, fmt::format("--weights {}: expected nnls, tsvd or bounded:NUMBER", text));
  options.weights = SmaWeights::bounded;
}

Rig solve(const SmaRequest& request, const Sequence& sequence, const SolveOptions& options, FitReport& report,
          const Progress& progress) {
  SmaOptions own;
  own.epsilon = request.epsilon;
  own.bones = options.bones.value_or(0);
  own.influences = influences_of(options, own.influences);
  own.transforms = options.transforms == "rigid" ? Transforms::rigid : Transforms::affine;
  own.iterations = options.iterations.value_or(own.iterations);
  own.threads = options.threads;
  own.checkpoint = options.checkpoint;
  set_weights(request.weights, own);
  if (!options.given) return solve_sma(sequence, own, report, progress);
  if (!options.fit.empty() && options.fit != "weights")
    throw Error(ErrorKind::usage, fmt::format("--fit {}: --method sma fits weights to given bones", options.fit));
  if (options.bones) throw Error(ErrorKind::usage, "--bones does not go with --rig: the bones are given");
  return fit_sma_weights(sequence, *options.given, own, report, progress);
}

}  // namespace

Method sma_method() {
  Method method;
  method.name = "sma";
  method.summary = "near-rigid parts by mean shift; finds the number of bones itself";
  method.affine = true;
  method.takes = {"--influences", "--transforms", "--iterations", "--rig", "--fit"};
  auto request = std::make_shared<SmaRequest>();
  method.add_options = [request](CLI::App& command) {
    command.add_option("--epsilon", request->epsilon, "Rotation tolerance (0.05): larger, fewer bones")
        ->check(CLI::Range(1e-6, 2.0));
    command.add_option("--weights", request->weights, "nnls, tsvd or bounded:D, weights of at least -D (nnls)");
  };
  method.solve = [request](const Sequence& sequence, const SolveOptions& options, FitReport& report,
                           const Progress& progress) { return solve(*request, sequence, options, report, progress); };
  return method;
}

}  // namespace sinew::tool
