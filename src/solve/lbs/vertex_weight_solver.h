#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "math/simplex.h"
#include "solve/lbs/weights_pass.h"

namespace sinew::lbs {

/// Solves min |y − Σ w_b D_b u|² over K-sparse convex weights for one vertex after another, without allocating.
///
/// In terms of G_jk = uᵀ M_jk u and g_j = uᵀ (DᵀY)_j the objective is wᵀ G w − 2 gᵀ w; rows of G are formed only for
/// bones that are in the support.
class VertexWeightSolver {
 public:
  VertexWeightSolver(const BoneGram& gram, int influences);

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
  bool exchanged() const { return exchanged_; }

  int count() const { return count_; }
  int bone(int slot) const { return bone_[static_cast<std::size_t>(slot)]; }
  double weight(int slot) const { return weight_[static_cast<std::size_t>(slot)]; }
  std::span<const double, kMonomials> monomials() const { return monomials_; }

  /// wᵀ G w − 2 gᵀ w of the current weights without what smoothing adds.
  double data_objective();

  /// What moving the weights towards bone `bone` as far as pays would gain.
  double gain_towards(int bone);

 private:
  struct Saved {
    int count;
    double objective;
  };

  double* row(int slot) { return rows_.data() + static_cast<std::size_t>(row_of_[slot]) * stride_; }
  void fill_row(int r, int bone);
  void enter(int bone, double weight);
  void leave(int slot);
  double solve_support();
  void compute_gradient();
  int most_promising(double& violation) const;
  void gains_over(const int* base, const double* w, int m);
  bool exchange();
  void drop_to(int most);
  int cheapest_to_drop();
  void save();
  void restore();
  void keep_best();
  void take_best();

  const BoneGram& gram_;
  int influences_;
  int count_ = 0;
  double objective_ = 0;
  double scale_ = 0;  // largest G_kk of the support: what tolerances refer to
  double ridge_ = 0;
  std::size_t stride_;
  double monomials_[kMonomials] = {};
  const double* pull_ = nullptr;
  std::vector<double> g_, gradient_, rows_, weight_, small_, small_g_, inverse_;
  std::vector<double> diagonal_, slope_, schur_, reach_, total_, gains_, solved_, base_weight_;
  std::vector<int> base_;
  std::vector<int> bone_, row_of_, bone_in_row_, free_rows_;
  std::vector<double> saved_weight_;
  std::vector<int> saved_bone_, saved_row_, saved_free_;
  Saved saved_{};
  std::vector<double> best_weight_;
  std::vector<int> best_bone_, tried_;
  Saved best_{};
  int banned_ = -1;
  bool exchanged_ = false;
  SimplexWorkspace workspace_;
};

}  // namespace sinew::lbs
