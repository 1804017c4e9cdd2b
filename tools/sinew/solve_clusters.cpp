#include "sinew/solve/clusters.h"

#include "solve.h"

namespace sinew::tool {

Method clusters_method() {
  Method method;
  method.name = "clusters";
  method.summary = "rigid parts, one bone per vertex; fast and crude";
  method.takes = {"--iterations"};
  method.solve = [](const Sequence& sequence, const SolveOptions& options, FitReport& report,
                    const Progress& progress) {
    ClustersOptions own;
    own.bones = options.bones.value_or(own.bones);
    set_quality(own, options.quality);
    own.max_iterations = options.iterations.value_or(own.max_iterations);
    own.threads = options.threads;
    own.checkpoint = options.checkpoint;
    return solve_clusters(sequence, own, report, progress);
  };
  return method;
}

}  // namespace sinew::tool
