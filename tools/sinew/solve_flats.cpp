#include "sinew/solve/flats.h"

#include <map>
#include <memory>
#include <string>

#include "sinew/core/error.h"
#include "solve.h"

namespace sinew::tool {
namespace {

/// Options of --method flats alone.
struct FlatsRequest {
  FlatSolver solver = FlatSolver::gauss_newton;
  double outliers = -1;
  double quantile = 0.5;
  int starts = 0;
  bool optimize_rest = false;
};

void add_options(CLI::App& command, FlatsRequest& own) {
  command.add_option("--flat-solver", own.solver, "gauss-newton, or the paper's alternating baseline")
      ->transform(CLI::CheckedTransformer(std::map<std::string, FlatSolver>{{"gauss-newton", FlatSolver::gauss_newton},
                                                                            {"alternating", FlatSolver::alternating}})
                      .description(""))
      ->default_str("gauss-newton");
  command
      .add_option("--outliers", own.outliers,
                  "Fraction of vertices that may lie beyond each facet of the simplex (chosen automatically)")
      ->check(CLI::Range(0.0, 0.5));
  command.add_option("--quantile", own.quantile, "Fraction of the one-ring maps in the first start (0.5)")
      ->check(CLI::Range(0.001, 1.0));
  command.add_option("--starts", own.starts, "At most this many starts (1; with --quality best 400)")
      ->check(CLI::Range(1, 1000000));
  command.add_flag("--optimize-rest", own.optimize_rest, "Move the rest pose as well");
}

FlatsOptions solver_options(const SolveOptions& shared, const FlatsRequest& own) {
  if (shared.transforms == "rigid")
    throw Error(ErrorKind::usage,
                "--transforms rigid: --method flats finds affine bones only; use --method ssdr --transforms rigid");
  FlatsOptions options;
  options.bones = shared.bones.value_or(options.bones);
  options.max_error = shared.max_error.value_or(0);
  options.influences = influences_of(shared, 0);
  options.solver = own.solver;
  options.outliers = own.outliers;
  options.quantile = own.quantile;
  options.optimize_rest = own.optimize_rest;
  options.seed = shared.seed;
  options.threads = shared.threads;
  options.checkpoint = shared.checkpoint;
  set_quality(options, shared.quality);
  if (own.starts > 0) {
    options.max_starts = own.starts;
    options.start_work = 1e15;
  }
  options.max_steps = shared.iterations.value_or(options.max_steps);
  if (own.solver == FlatSolver::alternating) options.alternations = shared.iterations.value_or(options.alternations);
  return options;
}

}  // namespace

Method flats_method() {
  auto own = std::make_shared<FlatsRequest>();
  Method method;
  method.name = "flats";
  method.summary = "affine bones with dense weights, lowest error (hyperspectral inverse skinning)";
  method.affine = true;
  method.takes = {"--max-error", "--influences", "--transforms", "--iterations"};
  method.add_options = [own](CLI::App& command) { add_options(command, *own); };
  method.solve = [own](const Sequence& sequence, const SolveOptions& options, FitReport& report,
                       const Progress& progress) {
    return solve_flats(sequence, solver_options(options, *own), report, progress);
  };
  return method;
}

}  // namespace sinew::tool
