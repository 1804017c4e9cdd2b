#include "solve/lbs/weights_pass.h"
#include "core/index.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "math/gemm.h"
#include "math/parallel.h"
#include "solve/lbs/on_device.h"
#include "solve/lbs/vertex_weight_solver.h"
#include "solve/lbs/weight_sums.h"

namespace sinew::lbs {
namespace {

constexpr std::size_t kChunk = kPartStep;  // vertices whose trajectories and products stay in cache together
/// With few rows, as in sets of poses, rounding of single-precision products does not average out: it would outweigh
/// what late iterations gain. Up to this many rows Q is formed in double as well.
constexpr std::size_t kExactRows = 64;

/// Runs body(begin, end, part) over the parts of this rank's vertices, and returns what it made of them, in order.
template <class Part, class Body>
std::vector<Part> over_parts(const Problem& problem, const Part& empty, const Body& body) {
  const VertexRange own = problem.own();
  const std::size_t step = part_size(problem.vertex_count());
  std::vector<Part> parts((own.count() + step - 1) / step, empty);
  parallel_for(own.count(), step, problem.threads(), [&](std::size_t begin, std::size_t end) {
    body(own.first + begin, own.first + end, parts[begin / step]);
  });
  return parts;
}

/// Scratch of one thread while it works through a part.
struct Scratch {
  std::vector<float> trajectories;
  std::vector<float> products;
  std::vector<double> exact_trajectories;
  std::vector<double> exact_products;
  std::vector<double> pull;
};

/// Products Dᵀ Y of a chunk by one call of BLAS.
template <class Scalar>
const Scalar* chunk_products(const Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>& D, const Scalar* y,
                             std::size_t count, std::vector<Scalar>& products) {
  const auto rows = static_cast<int>(D.rows());
  const auto columns = static_cast<int>(D.cols());
  products.resize(static_cast<std::size_t>(columns) * kChunk);
  gemm_block(Op::transpose, Op::none, columns, static_cast<int>(count), rows, Scalar{1}, D.data(), rows, y, rows,
             Scalar{0}, products.data(), columns);
  return products.data();
}

/// Runs visit(v, y, products) over a part, chunk by chunk; after() follows each.
template <class Visit, class After>
void for_each_vertex(const Problem& problem, const BoneGram& gram, std::size_t begin, std::size_t end, Scratch& scratch,
                     const Visit& visit, const After& after) {
  const std::size_t rows = problem.row_count();
  const std::size_t columns = 4 * static_cast<std::size_t>(gram.padded);
  for (std::size_t first = begin; first < end; first += kChunk) {
    const std::size_t count = std::min(kChunk, end - first);
    const float* y = problem.block(first, count, scratch.trajectories);
    if (gram.exact_products.size() != 0) {
      scratch.exact_trajectories.assign(y, y + count * rows);
      const double* products =
          chunk_products(gram.exact_products, scratch.exact_trajectories.data(), count, scratch.exact_products);
      for (std::size_t i = 0; i < count; ++i) visit(first + i, y + i * rows, products + i * columns);
    } else {
      const float* products = chunk_products(gram.products, y, count, scratch.products);
      for (std::size_t i = 0; i < count; ++i) visit(first + i, y + i * rows, products + i * columns);
    }
    after();
  }
}

/// Sums of what visit(solver, sums) adds for every vertex, the solver holding the vertex with its present weights.
template <class Visit>
std::vector<double> sum_over_vertices(const Problem& problem, const BoneGram& gram, const SparseWeights& weights,
                                      std::size_t size, const Visit& visit) {
  const std::vector<double> zeros(size, 0);
  const auto parts = over_parts(problem, zeros, [&](std::size_t begin, std::size_t end, std::vector<double>& part) {
    VertexWeightSolver solver(gram, weights.capacity);
    Scratch scratch;
    const auto visit_vertex = [&](std::size_t v, const float*, const auto* products) {
      solver.load(problem.rest().col(index(v)), products);
      solver.set_support(weights.bone.data() + weights.slot(v), weights.value.data() + weights.slot(v),
                         weights.count[v]);
      visit(solver, part);
    };
    for_each_vertex(problem, gram, begin, end, scratch, visit_vertex, [] {});
  });
  std::vector<double> sums = zeros;
  problem.ranks().take(sums);
  for (const auto& part : parts) {
    for (std::size_t i = 0; i < size; ++i) sums[i] += part[i];
  }
  problem.ranks().hand_on(sums);
  problem.ranks().total(sums);
  return sums;
}

double squared_difference(const SparseWeights& w, std::size_t a, std::size_t b) {
  double sum = 0;
  for (std::size_t k = 0; k < w.count[a]; ++k) {
    const double own = w.value[w.slot(a) + k];
    double other = 0;
    for (std::size_t i = 0; i < w.count[b]; ++i) {
      if (w.bone[w.slot(b) + i] == w.bone[w.slot(a) + k]) other = w.value[w.slot(b) + i];
    }
    sum += own * own - 2 * own * other;
  }
  for (std::size_t i = 0; i < w.count[b]; ++i)
    sum += static_cast<double>(w.value[w.slot(b) + i]) * w.value[w.slot(b) + i];
  return sum;
}

/// What the smoothness term adds for vertex v: each edge l |w_v − w_k|² is majorised at the weights before the pass by
/// 2 l |w_v − (w_v⁰ + w_k⁰)/2|² + the same for k. Returns the ridge and fills the pull.
double smoothing_terms(const Problem& problem, const Smoothing& smoothing, const SparseWeights& before, std::size_t v,
                       std::vector<double>& pull) {
  const Adjacency& adjacency = problem.adjacency();
  const double strength = smoothing.strength * static_cast<double>(problem.frame_count());
  std::fill(pull.begin(), pull.end(), 0.0);
  double sum = 0;
  for (std::size_t e = adjacency.starts[v]; e < adjacency.starts[v + 1]; ++e) {
    const double l = smoothing.edges->values[e];
    const std::size_t w = adjacency.neighbors[e];
    sum += l;
    for (std::size_t k = 0; k < before.count[w]; ++k)
      pull[before.bone[before.slot(w) + k]] += l * before.value[before.slot(w) + k];
  }
  for (std::size_t k = 0; k < before.count[v]; ++k)
    pull[before.bone[before.slot(v) + k]] += sum * before.value[before.slot(v) + k];
  for (double& p : pull) p *= strength;
  return 2 * strength * sum;
}

template <class Matrix>
Matrix reduced_rows(const Problem& problem, const Matrix& basis, Matrix D) {
  if (!problem.reduced()) return D;
  Matrix reduced(index(problem.row_count()), D.cols());
  using Scalar = typename Matrix::Scalar;
  gemm(Op::transpose, Op::none, Scalar{1}, basis, D, Scalar{0}, reduced, problem.threads());
  return reduced;
}

/// What this processor's passes need to know about the bones.
BoneGram gram_here(const Problem& problem, const Eigen::MatrixXd& D) {
  BoneGram gram;
  gram.bones = static_cast<int>(D.cols() / 4);
  gram.padded = (gram.bones + 7) / 8 * 8;
  const auto B = static_cast<std::size_t>(gram.bones);
  const auto padded = static_cast<std::size_t>(gram.padded);
  Eigen::MatrixXd M(D.cols(), D.cols());
  gemm(Op::transpose, Op::none, 1.0, D, D, 0.0, M, problem.threads());
  gram.coefficients.assign(B * kMonomials * padded, 0);
  for (std::size_t k = 0; k < B; ++k) {
    double* c = gram.coefficients.data() + k * kMonomials * padded;
    for (std::size_t j = 0; j < B; ++j, ++c) {
      const auto m = M.block<4, 4>(index(4 * k), index(4 * j));
      const double values[kMonomials] = {
          m(0, 0),           m(1, 1),           m(2, 2),           m(0, 1) + m(1, 0), m(0, 2) + m(2, 0),
          m(1, 2) + m(2, 1), m(0, 3) + m(3, 0), m(1, 3) + m(3, 1), m(2, 3) + m(3, 2), m(3, 3)};
      for (std::size_t i = 0; i < kMonomials; ++i) c[i * padded] = values[i];
    }
  }
  gram.diagonal.assign(kMonomials * padded, 0);
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t m = 0; m < kMonomials; ++m) {
      gram.diagonal[m * padded + b] = gram.coefficients[(b * kMonomials + m) * padded + b];
    }
  }
  Eigen::MatrixXd by_component = Eigen::MatrixXd::Zero(D.rows(), 4 * gram.padded);
  for (int b = 0; b < gram.bones; ++b) {
    for (int c = 0; c < 4; ++c) by_component.col(c * gram.padded + b) = D.col(4 * b + c);
  }
  if (problem.row_count() <= kExactRows) {
    gram.exact_products =
        reduced_rows<Eigen::MatrixXd>(problem, problem.basis().cast<double>(), std::move(by_component));
  } else {
    gram.products = reduced_rows<Eigen::MatrixXf>(problem, problem.basis(), by_component.cast<float>());
  }
  return gram;
}

}  // namespace

Eigen::MatrixXf in_rows(const Problem& problem, const Eigen::MatrixXd& D) {
  return reduced_rows<Eigen::MatrixXf>(problem, problem.basis(), D.cast<float>());
}

SparseWeights with_capacity(const SparseWeights& weights, int capacity) {
  SparseWeights result(weights.vertex_count(), capacity);
  result.count = weights.count;
  for (std::size_t v = 0; v < weights.vertex_count(); ++v) {
    for (std::size_t k = 0; k < weights.count[v]; ++k) {
      result.bone[result.slot(v) + k] = weights.bone[weights.slot(v) + k];
      result.value[result.slot(v) + k] = weights.value[weights.slot(v) + k];
    }
  }
  return result;
}

BoneGram bone_gram(const Problem& problem, const Eigen::MatrixXd& D) {
  if (problem.device() == nullptr) return gram_here(problem, D);
  BoneGram gram;
  gram.bones = static_cast<int>(D.cols() / 4);
  gram.motion = D;
  return gram;
}

void share_weights(const Problem& problem, SparseWeights& weights) {
  const auto slots = static_cast<std::size_t>(weights.capacity);
  problem.ranks().share(weights.count.data(), 1, weights.vertex_count());
  problem.ranks().share(weights.bone.data(), slots, weights.vertex_count());
  problem.ranks().share(weights.value.data(), slots, weights.vertex_count());
}

void weights_pass(const Problem& problem, const BoneGram& given, const PassOptions& options, SparseWeights& weights,
                  WeightSums& sums) {
  const bool on_device = given.motion.size() != 0;
  if (on_device && !(options.smoothing.strength > 0))
    return weights_pass_on_device(problem, given, options, weights, sums);
  const BoneGram made = on_device ? gram_here(problem, given.motion) : BoneGram{};
  const BoneGram& gram = on_device ? made : given;
  sums.residual.resize(problem.vertex_count());
  const bool smoothing = options.smoothing.strength > 0;
  const SparseWeights before = smoothing ? weights : SparseWeights{};
  const auto parts = over_parts(problem, SumsPart(), [&](std::size_t begin, std::size_t end, SumsPart& part) {
    SumBuilder builder(problem.row_count(), gram.bones, part);
    VertexWeightSolver solver(gram, options.influences);
    Scratch scratch;
    scratch.pull.resize(static_cast<std::size_t>(gram.padded));
    std::vector<int> bones(static_cast<std::size_t>(gram.bones) + 1);
    std::vector<double> values(bones.size());
    const auto visit = [&](std::size_t v, const float* y, const auto* products) {
      const Eigen::Vector3d u = problem.rest().col(index(v));
      double ridge = 0;
      if (smoothing) ridge = smoothing_terms(problem, options.smoothing, before, v, scratch.pull);
      const bool locked = options.keep_weights || (!options.locked.empty() && options.locked[v] != 0);
      const bool plain = !smoothing || locked;
      solver.load(u, products, plain ? 0 : ridge, plain ? nullptr : scratch.pull.data());
      solver.set_support(weights.bone.data() + weights.slot(v), weights.value.data() + weights.slot(v),
                         weights.count[v]);
      const auto in_turn = [&](int period) {
        return period > 0 && (v + static_cast<std::size_t>(options.phase)) % static_cast<std::size_t>(period) == 0;
      };
      if (!locked && in_turn(options.thorough_period)) {
        solver.improve_thoroughly(kThoroughSwaps);
        part.exchanges += kThoroughSwaps;
      } else if (!locked) {
        const bool tries = in_turn(options.swap_period) && (options.waits == nullptr || options.waits->over(v));
        solver.improve(tries ? options.swaps : 0);
        part.exchanges += tries ? 1 : 0;
        if (tries && options.waits != nullptr) options.waits->tried(v, solver.exchanged());
      }
      // Rounded to the floats that are kept, so that sums and weights agree.
      const int count = solver.count();
      for (int k = 0; k < count; ++k) {
        bones[static_cast<std::size_t>(k)] = solver.bone(k);
        const float rounded = static_cast<float>(solver.weight(k));
        values[static_cast<std::size_t>(k)] = rounded;
        weights.bone[weights.slot(v) + static_cast<std::size_t>(k)] = static_cast<std::uint16_t>(solver.bone(k));
        weights.value[weights.slot(v) + static_cast<std::size_t>(k)] = rounded;
      }
      weights.count[v] = static_cast<std::uint16_t>(count);
      const double squares = problem.energy()[v] + solver.data_objective();
      const double importance = problem.importance(v);
      sums.residual[v] = static_cast<float>(std::max(0.0, squares));
      part.squares += importance * squares;
      builder.add(y, u, solver.monomials(), bones.data(), values.data(), count, importance);
    };
    for_each_vertex(problem, gram, begin, end, scratch, visit, [&] { builder.flush(); });
  });
  join_parts(problem, gram.bones, parts, sums);
  if (!options.shared) return;
  if (!options.keep_weights) share_weights(problem, weights);
  problem.ranks().share(sums.residual.data(), 1, problem.vertex_count());
}

void assign_pass(const Problem& problem, const BoneGram& gram, std::vector<Index>& labels, WeightSums& sums) {
  if (gram.motion.size() != 0) return assign_pass_on_device(problem, gram, labels, sums);
  const auto padded = static_cast<std::size_t>(gram.padded);
  sums.residual.resize(problem.vertex_count());
  labels.resize(problem.vertex_count());
  const auto parts = over_parts(problem, SumsPart(), [&](std::size_t begin, std::size_t end, SumsPart& part) {
    SumBuilder builder(problem.row_count(), gram.bones, part);
    Scratch scratch;
    std::vector<double> cost(padded);
    const auto visit = [&](std::size_t v, const float* y, const auto* q) {
      const Eigen::Vector3d u = problem.rest().col(index(v));
      const double monomials[kMonomials] = {u[0] * u[0], u[1] * u[1], u[2] * u[2], u[0] * u[1], u[0] * u[2],
                                            u[1] * u[2], u[0],        u[1],        u[2],        1};
      for (std::size_t b = 0; b < padded; ++b) {
        cost[b] = -2 * (u[0] * q[b] + u[1] * q[padded + b] + u[2] * q[2 * padded + b] + q[3 * padded + b]);
      }
      for (std::size_t m = 0; m < kMonomials; ++m) {
        for (std::size_t b = 0; b < padded; ++b) cost[b] += monomials[m] * gram.diagonal[m * padded + b];
      }
      const int best = static_cast<int>(std::min_element(cost.begin(), cost.begin() + gram.bones) - cost.begin());
      labels[v] = static_cast<Index>(best);
      const double squares = problem.energy()[v] + cost[static_cast<std::size_t>(best)];
      sums.residual[v] = static_cast<float>(std::max(0.0, squares));
      part.squares += squares;
      const double one = 1;
      builder.add(y, u, monomials, &best, &one, 1);
    };
    for_each_vertex(problem, gram, begin, end, scratch, visit, [&] { builder.flush(); });
  });
  join_parts(problem, gram.bones, parts, sums);
  problem.ranks().share(labels.data(), 1, problem.vertex_count());
  problem.ranks().share(sums.residual.data(), 1, problem.vertex_count());
}

std::vector<double> removal_costs(const Problem& problem, const BoneGram& gram, const SparseWeights& weights) {
  if (gram.motion.size() != 0) return removal_costs_on_device(problem, gram, weights);
  const auto B = static_cast<std::size_t>(gram.bones);
  return sum_over_vertices(problem, gram, weights, B, [](VertexWeightSolver& solver, std::vector<double>& costs) {
    const double now = solver.improve(0);
    for (int k = 0; k < solver.count(); ++k) {
      costs[static_cast<std::size_t>(solver.bone(k))] += std::max(0.0, solver.objective_without(k) - now);
    }
  });
}

std::vector<double> addition_gains(const Problem& problem, const Eigen::MatrixXd& D, const SparseWeights& weights,
                                   const Eigen::MatrixXd& candidates, std::size_t chosen) {
  Eigen::MatrixXd joined(D.rows(), D.cols() + candidates.cols());
  joined << D, candidates;
  const auto B = static_cast<int>(D.cols() / 4);
  const auto added = static_cast<std::size_t>(candidates.cols() / 4);
  const auto visit = [&](VertexWeightSolver& solver, std::vector<double>& gains) {
    double sure = 0;
    for (std::size_t c = 0; c < added; ++c) {
      const double gain = solver.gain_towards(B + static_cast<int>(c));
      if (c < chosen) {
        sure = std::max(sure, gain);
      } else {
        gains[c] += std::max(0.0, gain - sure);
      }
    }
  };
  return sum_over_vertices(problem, gram_here(problem, joined), weights, added, visit);
}

double roughness(const Problem& problem, const EdgeWeights& edges, const SparseWeights& w) {
  const Adjacency& adjacency = problem.adjacency();
  const auto partial = [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t v = begin; v < end; ++v) {
      for (std::size_t e = adjacency.starts[v]; e < adjacency.starts[v + 1]; ++e) {
        if (adjacency.neighbors[e] > v) sum += edges.values[e] * squared_difference(w, v, adjacency.neighbors[e]);
      }
    }
    return sum;
  };
  return parallel_reduce(w.vertex_count(), 1024, problem.threads(), 0.0, partial, std::plus<>());
}

double objective(const Problem& problem, const WeightSums& sums, const Eigen::MatrixXd& D) {
  Eigen::MatrixXd DS(D.rows(), D.cols());
  gemm(Op::none, Op::none, 1.0, D, sums.S, 0.0, DS, problem.threads());
  return problem.total_energy() + (D.array() * (DS - 2 * sums.C).array()).sum();
}

}  // namespace sinew::lbs
