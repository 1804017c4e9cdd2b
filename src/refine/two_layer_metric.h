#pragma once

#include <Eigen/Core>
#include <vector>

#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"

/// What the two-layer factorisation minimises, per vertex: a quadratic form f_v(x) over blend weights x ∈ R^B with
/// Σ x = 1. Because of that constraint f can be written without a linear term, f_v(x) = xᵀ Q_v x.
namespace sinew::two_layer {

using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXd;

/// Motion of all bones as one matrix: rows are frame × coordinate (3F), columns 4b + column of the affine. Translations
/// and examples share the scale; rest coordinates are scaled where they are used.
MatrixXd stacked_motion(const Rig& rig, double scale);

/// |x − w_v|²: Q_v = Σ over coordinates of (e_b − w)(e_b' − w); never formed.
class WeightMetric {
 public:
  explicit WeightMetric(const MatrixXf& W) : W_(W) {}  // B×V

  /// K = Aᵀ Q_v A for atoms A (B×P, each summing to 1).
  void gram(std::size_t v, const Eigen::Ref<const MatrixXd>& atoms, Eigen::Ref<MatrixXd> K, MatrixXd& scratch) const;
  const MatrixXf& targets() const { return W_; }  // what a perfect atom for v would be
  double lower_bound(std::size_t /*v*/) const { return 0; }

 private:
  const MatrixXf& W_;
};

/// Σ_f |Σ_b x_b T(f, b) p̃_v − example(f, v)|². With p̃ = (p, 1) homogeneous and S the B²×10 table of Σ_f T_bᵀ T_b'
/// (symmetric 4×4, ten numbers), Q_v needs no loop over frames: Q_v = S q(p̃_v) − g 1ᵀ − 1 gᵀ + |x|² 1 1ᵀ.
class ExampleMetric {
 public:
  /// Positions are divided by `scale`. `W` (B×V) warm-starts the optimal dense weights, which replace it as targets.
  ExampleMetric(const Rig& rig, const Sequence& examples, double scale, MatrixXf W, int threads);

  /// Takes over a changed motion. Targets and bounds stay those of the first.
  void update_motion(const Rig& rig, const Sequence& examples, double scale, int threads);

  void gram(std::size_t v, const Eigen::Ref<const MatrixXd>& atoms, Eigen::Ref<MatrixXd> K, MatrixXd& scratch) const;
  /// Q_v itself, B×B.
  void form(std::size_t v, MatrixXd& Q) const;
  const MatrixXf& targets() const { return W_; }
  double lower_bound(std::size_t v) const { return bound_[v]; }

 private:
  void build_table(const Rig& rig, double scale);
  void build_linear(const Rig& rig, const Sequence& examples, double scale, int threads);
  void optimise_targets(int threads);

  std::size_t bones_;
  MatrixXd S_;                                   // B²×10
  Eigen::Matrix<double, 10, Eigen::Dynamic> q_;  // 10×V: products of homogeneous rest coordinates
  MatrixXd g_;                                   // B×V: Σ_f (T_b p̃_v)·example
  VectorXd square_;                              // V: Σ_f |example|²
  MatrixXf W_;                                   // B×V, optimal dense weights
  std::vector<double> bound_;                    // V, f_v at W_
};

}  // namespace sinew::two_layer
