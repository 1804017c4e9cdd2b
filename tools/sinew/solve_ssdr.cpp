#include "sinew/core/error.h"
#include "sinew/solve/ssdr.h"
#include "solve.h"

namespace sinew::tool {
namespace {

SsdrOptions ssdr_options(const SolveOptions& options) {
  SsdrOptions own;
  own.bones = options.bones.value_or(own.bones);
  own.influences = influences_of(options, own.influences);
  if (options.transforms == "affine") own.transforms = Transforms::affine;
  own.smoothness = options.smoothness.value_or(own.smoothness);
  own.max_iterations = options.iterations.value_or(0);
  own.max_error = options.max_error.value_or(0);
  own.seed = options.seed;
  own.threads = options.threads;
  own.effort = options.quality == Quality::fast   ? Effort::fast
               : options.quality == Quality::best ? Effort::best
                                                  : Effort::balanced;
  return own;
}

}  // namespace

Method ssdr_method() {
  Method method;
  method.name = "ssdr";
  method.summary = "rigid or affine bones with sparse smooth weights";
  method.takes = {"--influences", "--transforms", "--iterations"};
  method.solve = [](const Sequence& sequence, const SolveOptions& options, FitReport& report,
                    const Progress& progress) { return solve_ssdr(sequence, ssdr_options(options), report, progress); };
  return method;
}

}  // namespace sinew::tool
