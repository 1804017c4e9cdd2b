#include "solve/skeleton/saved.h"

#include "sinew/core/error.h"
#include "solve/lbs/saved_fit.h"

namespace sinew::skeleton {

void save_skeleton(const SkeletonFit& fit, const std::string& prefix, SavedArrays& arrays) {
  save_fit(fit.state, prefix, arrays);
  arrays[prefix + "parents"] =
      Eigen::Map<const Eigen::RowVectorXi>(fit.tree.parent.data(), fit.tree.bones()).cast<double>();
  arrays[prefix + "joints"] = fit.tree.joint;
  arrays[prefix + "phase"] = numbers({static_cast<double>(fit.phase)});
}

void take_skeleton(const SavedArrays& arrays, const std::string& prefix, SkeletonFit& fit) {
  const Problem& problem = *fit.problem;
  fit.state = saved_fit(arrays, prefix, problem.frame_count(), problem.vertex_count());
  const int bones = fit.state.bones();
  const Eigen::MatrixXd& parents = saved_array(arrays, prefix + "parents", 1, bones);
  fit.tree.joint = saved_array(arrays, prefix + "joints", 3, bones);
  fit.tree.parent.assign(static_cast<std::size_t>(bones), -1);
  for (int b = 1; b < bones; ++b) {
    if (!(parents(b) >= 0 && parents(b) < b))
      throw Error(ErrorKind::input, "checkpoint: its bones do not form a hierarchy");
    fit.tree.parent[static_cast<std::size_t>(b)] = static_cast<int>(parents(b));
  }
  fit.phase = static_cast<int>(saved_number(arrays, prefix + "phase", 0, 1e9));
  // The sums are those of the weights again; value and residuals stay those of the pass before.
  const double squares = fit.state.squares;
  const std::vector<float> residual = fit.state.sums.residual;
  sum_up(fit);
  fit.state.squares = squares;
  fit.state.sums.residual = residual;
}

}  // namespace sinew::skeleton
