#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "math/adjacency.h"
#include "sinew/core/sequence.h"

/// The shared heart of the solvers: a sequence scaled, centred and cleared of its common motion, ready for products.
///
/// | symbol | in code               | what                                                              |
/// |--------|-----------------------|-------------------------------------------------------------------|
/// | u_v    | rest.col(v), then 1   | rest position of vertex v, scaled into the unit sphere            |
/// | T₀     | common (3F×4)         | best rigid motion of the whole mesh in every frame                |
/// | y_v    | block(v) (3F)         | trajectory: scaled positions of v over the frames minus T₀ u_v    |
/// | P      | basis (3F×r) or empty | orthonormal basis of the trajectories; blocks then hold Pᵀ y_v    |
///
/// Frames in a file are passed over twice: for their common motion and some of the trajectories, of which the basis is
/// learnt, and for all trajectories. Those are then in memory, or in a scratch file where there is no room for them.
/// The numbers are the same either way. Of frames that ranks share each keeps the trajectories of its own vertices.
///
/// Because the weights of a vertex sum to 1, |v − Σ w_b T_b u|² = |y − Σ w_b (T_b − T₀) u|²: solvers work with
/// D_b = T_b − T₀, whose entries are small, so that single precision products lose little.
namespace sinew::device {
class Passes;
}

namespace sinew::lbs {

/// Moves between the input's unit and the unit sphere: scaled = (input − center) · scale.
struct Scaling {
  Eigen::Vector3d center = Eigen::Vector3d::Zero();
  double scale = 1;  // 1 / radius of the rest pose's enclosing sphere; 1 where that is a point
};

struct ProblemOptions {
  /// Reduce trajectories to a basis that leaves out at most this E_RMS (0: keep all frames). Without effect where the
  /// basis would not be much smaller than the frames.
  double truncation = 0;
  int threads = 1;
  std::uint64_t seed = 1;
};

class Problem {
 public:
  /// The sequence must outlive the problem. Throws what Sequence::check throws.
  explicit Problem(const Sequence& sequence, const ProblemOptions& options = {});

  /// The same problem over a subset of the vertices (ascending): no adjacency, always stored, of one rank; reduced as
  /// ProblemOptions says where it is not already. Called by all ranks.
  Problem sample(const std::vector<Index>& vertices, double truncation = 0, std::uint64_t seed = 1) const;

  /// The same vertices in some of the frames (ascending), reduced anew as ProblemOptions says. For samples, whose
  /// trajectories are stored.
  Problem at_frames(const std::vector<Index>& frames, double truncation, std::uint64_t seed) const;

  /// The same vertices and basis with other trajectories (rows × V), each of which counts `importance` times.
  Problem aimed_at(Eigen::MatrixXf trajectories, std::vector<double> importance) const;

  std::size_t vertex_count() const { return static_cast<std::size_t>(rest_.cols()); }
  std::size_t frame_count() const { return frames_; }
  /// Rows of a block: 3F, or r when reduced.
  std::size_t row_count() const { return rows_; }
  bool reduced() const { return basis_.size() != 0; }
  int threads() const { return threads_; }
  void set_threads(int threads) { threads_ = threads; }

  /// Who shares the vertices. Passes go over the own ones, part by part.
  Ranks& ranks() const { return *ranks_; }
  VertexRange own() const { return ranks_->own(vertex_count()); }

  /// Where passes over all vertices run, if not here. Samples of the problem have none.
  device::Passes* device() const { return device_.get(); }
  void use(std::shared_ptr<device::Passes> device) { device_ = std::move(device); }

  const Scaling& scaling() const { return scaling_; }
  const Eigen::Matrix3Xd& rest() const { return rest_; }         // 3×V
  const Eigen::MatrixXd& common() const { return common_; }      // 3F×4, [A | t] of frame f in rows 3f..3f+2
  const Eigen::MatrixXf& basis() const { return basis_; }        // 3F×r or empty
  const std::vector<double>& energy() const { return energy_; }  // V: |y_v|², all frames
  double total_energy() const { return total_energy_; }
  double importance(std::size_t v) const { return importance_.empty() ? 1 : importance_[v]; }
  /// E_RMS that the basis leaves out of all trajectories together; 0 without one.
  double left_out() const { return left_out_; }
  const Adjacency& adjacency() const { return adjacency_; }

  /// Trajectories of vertices [first, first + count), own ones: row_count() × count, column-major. Points into the
  /// problem or into `scratch`, which is resized at need. Safe to call from several threads with their own scratch.
  const float* block(std::size_t first, std::size_t count, std::vector<float>& scratch) const;

  /// Those of any vertices (ascending) as columns, from whatever rank has them. Called by all ranks.
  Eigen::MatrixXf trajectories(const std::vector<Index>& vertices) const;

  /// E_RMS (papers' unit) of a sum of squared residuals in scaled units.
  double e_rms(double squares) const;

  /// A motion in scaled units as the affine of the input's unit, and back.
  Affine to_input(const Eigen::Matrix<double, 3, 4>& scaled) const;
  Eigen::Matrix<double, 3, 4> to_scaled(const Affine& input) const;

 private:
  Problem() = default;
  Problem without_vertices() const;
  Eigen::MatrixXf find_common_motion(const std::vector<Index>& chosen);
  void share_columns(const std::vector<Index>& vertices, Eigen::MatrixXf& columns) const;
  void reduce(const Eigen::MatrixXf& some, double truncation, std::uint64_t seed);
  bool keep(const Eigen::MatrixXf& basis, double allowed);
  template <class Body>
  void for_each_block(const Body& body) const;
  void gather(const Frames& frames, std::size_t at, std::size_t first, std::size_t count, float* out) const;

  const Sequence* sequence_ = nullptr;
  Ranks* ranks_ = &alone();
  std::size_t frames_ = 0;
  std::size_t rows_ = 0;
  int threads_ = 1;
  Scaling scaling_;
  Eigen::Matrix3Xd rest_;
  Eigen::MatrixXd common_;
  Eigen::MatrixXf basis_;
  VertexRange held_;                   // whose trajectories are stored here: the own ones and a few beside them
  Eigen::MatrixXf stored_;             // rows × held, or empty: gathered from the sequence block by block
  std::shared_ptr<PagedMemory> kept_;  // the same in a scratch file; always one of both where the frames are in a file
  std::vector<double> energy_;
  double total_energy_ = 0;         // each |y_v|² as often as v counts
  std::vector<double> importance_;  // V, or empty: all count once
  double left_out_ = 0;
  Adjacency adjacency_;
  std::shared_ptr<device::Passes> device_;
};

/// At most `count` of the vertices (or frames) 0..vertices-1, spread evenly, ascending.
std::vector<Index> spread_vertices(std::size_t vertices, std::size_t count);

}  // namespace sinew::lbs
