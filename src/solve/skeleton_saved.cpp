#include "sinew/core/error.h"
#include "solve/saved_fit.h"
#include "solve/skeleton_rigging.h"

namespace sinew {

void save_rigging(const Rigging& rig, const std::string& prefix, SavedArrays& arrays) {
  save_fit(rig.state, prefix, arrays);
  arrays[prefix + "parents"] =
      Eigen::Map<const Eigen::RowVectorXi>(rig.tree.parent.data(), rig.tree.bones()).cast<double>();
  arrays[prefix + "joints"] = rig.tree.joint;
  arrays[prefix + "phase"] = numbers({static_cast<double>(rig.phase)});
}

void take_rigging(const SavedArrays& arrays, const std::string& prefix, Rigging& rig) {
  const Problem& problem = *rig.problem;
  rig.state = saved_fit(arrays, prefix, problem.frame_count(), problem.vertex_count());
  const int bones = rig.state.bones();
  const Eigen::MatrixXd& parents = saved_array(arrays, prefix + "parents", 1, bones);
  rig.tree.joint = saved_array(arrays, prefix + "joints", 3, bones);
  rig.tree.parent.assign(static_cast<std::size_t>(bones), -1);
  for (int b = 1; b < bones; ++b) {
    if (!(parents(b) >= 0 && parents(b) < b))
      throw Error(ErrorKind::input, "checkpoint: its bones do not form a hierarchy");
    rig.tree.parent[static_cast<std::size_t>(b)] = static_cast<int>(parents(b));
  }
  rig.phase = static_cast<int>(saved_number(arrays, prefix + "phase", 0, 1e9));
  // The sums are those of the weights again; value and residuals stay those of the pass before.
  const double squares = rig.state.squares;
  const std::vector<float> residual = rig.state.sums.residual;
  sum_up(rig);
  rig.state.squares = squares;
  rig.state.sums.residual = residual;
}

}  // namespace sinew
