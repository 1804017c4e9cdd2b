#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <vector>

#include "solve/lbs/weights_pass.h"

/// The sums S = X Xᵀ and C = Y Xᵀ that a pass over the vertices leaves for the bones.
namespace sinew::lbs {

/// Partial sums over one part of the vertices.
struct SumsPart {
  std::vector<double> S;  // B×B×10, bones a ≤ b
  Eigen::MatrixXd C;      // rows×4B
  double squares = 0;
  std::uint64_t exchanges = 0;  // vertices that tried one
};

/// Adds up S and C of one part, in double. Trajectories are kept as pointers until flush(), which sums C bone by bone.
class SumBuilder {
 public:
  SumBuilder(std::size_t rows, int bones, SumsPart& part);

  /// `y` stays where it is until flush(). `importance` is how much the vertex counts.
  void add(const float* y, const Eigen::Vector3d& u, std::span<const double, kMonomials> monomials, const int* bones,
           const double* weights, int count, double importance = 1);
  void flush();

 private:
  /// What one vertex adds to the columns of one bone: y · w (u, 1)ᵀ.
  struct Share {
    const float* y;
    double x[4];
  };

  std::size_t rows_;
  std::size_t bones_;
  SumsPart& part_;
  std::vector<std::vector<Share>> shares_;  // by bone
};

/// S as a full matrix from the packed sums, C in frames; parts are added in order, those of this rank to those of the
/// ranks before it. Each rank gets 80·B·(B + 1) + 64·B·rows + 32 bytes from others, whatever the vertices.
void join_parts(const Problem& problem, int bones, const std::vector<SumsPart>& parts, WeightSums& sums);

}  // namespace sinew::lbs
