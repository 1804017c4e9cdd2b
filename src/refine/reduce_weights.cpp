#include "sinew/refine/reduce_weights.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/index.h"
#include "math/adjacency.h"
#include "math/decompositions.h"
#include "math/parallel.h"
#include "math/simplex.h"
#include "refine/two_layer_metric.h"
#include "sinew/core/error.h"

// Weight reduction. w_v are the weights of vertex v, S_v its chosen bones; L is the uniform Laplacian of the mesh,
// (L x)_v = x_v − mean of its neighbours' x.
namespace sinew {
namespace {

using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXd;

constexpr std::size_t kReductionGrain = 128;
constexpr std::size_t kRound = 64 * kReductionGrain;  // vertices between two looks at the progress callback
constexpr double kReductionRidge = 1e-9;              // of the mean diagonal of a vertex's quadratic form

/// Throws Error{interrupted} when the caller asks to stop.
void go_on(const Progress& progress, std::size_t done, std::size_t all) {
  if (!tell(progress, "reduce", static_cast<double>(done) / static_cast<double>(all)))
    throw Error(ErrorKind::interrupted, "interrupted while weights were reduced");
}

/// One row of V×K weights from bones and values: positive values scaled to sum 1, sorted.
void set_row(SkinWeights& weights, std::size_t v, const std::vector<Index>& bones, const double* values) {
  const auto K = static_cast<std::size_t>(weights.influences);
  std::vector<std::size_t> order(bones.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return values[a] != values[b] ? values[a] > values[b] : bones[a] < bones[b];
  });
  double sum = 0;
  for (std::size_t i = 0; i < bones.size(); ++i) sum += std::max(0.0, values[i]);
  std::fill_n(weights.bones.begin() + static_cast<std::ptrdiff_t>(v * K), K, Index{0});
  std::fill_n(weights.values.begin() + static_cast<std::ptrdiff_t>(v * K), K, 0.0F);
  for (std::size_t i = 0; i < std::min(K, bones.size()); ++i) {
    const auto value = static_cast<float>(values[order[i]] / sum);
    if (!(value > 0)) break;
    weights.bones[v * K + i] = bones[order[i]];
    weights.values[v * K + i] = value;
  }
}

std::vector<Index> row_bones(const SkinWeights& weights, std::size_t v) {
  const auto K = static_cast<std::size_t>(weights.influences);
  std::vector<Index> bones;
  for (std::size_t i = v * K; i < (v + 1) * K; ++i)
    if (weights.values[i] > 0) bones.push_back(weights.bones[i]);
  return bones;
}

SkinWeights keep_largest(const SkinWeights& full, int influences) {
  const auto K = static_cast<std::size_t>(influences);
  const auto slots = static_cast<std::size_t>(full.influences);
  const std::size_t V = full.vertex_count();
  SkinWeights out{influences, std::vector<Index>(V * K, 0), std::vector<float>(V * K, 0.0F)};
  for (std::size_t v = 0; v < V; ++v) {  // rows are sorted
    double sum = 0;
    for (std::size_t k = 0; k < std::min(K, slots); ++k) sum += full.values[v * slots + k];
    for (std::size_t k = 0; k < std::min(K, slots); ++k) {
      const auto value = static_cast<float>(full.values[v * slots + k] / sum);
      if (!(value > 0)) break;
      out.bones[v * K + k] = full.bones[v * slots + k];
      out.values[v * K + k] = value;
    }
  }
  return out;
}

/// Closest point of the simplex, in place.
void project_to_simplex(std::vector<double>& x) {
  std::vector<double> sorted = x;
  std::sort(sorted.rbegin(), sorted.rend());
  double sum = 0;
  double shift = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    sum += sorted[i];
    const double here = (sum - 1) / static_cast<double>(i + 1);
    if (sorted[i] - here > 0) shift = here;
  }
  for (double& value : x) value = std::max(0.0, value - shift);
}

/// State of a Gauss-Seidel descent of |L E|² + attachment |E|², where column v of E belongs to vertex v.
class LaplacianDescent {
 public:
  LaplacianDescent(const Adjacency& adjacency, MatrixXf E, double attachment)
      : adjacency_(adjacency), attachment_(attachment), E_(std::move(E)), R_(E_) {
    for (std::size_t v = 0; v < adjacency_.vertex_count(); ++v)
      for (const Index j : adjacency_[v]) R_.col(index(v)) -= E_.col(j) * inverse_degree(v);
  }

  /// Where column v would go if it were free.
  VectorXd wanted(std::size_t v) const {
    VectorXd gradient = R_.col(index(v)).cast<double>() + attachment_ * E_.col(index(v)).cast<double>();
    double curvature = 1 + attachment_;
    for (const Index u : adjacency_[v]) {
      gradient -= R_.col(u).cast<double>() * inverse_degree(u);
      curvature += inverse_degree(u) * inverse_degree(u);
    }
    return E_.col(index(v)).cast<double>() - gradient / curvature;
  }

  void move(std::size_t v, const VectorXd& to) {
    const Eigen::VectorXf step = to.cast<float>() - E_.col(index(v));
    E_.col(index(v)) += step;
    R_.col(index(v)) += step;
    for (const Index u : adjacency_[v]) R_.col(u) -= step * inverse_degree(u);
  }

 private:
  float inverse_degree(std::size_t v) const { return 1.0F / static_cast<float>(adjacency_[v].size()); }

  const Adjacency& adjacency_;
  double attachment_;
  MatrixXf E_;  // N×V
  MatrixXf R_;  // L E
};

/// smooth: E = W' − W over all bones. In these coordinates the best weights on S_v are the projection of where the
/// vertex wants to go.
void match_weight_laplacian(const Rig& rig, const Adjacency& adjacency, const ReduceOptions& options,
                            SkinWeights& weights, const Progress& progress) {
  const MatrixXf W = unpack_weights(rig.weights, rig.bone_count()).transpose();
  LaplacianDescent descent(adjacency, MatrixXf(unpack_weights(weights, rig.bone_count()).transpose()) - W,
                           options.attachment);
  std::vector<std::vector<Index>> supports(rig.vertex_count());
  for (std::size_t v = 0; v < supports.size(); ++v) supports[v] = row_bones(weights, v);
  std::vector<double> x;
  for (int sweep = 0; sweep < options.sweeps; ++sweep) {
    go_on(progress, static_cast<std::size_t>(sweep), static_cast<std::size_t>(options.sweeps));
    for (std::size_t v = 0; v < supports.size(); ++v) {
      const VectorXd w = W.col(index(v)).cast<double>();
      const VectorXd wanted = w + descent.wanted(v);
      x.clear();
      for (const Index b : supports[v]) x.push_back(wanted[b]);
      project_to_simplex(x);
      VectorXd to = -w;
      for (std::size_t k = 0; k < x.size(); ++k) to[supports[v][k]] += x[k];
      descent.move(v, to);
      if (sweep + 1 == options.sweeps) set_row(weights, v, supports[v], x.data());
    }
  }
}

/// Bones of v to keep: from the optimum on the plane Σ x = 1 the bone whose removal costs least goes, one at a time.
std::vector<Index> best_bones(const MatrixXd& Q, std::vector<Index> bones, std::size_t wanted) {
  const auto n = index(bones.size());
  MatrixXd H = Q(bones, bones);
  H.diagonal().array() += kReductionRidge * H.trace() / static_cast<double>(n) + 1e-300;
  MatrixXd P = Cholesky(H).inverse();
  const VectorXd shift = P.rowwise().sum();
  VectorXd d = shift / shift.sum();
  P -= shift * shift.transpose() / shift.sum();
  std::vector<char> gone(bones.size(), 0);
  for (std::size_t left = bones.size(); left > wanted; --left) {
    Eigen::Index cheapest = -1;
    double cost = HUGE_VAL;
    for (Eigen::Index b = 0; b < n; ++b) {
      if (gone[static_cast<std::size_t>(b)] != 0) continue;
      // A bone with a negative share would not survive the constraint x >= 0: it goes first.
      const double here = d[b] <= 0 ? d[b] : d[b] * d[b] / std::max(P(b, b), 1e-300);
      if (cheapest >= 0 && !(here < cost)) continue;
      cheapest = b;
      cost = here;
    }
    gone[static_cast<std::size_t>(cheapest)] = 1;
    const VectorXd column = P.col(cheapest);
    if (column[cheapest] > 0) {
      d -= column * (d[cheapest] / column[cheapest]);
      P -= column * column.transpose() / column[cheapest];
    }
    P.col(cheapest).setZero();
    P.row(cheapest).setZero();
  }
  std::vector<Index> kept;
  for (std::size_t i = 0; i < bones.size(); ++i)
    if (gone[i] == 0) kept.push_back(bones[i]);
  return kept;
}

/// Optimal convex weights of the given bones for xᵀ Q x. Returns the error.
double fit_convex(const MatrixXd& Q, const std::vector<Index>& bones, VectorXd& x, SimplexWorkspace& workspace) {
  const MatrixXd G = Q(bones, bones);
  x = VectorXd::Ones(G.rows());
  return simplex_least_squares(G, VectorXd::Zero(G.rows()), x, workspace);
}

/// geometry: of the bones chosen by cost and the largest ones, those that fit better.
SkinWeights fit_examples(const Rig& rig, const Sequence& examples, const ReduceOptions& options,
                         const Progress& progress) {
  SkinWeights out = keep_largest(rig.weights, options.influences);
  const MatrixXf W = unpack_weights(rig.weights, rig.bone_count()).transpose();
  const two_layer::ExampleMetric metric(rig, examples, 1.0, W, options.threads);
  const auto K = static_cast<std::size_t>(options.influences);
  const auto fit = [&](std::size_t begin, std::size_t end) {
    MatrixXd Q;
    VectorXd x;
    VectorXd y;
    SimplexWorkspace workspace;
    for (std::size_t v = begin; v < end; ++v) {
      metric.form(v, Q);
      std::vector<Index> all;
      for (Eigen::Index b = 0; b < W.rows(); ++b)
        if (metric.targets()(b, index(v)) > 0) all.push_back(static_cast<Index>(b));
      if (all.empty()) continue;  // the examples say nothing that double precision can tell: the largest stay
      const std::vector<Index> chosen = all.size() > K ? best_bones(Q, all, K) : all;
      const std::vector<Index> largest = row_bones(out, v);
      const double by_cost = fit_convex(Q, chosen, x, workspace);
      if (fit_convex(Q, largest, y, workspace) < by_cost)
        set_row(out, v, largest, y.data());
      else
        set_row(out, v, chosen, x.data());
    }
  };
  for (std::size_t first = 0; first < rig.vertex_count(); first += kRound) {
    go_on(progress, first, rig.vertex_count());
    parallel_for(std::min(kRound, rig.vertex_count() - first), kReductionGrain, options.threads,
                 [&](std::size_t begin, std::size_t end) { fit(first + begin, first + end); });
  }
  return out;
}

/// poisson: E = posed − examples over all frames; the weights on S_v that come closest to where the vertex wants to go.
void match_pose_laplacian(const Rig& rig, const Sequence& examples, const Adjacency& adjacency,
                          const ReduceOptions& options, SkinWeights& weights, const Progress& progress) {
  const auto F = index(rig.frame_count());
  const auto V = index(rig.vertex_count());
  const auto example = [&](Eigen::Index f, Eigen::Index v) {
    return Eigen::Vector3f(examples.frames[static_cast<std::size_t>(f)].col(v));
  };
  const auto moved = [&](Eigen::Index v, const std::vector<Index>& bones) {  // 3F×K, relative to the examples
    MatrixXd M(3 * F, index(bones.size()));
    const Eigen::Vector4f p = rig.rest.positions.col(v).homogeneous();
    for (std::size_t k = 0; k < bones.size(); ++k)
      for (Eigen::Index f = 0; f < F; ++f)
        M.block<3, 1>(3 * f, index(k)) =
            (rig.motion(static_cast<std::size_t>(f), bones[k]) * p - example(f, v)).cast<double>();
    return M;
  };
  std::vector<std::vector<Index>> supports(rig.vertex_count());
  MatrixXf E(3 * F, V);
  const auto K = static_cast<std::size_t>(weights.influences);
  for (Eigen::Index v = 0; v < V; ++v) {
    const auto i = static_cast<std::size_t>(v);
    supports[i] = row_bones(weights, i);
    const Eigen::Map<const Eigen::VectorXf> w(weights.values.data() + i * K, index(supports[i].size()));
    E.col(v) = (moved(v, supports[i]) * w.cast<double>()).cast<float>();
  }
  LaplacianDescent descent(adjacency, std::move(E), options.attachment);
  SimplexWorkspace workspace;
  for (int sweep = 0; sweep < options.sweeps; ++sweep) {
    go_on(progress, static_cast<std::size_t>(sweep), static_cast<std::size_t>(options.sweeps));
    for (std::size_t v = 0; v < supports.size(); ++v) {
      const MatrixXd M = moved(index(v), supports[v]);
      VectorXd x(M.cols());
      for (Eigen::Index k = 0; k < x.size(); ++k)
        x[k] = std::max(1e-6F, weights.values[v * K + static_cast<std::size_t>(k)]);
      simplex_least_squares(M.transpose() * M, M.transpose() * descent.wanted(v), x, workspace);
      descent.move(v, M * x);
      if (sweep + 1 == options.sweeps) set_row(weights, v, supports[v], x.data());
    }
  }
}

/// The examples less what the rig's corrections add to its frames: the reduced rig is played with the same corrections,
/// so weights that aim at them would count them twice.
Sequence without_corrections(const Rig& rig, const Sequence& examples) {
  Rig plain = rig;
  plain.corrections.reset();
  Sequence out = examples;
  Points with(3, index(rig.vertex_count()));
  Points without(3, index(rig.vertex_count()));
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    pose(rig, f, with);
    pose(plain, f, without);
    out.frames[f] = examples.frames[f] - (with - without);
  }
  return out;
}

}  // namespace

ReduceMethod reduce_method(std::string_view name) {
  if (name == "largest") return ReduceMethod::largest;
  if (name == "smooth") return ReduceMethod::smooth;
  if (name == "geometry") return ReduceMethod::geometry;
  if (name == "poisson") return ReduceMethod::poisson;
  throw Error(ErrorKind::usage,
              fmt::format("reduce: method '{}', expected largest, smooth, geometry or poisson", name));
}

SkinWeights reduce_weights(const Rig& rig, const Sequence* examples, const ReduceOptions& options,
                           const Progress& progress) {
  if (options.influences < 1)
    throw Error(ErrorKind::usage, fmt::format("reduce: {} influences, expected at least 1", options.influences));
  if (examples != nullptr &&
      (examples->vertex_count() != rig.vertex_count() || examples->frame_count() != rig.frame_count()))
    throw Error(ErrorKind::input,
                fmt::format("reduce: examples of {} vertices in {} frames, the rig has {} in {}",
                            examples->vertex_count(), examples->frame_count(), rig.vertex_count(), rig.frame_count()));
  const bool by_examples = options.method == ReduceMethod::geometry || options.method == ReduceMethod::poisson;
  Sequence posed;
  if (by_examples && examples == nullptr) {
    Rig one_layer = rig;
    one_layer.two_layer.reset();
    one_layer.corrections.reset();
    posed = pose_all(one_layer);
    examples = &posed;
  } else if (by_examples && rig.corrections) {
    posed = without_corrections(rig, *examples);
    examples = &posed;
  }
  SkinWeights weights =
      by_examples ? fit_examples(rig, *examples, options, progress) : keep_largest(rig.weights, options.influences);
  if (options.method == ReduceMethod::largest || options.method == ReduceMethod::geometry) return weights;
  const Adjacency adjacency = mesh_adjacency(rig.rest);
  if (options.method == ReduceMethod::smooth)
    match_weight_laplacian(rig, adjacency, options, weights, progress);
  else
    match_pose_laplacian(rig, *examples, adjacency, options, weights, progress);
  return weights;
}

}  // namespace sinew
