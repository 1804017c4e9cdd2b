#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solve/device/vertex_problem.h"
#include "solve/lbs/weights_pass.h"

namespace sinew::lbs {

static_assert(kMonomials == device::kMonomials);

/// Solves min |y − Σ w_b D_b u|² over K-sparse convex weights for one vertex after another, without allocating: the
/// text of solve/device/vertex_problem.h, with its memory.
class VertexWeightSolver {
 public:
  VertexWeightSolver(const BoneGram& gram, int influences);
  VertexWeightSolver(const VertexWeightSolver&) = delete;
  VertexWeightSolver& operator=(const VertexWeightSolver&) = delete;

  /// Takes the next vertex: its rest position, its column of DᵀY (4·padded), and what a smoothness term adds: `ridge`
  /// on the diagonal of G and `pull` (padded entries or null) on g.
  template <class Scalar>  // float or double
  void load(const Eigen::Vector3d& u, const Scalar* products, double ridge = 0, const double* pull = nullptr);

  /// Starts from a support with weights; an empty one is replaced by the best single bone.
  void set_support(const std::uint16_t* bones, const float* values, int count);

  /// Best weights on the current support, then entering and leaving bones until nothing pays; `swaps` exchanges at most
  /// once all slots are taken. Returns the objective wᵀ G w − 2 gᵀ w.
  double improve(int swaps);

  /// The same and further: from the support that improve ends with, each bone is forbidden in turn until exchanges with
  /// the others pay no more, and then allowed again; the best support met is kept.
  double improve_thoroughly(int swaps);

  /// Objective once bone `slot` of the support is taken away, with one replacement allowed. Leaves the state as it was.
  double objective_without(int slot);

  /// Whether the last improve exchanged a bone.
  bool exchanged() const { return problem_.exchanged(); }

  int count() const { return problem_.count(); }
  int bone(int slot) const { return problem_.bone(slot); }
  double weight(int slot) const { return problem_.weight(slot); }
  std::span<const double, kMonomials> monomials() const {
    return std::span<const double, kMonomials>(problem_.monomials(), kMonomials);
  }

  /// wᵀ G w − 2 gᵀ w of the current weights without what smoothing adds.
  double data_objective();

  /// What moving the weights towards bone `bone` as far as pays would gain.
  double gain_towards(int bone);

 private:
  std::vector<double> numbers_;
  std::vector<int> integers_;
  device::VertexState state_{};
  device::VertexProblem<device::OneLane> problem_;
};

}  // namespace sinew::lbs
