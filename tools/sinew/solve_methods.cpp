#include "sinew/core/error.h"
#include "solve.h"

namespace sinew::tool {

std::vector<Method> solve_methods() {
  return {ssdr_method(), kavan_method(), flats_method(), skeleton_method(), clusters_method()};
}

void add_corrections(Rig& /*rig*/, const Sequence& /*sequence*/, const SolveOptions& options, FitReport& /*report*/,
                     const Progress& /*progress*/) {
  if (options.corrections > 0) throw Error(ErrorKind::usage, "--corrections: not available in this build");
}

}  // namespace sinew::tool
