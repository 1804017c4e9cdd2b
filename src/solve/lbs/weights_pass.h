#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "math/laplacian.h"
#include "sinew/core/rig.h"
#include "solve/lbs/problem.h"

/// Linear blend skinning as an optimisation state, and the two half-steps every solver of the family is made of.
///
/// The objective is ‖Y − D X‖² with Y the trajectories of a Problem, D = T − T₀ (3F×4B) and x_v = w_v ⊗ (u_v, 1). No
/// half-step touches the frames more than once: a pass over the vertices needs only M = DᵀD and one product DᵀY, and
/// leaves S = X Xᵀ and C = Y Xᵀ, from which the bones follow (docs/algorithms/ssdr.md).
namespace sinew::lbs {

/// Weights while they are being solved for: the positive ones only, at most `capacity` per vertex.
struct SparseWeights {
  SparseWeights() = default;
  SparseWeights(std::size_t vertices, int slots)
      : capacity(slots),
        count(vertices, 0),
        bone(vertices * static_cast<std::size_t>(slots), 0),
        value(vertices * static_cast<std::size_t>(slots), 0) {}

  int capacity = 0;
  std::vector<std::uint16_t> count;  // V
  std::vector<std::uint16_t> bone;   // V×capacity
  std::vector<float> value;          // V×capacity

  std::size_t vertex_count() const { return count.size(); }
  std::size_t slot(std::size_t v) const { return v * static_cast<std::size_t>(capacity); }
};

/// The same weights with another number of slots per vertex (at least the fullest vertex's count).
SparseWeights with_capacity(const SparseWeights& weights, int capacity);

/// What a pass over the vertices needs to know about the bones.
struct BoneGram {
  int bones = 0;
  int padded = 0;                    // bones rounded up to a multiple of 8
  std::vector<double> coefficients;  // B×10×padded: u' M_kj u' as coefficients of xx yy zz xy xz yz x y z 1
  std::vector<double> diagonal;      // 10×padded: those of u' M_jj u'
  Eigen::MatrixXf products;          // rows × 4·padded: D (or Pᵀ D), column c·padded + b
  Eigen::MatrixXd exact_products;    // the same instead, where rows are few
  Eigen::MatrixXd motion;            // D instead of all that, where the problem has a device
};
BoneGram bone_gram(const Problem& problem, const Eigen::MatrixXd& D);

/// D as the problem's rows see it: Pᵀ D where it is reduced.
Eigen::MatrixXf in_rows(const Problem& problem, const Eigen::MatrixXd& D);

/// Exchanges in a row of a thorough search for a support.
inline constexpr int kThoroughSwaps = 6;

/// The monomials that BoneGram's coefficients and packed sums refer to.
inline constexpr int kMonomials = 10;

/// What a pass leaves behind for the bones.
struct WeightSums {
  Eigen::MatrixXd S;            // 4B×4B = Σ x xᵀ
  Eigen::MatrixXd C;            // 3F×4B = Σ y xᵀ
  std::vector<float> residual;  // V: squared distance over the frames for the pass's D
  double squares = 0;           // its sum
  std::uint64_t exchanges = 0;  // how many vertices tried one: for counting work
};

/// Exchanges that did not pay are tried again later, and later still the more often they fail: one entry per vertex.
struct ExchangeWaits {
  static constexpr std::uint8_t kLongest = 8;  // passes

  std::vector<std::uint8_t> passes;  // V or empty (nobody waits): how long a vertex waits after its last failure
  std::vector<std::uint8_t> left;    // V: of them still to come

  bool over(std::size_t v) { return left[v] == 0 || --left[v] == 0; }
  void tried(std::size_t v, bool paid) {
    passes[v] = paid ? 0 : static_cast<std::uint8_t>(std::min<int>(kLongest, 2 * passes[v] + (passes[v] == 0 ? 2 : 0)));
    left[v] = passes[v];
  }
};

/// Smoothness term: strength · F · Σ_edges l_ab |w_a − w_b|², minimised by majorisation so that vertices stay
/// independent within a pass.
struct Smoothing {
  double strength = 0;
  const EdgeWeights* edges = nullptr;  // aligned with the problem's adjacency
};

struct PassOptions {
  int influences = 4;   // most positive weights per vertex
  int swaps = 1;        // exchanges tried per vertex whose slots are full
  int swap_period = 1;  // only vertices with (v + phase) % swap_period == 0 try them
  int phase = 0;
  int thorough_period = 0;         // the same for those that search their support thoroughly; 0: none
  ExchangeWaits* waits = nullptr;  // of all vertices; null: nobody waits
  Smoothing smoothing;
  std::span<const std::uint8_t> locked;  // V or empty: vertices whose weights stay
  bool keep_weights = false;             // only sum up S, C and residuals
  bool shared = true;  // every rank gets the weights and residuals of all vertices, not of its own alone
};

/// Gives every rank the weights of all vertices.
void share_weights(const Problem& problem, SparseWeights& weights);

/// One exact K-sparse simplex problem per vertex [Le2014 §3.7], warm-started, and the sums over the result.
void weights_pass(const Problem& problem, const BoneGram& gram, const PassOptions& options, SparseWeights& weights,
                  WeightSums& sums);

/// Each vertex goes to the bone that follows it best (weight 1). `labels` has one entry per vertex.
void assign_pass(const Problem& problem, const BoneGram& gram, std::vector<Index>& labels, WeightSums& sums);

/// Increase of the objective if bone b were taken away and its vertices made do with the others (B).
std::vector<double> removal_costs(const Problem& problem, const BoneGram& gram, const SparseWeights& weights);

/// Decrease of the objective each candidate motion (3F×4 blocks of D) would bring at least, were it added to the bones:
/// every vertex moves its weights towards the candidate as far as pays. The first `chosen` of them are sure to come:
/// gains of the others count beyond theirs.
std::vector<double> addition_gains(const Problem& problem, const Eigen::MatrixXd& D, const SparseWeights& weights,
                                   const Eigen::MatrixXd& candidates, std::size_t chosen = 0);

/// Σ_edges l |w_a − w_b|².
double roughness(const Problem& problem, const EdgeWeights& edges, const SparseWeights& weights);

/// ‖Y − D X‖² from the sums.
double objective(const Problem& problem, const WeightSums& sums, const Eigen::MatrixXd& D);

}  // namespace sinew::lbs
