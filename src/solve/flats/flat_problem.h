#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "math/decompositions.h"
#include "sinew/core/sequence.h"
#include "solve/flats/vertex_blocks.h"

/// The closest-flat problem of hyperspectral inverse skinning [Liu2020 §4] in reduced coordinates.
///
/// A flat of h handles is a 4h×r matrix Θ: rows 4k..4k+3 hold the affine map of its point (k = 0) or of its k-th
/// direction. Vertex v sits at z(v) on it and lands on x(v)ᵀ Θ with x = (1, z) ⊗ u, u the homogeneous rest position.
/// Derivation: docs/algorithms/flats.md.
namespace sinew::flats {

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

/// What two passes over a sequence tell of its frames: where they are in the coordinates of a flat problem, and in
/// which directions they spread. The frames may lie in a file, and be shared by ranks.
struct FlatFrames {
  const Sequence* sequence = nullptr;  // outlives this
  double floor = 0;                    // these four as in FlatProblem
  Eigen::Vector3d center = Eigen::Vector3d::Zero();
  double scale = 1;
  double radius = 1;
  Eigen::MatrixXd base;   // 4×3F
  SymmetricEigen spread;  // of the sum of squares of what the base leaves, 3F×3F: ascending
};

FlatFrames measure_frames(const Sequence& sequence, FlatUnit unit, int threads);

/// Reduces them in a third pass. Principal directions are left out while the E_RMS of all that is left out stays below
/// `truncation`. Of frames that ranks share each reduces its own; all have the result.
FlatProblem make_flat_problem(const FlatFrames& frames, double truncation, int threads);
FlatProblem make_flat_problem(const Sequence& sequence, double truncation, FlatUnit unit = FlatUnit::sphere,
                              int threads = 1);

/// A few vertices over all frames: vertices at, at + 1, … of a slab, which are first, first + 1, … of the sequence.
struct FewVertices {
  const Frames& slab;
  std::size_t at;
  std::size_t first;
  std::size_t count;

  /// Scaled positions, count×3F.
  Eigen::MatrixXd scaled(const Eigen::Vector3d& center, double scale) const;
};

/// Sum over all vertices of what `add` adds for a few of them at a time, in one pass over the frames: the parts of the
/// vertices have sums of their own, which are added in order (Ranks).
Eigen::MatrixXd sum_over_frames(const Sequence& sequence, Eigen::Index rows, Eigen::Index columns,
                                const std::function<void(const FewVertices&, Eigen::MatrixXd& sum)>& add);

/// Builds a problem from given rest positions (V×4, homogeneous) and points (V×r), for experiments and tests.
FlatProblem make_flat_problem(const Eigen::Ref<const Eigen::MatrixXd>& rest,
                              const Eigen::Ref<const Eigen::MatrixXd>& points);

}  // namespace sinew::flats
