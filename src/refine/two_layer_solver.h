#pragma once

#include <span>
#include <utility>
#include <vector>

#include "math/adjacency.h"
#include "refine/two_layer_metric.h"
#include "sinew/core/progress.h"
#include "sinew/refine/two_layer.h"

namespace sinew::two_layer {

inline constexpr std::size_t kMaxCandidates = 32;  // atoms looked at for one vertex
inline constexpr int kMaxSlots = 4;                // virtual bones per vertex

/// The q atoms of one vertex and their coefficients, which sum to 1.
struct Code {
  Index atoms[kMaxSlots] = {};
  double values[kMaxSlots] = {1};
  int count = 1;
};

/// The factorisation in progress.
struct State {
  MatrixXd D;                 // B×M, each column sums to 1
  std::vector<Code> codes;    // V
  std::vector<double> error;  // V, f_v(D α_v)
  int slots = 2;              // q
  std::size_t masters = 0;    // c

  std::size_t atoms() const { return static_cast<std::size_t>(D.cols()); }
};

/// The best code over the atoms whose Gram matrix is K (P×P): every pair, then one more atom at a time while that helps
/// and there are slots. Positions in the code refer to K. Returns f. `error` is what is known already: only something
/// better is returned.
double best_code(const Eigen::Ref<const MatrixXd>& K, int slots, double error, Code& code);

/// Keeps the `masters` entries of largest magnitude and makes the sum 1 again.
void sparsify(Eigen::Ref<VectorXd> atom, std::size_t masters);

/// Vertices that use each atom, in compressed rows.
struct Users {
  std::vector<std::size_t> starts;                // M + 1
  std::vector<std::pair<Index, double>> entries;  // vertex, coefficient

  std::span<const std::pair<Index, double>> operator[](std::size_t atom) const {
    return {entries.data() + starts[atom], starts[atom + 1] - starts[atom]};
  }
};
Users users_of(const State& state);

/// One pass over the atoms: each is set to its optimum with everything else fixed [eq. 5].
void update_dictionary(const WeightMetric& metric, State& state);
void update_dictionary(const ExampleMetric& metric, State& state);

/// Σ f.
double total(const State& state);

/// What stops the growth, in terms of Σ f.
struct Limits {
  std::size_t atoms = 0;   // Σ
  double max_error = 0;    // ε; 0: none
  double per_total = 0;    // Δ² = (Σ f − lower bounds) · per_total
  double bound_total = 0;  // Σ of the lower bounds
};

/// The error that Σ f stands for.
double delta(const Limits& limits, double sum);

/// One pass over all vertices. Chunks see each other's codes as they were before the pass, so that the result does not
/// depend on the threads.
template <class Metric>
void update_coefficients(const Metric& metric, const Adjacency& adjacency, State& state, int threads);

/// Adds targets of the worst vertices as atoms until there are `wanted` or nothing is left to improve (line 4 to 8).
template <class Metric>
void add_atoms(const Metric& metric, const Adjacency& adjacency, std::size_t wanted, State& state);

/// Takes out the unused atoms and the `wanted` that are worth least, never two that share a vertex: their users fall
/// back on what is near.
template <class Metric>
void remove_atoms(const Metric& metric, const Adjacency& adjacency, std::size_t wanted, State& state, int threads);

/// Algorithm 1.
template <class Metric>
State factorise(const Metric& metric, const Adjacency& adjacency, const TwoLayerOptions& options, std::size_t masters,
                const Limits& limits, TwoLayerReport& report, const Progress& progress);

/// Numbers the atoms in the order in which the vertices use them, so that neighbours in memory share them; atoms
/// without users go, or come last.
void renumber(State& state, bool keep_unused);

/// The affine motion that suits the present factorisation best: one least-squares problem over all bones.
void refit_motion(const State& state, const Sequence& examples, double scale, int threads, Rig& rig);

}  // namespace sinew::two_layer
