#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sinew/core/checkpoint.h"
#include "sinew/core/progress.h"
#include "sinew/core/sequence.h"

/// The closest-flat problem of hyperspectral inverse skinning [Liu2020 §4] in reduced coordinates.
///
/// A flat of h handles is a 4h×r matrix Θ: rows 4k..4k+3 hold the affine map of its point (k = 0) or of its k-th
/// direction. Vertex v sits at z(v) on it and lands on x(v)ᵀ Θ with x = (1, z) ⊗ u, u the homogeneous rest position.
/// Derivation: docs/algorithms/flats.md.
namespace sinew {

/// Numbers per vertex in blocks of vertices: block-major, then column, then the vertices of the block. The last block
/// is padded with zeros, so that all kernels run over whole blocks.
template <class T>
class VertexBlocks {
 public:
  static constexpr std::size_t kBlock = 512;

  VertexBlocks() = default;
  VertexBlocks(std::size_t vertices, int columns)
      : vertices_(vertices),
        columns_(static_cast<std::size_t>(columns)),
        data_(block_count_of(vertices) * kBlock * static_cast<std::size_t>(columns), T(0)) {}

  static std::size_t block_count_of(std::size_t vertices) { return (vertices + kBlock - 1) / kBlock; }

  std::size_t vertex_count() const { return vertices_; }
  std::size_t block_count() const { return block_count_of(vertices_); }
  int columns() const { return static_cast<int>(columns_); }
  T* block(std::size_t block) { return data_.data() + block * kBlock * columns_; }
  const T* block(std::size_t block) const { return data_.data() + block * kBlock * columns_; }
  T& operator()(std::size_t v, std::size_t column) {
    return data_[(v / kBlock * columns_ + column) * kBlock + v % kBlock];
  }
  T operator()(std::size_t v, std::size_t column) const {
    return data_[(v / kBlock * columns_ + column) * kBlock + v % kBlock];
  }

 private:
  std::size_t vertices_ = 0;
  std::size_t columns_ = 0;
  std::vector<T> data_;
};

/// What is 1 in the coordinates of a flat problem: the radius of the rest pose's smallest enclosing sphere, from its
/// centre; or half the diagonal of its bounding box, from the mean of its vertices, as in the paper.
enum class FlatUnit { sphere, box };

/// A sequence in the coordinates of the flat problem. The rest pose is centred and scaled (FlatUnit); from
/// the frames the best single affine map of each frame is taken away (weights that sum to one carry it through every
/// blend), and what remains is written in its principal directions.
struct FlatProblem {
  std::size_t vertices = 0;
  std::size_t frames = 0;
  int rank = 0;                 // r
  VertexBlocks<double> rest;    // 4 columns: homogeneous, scaled
  VertexBlocks<double> points;  // r columns
  double floor = 0;             // sum of squares that float32 rounding of the input accounts for, scaled unit
  double truncated = 0;         // sum of squares left out by the reduction, scaled unit
  Eigen::Vector3d center = Eigen::Vector3d::Zero();
  double scale = 1;              // scaled = (input - center) / scale
  double radius = 1;             // of the rest pose's smallest enclosing sphere, scaled unit
  Eigen::MatrixXd directions;    // 3F×r, orthonormal columns
  Eigen::MatrixXd base;          // 4×3F: the single affine maps, scaled unit
  Eigen::MatrixXd reduced_base;  // 4×r: the part of them along `directions`
  bool rest_moved = false;       // the rest positions are no longer those of the sequence

  /// E_RMS that a sum of squares in the scaled unit stands for.
  double e_rms(double sum_of_squares) const;
};

/// Reduces a sequence. Principal directions are left out while the E_RMS of all that is left out stays below
/// `truncation`.
FlatProblem make_flat_problem(const Sequence& sequence, double truncation, FlatUnit unit = FlatUnit::sphere);

/// Builds a problem from given rest positions (V×4, homogeneous) and points (V×r), for experiments and tests.
FlatProblem make_flat_problem(const Eigen::Ref<const Eigen::MatrixXd>& rest,
                              const Eigen::Ref<const Eigen::MatrixXd>& points);

/// An affine map (4×r, column-major) per vertex, fitted to it and its one-ring [Liu2020 eq. 8].
struct VertexMaps {
  Eigen::MatrixXd maps;          // 4r×V
  std::vector<double> error;     // V: squared distances of the ring under its map
  std::vector<double> flatness;  // V: smallest over largest eigenvalue of the ring's covariance; 0: planar
};
VertexMaps fit_one_rings(const FlatProblem& problem, const Mesh& mesh, int threads);

/// The given fraction of the vertices with the smallest errors, best first, of those whose ring is not planar.
std::vector<std::size_t> best_maps(const VertexMaps& maps, double fraction, double min_flatness);

/// Mean and principal components of the chosen maps as a flat.
Eigen::MatrixXd flat_through(const VertexMaps& maps, const std::vector<std::size_t>& chosen, int handles);

/// Where the vertices sit on a flat, and how far from it.
struct FlatFit {
  int handles = 0;
  VertexBlocks<double> z;         // h-1 columns: minimises |y - x(z)ᵀΘ|² + ridge·|z|²
  VertexBlocks<double> residual;  // r columns: y - x(z)ᵀΘ
  VertexBlocks<double> factor;    // (h-1)h/2 columns: Cholesky factors of AᵀA + ridge·I, laid out for SIMD
  double distance = 0;            // sum |residual|²
  double objective = 0;           // distance + ridge·sum |z|²
};

/// Puts every vertex at its closest place on the flat [Liu2020 eq. 6].
void fit_flat(const FlatProblem& problem, const Eigen::MatrixXd& theta, double ridge, int threads, FlatFit& fit);

/// Moves the point of the flat to the mean of z and turns and scales its directions so that z has covariance I, in
/// order of decreasing importance. The flat stays the same set; `fit` is stale afterwards.
void whiten_flat(const FlatProblem& problem, const FlatFit& fit, int threads, Eigen::MatrixXd& theta);

/// One step of alternation: the flat that is best for the z of `fit`, every vertex counted `weights` times (V, or
/// empty: all once).
Eigen::MatrixXd alternate_flat(const FlatProblem& problem, const FlatFit& fit, int threads,
                               const std::vector<double>& weights = {});

/// Smallest eigenvalue of AᵀA at every vertex: how well its place on the flat is determined.
std::vector<double> least_stiffness(const FlatFit& fit, int threads);

/// The paper's alternation as it stands (§4.2, eq. 10): vertices weighted by the smallest singular value of the system
/// that gives their place, in a basis of the flat that only these steps change. `fit` belongs to `theta` on return.
void published_alternation(const FlatProblem& problem, int rounds, int threads, Eigen::MatrixXd& theta, FlatFit& fit);

struct GaussNewtonOptions {
  int max_steps = 30;
  int max_inner = 50;             // conjugate gradient iterations per step
  int max_products = 100000;      // conjugate gradient iterations in all
  double inner_tolerance = 0.05;  // stop the inner iteration at |r| <= inner_tolerance·|r0|
  double tolerance = 1e-3;        // stop when twice running (e[n-1] - e[n]) <= tolerance·e[n-1], e = sqrt(objective)
  double ridge = 0;
  double target = 0;  // stop when distance <= target
  int threads = 0;
  Checkpoint* checkpoint = nullptr;  // may be null: where the steps are kept, as phase "flat"
};

struct FlatTrace {
  std::vector<double> distance;  // after each step
  int inner = 0;                 // conjugate gradient iterations in all
  bool converged = false;
};

/// Variable projection with Kaufman's Jacobian, Gauss–Newton with Levenberg damping, normal equations by preconditioned
/// conjugate gradients. `theta` is improved in place; `fit` belongs to it on return.
FlatTrace gauss_newton_flat(const FlatProblem& problem, const GaussNewtonOptions& options, Eigen::MatrixXd& theta,
                            FlatFit& fit, const Progress& progress = {});

/// Product of Kaufman's Gauss–Newton matrix with a direction (4h×r): sum_v x (Π(v) Dᵀx)ᵀ. In double, for tests.
Eigen::MatrixXd gauss_newton_product(const FlatProblem& problem, const Eigen::MatrixXd& theta, const FlatFit& fit,
                                     const Eigen::MatrixXd& direction);

}  // namespace sinew
