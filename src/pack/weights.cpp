#include "pack/weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/index.h"
#include "math/adjacency.h"
#include "math/decompositions.h"
#include "math/parallel.h"
#include "sinew/core/bounds.h"

// With a_b(f) the place of a vertex in frame f if bone b alone moved it, and y(f) where it is to be, a row of weights
// that sums to 1 misses by sum_f |sum_b w_b (a_b - y)|² = wᵀ G w.
namespace sinew::pack {
namespace {

constexpr std::size_t kGrain = 256;   // vertices
constexpr int kReach = 4;             // of whole numbers, around those that rounding gives
constexpr double kRestChange = 1e-3;  // of the diagonal, and
constexpr double kOfEdges = 0.5;      // of a vertex's shortest edge: it can still be told by its place
constexpr double kRestPull = 0.02;    // towards the rest pose as it was, as a share of the frames

/// One vertex while its row is rounded.
struct Row {
  std::vector<Index> bones;
  std::vector<double> weights;
  Eigen::MatrixXd G;  // mean over the frames
};

Eigen::Vector3d rest_point(const Rig& rig, std::size_t frame, std::size_t v) {
  Eigen::Vector3d p = rig.rest.positions.col(index(v)).cast<double>();
  if (!rig.corrections) return p;
  for (std::size_t r = 0; r < rig.corrections->rank(); ++r)
    p += static_cast<double>(rig.corrections->coefficients(index(frame), index(r))) *
         rig.corrections->offsets[r].col(index(v)).cast<double>();
  return p;
}

Row row_of(const Rig& rig, const FitFrames& fit, std::size_t v) {
  const auto slots = static_cast<std::size_t>(rig.weights.influences);
  Row row;
  for (std::size_t k = v * slots; k < (v + 1) * slots; ++k) {
    if (!(rig.weights.values[k] > 0)) continue;
    row.bones.push_back(rig.weights.bones[k]);
    row.weights.push_back(static_cast<double>(rig.weights.values[k]));
  }
  const auto n = index(row.bones.size());
  row.G = Eigen::MatrixXd::Zero(n, n);
  Eigen::Matrix3Xd away(3, n);
  Eigen::MatrixX3d C = Eigen::MatrixX3d::Zero(n, 3);
  Eigen::Matrix3d N = kRestPull * static_cast<double>(fit.frames.size()) * Eigen::Matrix3d::Identity();
  for (std::size_t i = 0; i < fit.frames.size(); ++i) {
    const Eigen::Vector3d p = rest_point(rig, fit.frames[i], v);
    Eigen::Matrix3d A = Eigen::Matrix3d::Zero();
    for (Eigen::Index k = 0; k < n; ++k) {
      const Affine& T = rig.motion(fit.frames[i], row.bones[static_cast<std::size_t>(k)]);
      A += row.weights[static_cast<std::size_t>(k)] * T.leftCols<3>().cast<double>();
      away.col(k) =
          T.leftCols<3>().cast<double>() * p + T.col(3).cast<double>() - fit.posed[i].col(index(v)).cast<double>();
    }
    row.G += away.transpose() * away;
    C += away.transpose() * A;
    N += A.transpose() * A;
  }
  if (fit.frames.empty()) return row;
  row.G -= C * solve_symmetric(N, Eigen::Matrix3Xd(C.transpose()));
  row.G /= static_cast<double>(fit.frames.size());
  return row;
}

double miss(const Eigen::MatrixXd& G, const Eigen::VectorXd& w) {
  return w.dot(G * w);
}

/// The best whole numbers around q: every row of up to four influences is tried.
void search_around(const Eigen::MatrixXd& G, Eigen::VectorXi& q) {
  const auto n = static_cast<int>(q.size());
  if (n < 3 || n > 4) return;
  const Eigen::VectorXi middle = q;
  double best = miss(G, q.cast<double>());
  Eigen::Vector4d w = Eigen::Vector4d::Zero();
  Eigen::Matrix4d G4 = Eigen::Matrix4d::Zero();
  G4.topLeftCorner(n, n) = G;
  const int deep = n == 4 ? kReach : 0;
  for (int a = -kReach; a <= kReach; ++a)
    for (int b = -kReach; b <= kReach; ++b)
      for (int c = -deep; c <= deep; ++c) {
        const Eigen::Vector4i change(a, b, n == 4 ? c : -a - b, n == 4 ? -a - b - c : 0);
        for (int k = 0; k < n; ++k) w[k] = middle[k] + change[k];
        if (w.minCoeff() < 0) continue;
        const double missed = w.dot(G4 * w);
        if (missed >= best) continue;
        best = missed;
        q = middle + change.head(n);
      }
}

/// Whole numbers near w that sum to `one`: rounded down, the largest has the rest, then moved one by one between
/// influences while that helps.
Eigen::VectorXi whole_numbers(const Eigen::MatrixXd& G, const Eigen::VectorXd& w, int one) {
  const Eigen::Index n = w.size();
  Eigen::VectorXi q(n);
  for (Eigen::Index k = 0; k < n; ++k) q[k] = static_cast<int>(std::floor(std::max(0.0, w[k]) * one));
  Eigen::Index largest = 0;
  w.maxCoeff(&largest);
  q[largest] += one - q.sum();
  for (int round = 0; round < 64; ++round) {
    const Eigen::VectorXd slope = G * q.cast<double>();
    double best = -1e-12 * (1 + std::abs(slope.dot(q.cast<double>())));
    Eigen::Index up = -1;
    Eigen::Index down = -1;
    for (Eigen::Index i = 0; i < n; ++i)
      for (Eigen::Index j = 0; j < n; ++j) {
        if (i == j || q[j] == 0) continue;
        const double change = 2 * (slope[i] - slope[j]) + G(i, i) + G(j, j) - 2 * G(i, j);
        if (change < best) {
          best = change;
          up = i;
          down = j;
        }
      }
    if (up < 0) break;
    ++q[up];
    --q[down];
  }
  search_around(G, q);
  return q;
}

/// The weights of these influences, in sum 1, that miss least; none negative.
Eigen::VectorXd best_weights(const Eigen::MatrixXd& G, const Eigen::VectorXd& before) {
  const Eigen::Index n = before.size();
  const double ridge = 1e-6 * G.trace() + 1e-30;
  Eigen::MatrixXd A = Eigen::MatrixXd::Zero(n + 1, n + 1);
  A.topLeftCorner(n, n) = G + ridge * Eigen::MatrixXd::Identity(n, n);
  A.col(n).head(n).setOnes();
  A.row(n).head(n).setOnes();
  Eigen::VectorXd b(n + 1);
  b << ridge * before, 1;
  Eigen::VectorXd w = solve_general(A, b).head(n);
  if (w.allFinite() && w.minCoeff() >= 0) return w;
  return before / before.sum();
}

Eigen::MatrixXd without(const Eigen::MatrixXd& G, const std::vector<Eigen::Index>& kept) {
  return G(kept, kept);
}

/// Leaves out influences one by one, the least missed first, while the vertex stays within `slack`.
void leave_out(const Row& row, double slack, int one, std::vector<Eigen::Index>& kept, Eigen::VectorXi& q) {
  while (kept.size() > 1) {
    double least = slack * slack;
    std::vector<Eigen::Index> best;
    Eigen::VectorXi best_q;
    for (std::size_t gone = 0; gone < kept.size(); ++gone) {
      std::vector<Eigen::Index> rest = kept;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(gone));
      Eigen::VectorXd before(index(rest.size()));
      for (std::size_t i = 0; i < rest.size(); ++i) before[index(i)] = row.weights[static_cast<std::size_t>(rest[i])];
      const Eigen::MatrixXd G = without(row.G, rest);
      const Eigen::VectorXi numbers = whole_numbers(G, best_weights(G, before), one);
      const double missed = miss(G, numbers.cast<double>() / one);
      if (missed >= least) continue;
      least = missed;
      best = rest;
      best_q = numbers;
    }
    if (best.empty()) return;
    kept = best;
    q = best_q;
  }
}

void round_row(const Row& row, const Precision& precision, Index* bones, float* values) {
  std::vector<Eigen::Index> kept;
  for (std::size_t i = 0; i < row.bones.size(); ++i) kept.push_back(index(i));
  Eigen::VectorXd w = Eigen::Map<const Eigen::VectorXd>(row.weights.data(), index(row.weights.size()));
  w /= w.sum();
  Eigen::VectorXi q = whole_numbers(row.G, w, precision.weight_one);
  if (precision.slack > 0) leave_out(row, precision.slack, precision.weight_one, kept, q);
  std::vector<std::pair<int, Index>> sorted;
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (q[index(i)] > 0) sorted.emplace_back(-q[index(i)], row.bones[static_cast<std::size_t>(kept[i])]);
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    bones[k] = sorted[k].second;
    values[k] = static_cast<float>(static_cast<double>(-sorted[k].first) / precision.weight_one);
  }
}

/// Of every vertex; infinite where it has none.
Eigen::VectorXd shortest_edges(const Mesh& mesh) {
  const Adjacency adjacency = mesh_adjacency(mesh);
  Eigen::VectorXd out = Eigen::VectorXd::Constant(mesh.positions.cols(), std::numeric_limits<double>::infinity());
  for (std::size_t v = 0; v < mesh.vertex_count(); ++v)
    for (const Index other : adjacency[v]) {
      const Vector3 edge = mesh.positions.col(index(v)) - mesh.positions.col(other);
      out[index(v)] = std::min(out[index(v)], static_cast<double>(edge.norm()));
    }
  return out;
}

}  // namespace

SkinWeights round_weights(const Rig& rig, const FitFrames& fit, const Precision& precision, int threads) {
  if (precision.weight_one == 0) return rig.weights;
  SkinWeights out = rig.weights;
  std::fill(out.bones.begin(), out.bones.end(), Index{0});
  std::fill(out.values.begin(), out.values.end(), 0.0F);
  const auto slots = static_cast<std::size_t>(out.influences);
  parallel_for(rig.vertex_count(), kGrain, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v)
      round_row(row_of(rig, fit, v), precision, out.bones.data() + v * slots, out.values.data() + v * slots);
  });
  return out;
}

Points refit_rest(const Rig& rig, const FitFrames& fit, int threads) {
  Points out = rig.rest.positions;
  if (fit.frames.empty()) return out;
  const auto slots = static_cast<std::size_t>(rig.weights.influences);
  const Eigen::VectorXd most =
      shortest_edges(rig.rest).cwiseMin(kRestChange / kOfEdges * bounding_box_diagonal(rig.rest.positions)) * kOfEdges;
  parallel_for(rig.vertex_count(), kGrain, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      const double pull = kRestPull * static_cast<double>(fit.frames.size());
      const Eigen::Vector3d p = rig.rest.positions.col(index(v)).cast<double>();
      Eigen::Matrix3d A = pull * Eigen::Matrix3d::Identity();
      Eigen::Vector3d b = Eigen::Vector3d::Zero();  // for the change of p
      for (std::size_t i = 0; i < fit.frames.size(); ++i) {
        Eigen::Matrix<double, 3, 4> T = Eigen::Matrix<double, 3, 4>::Zero();
        for (std::size_t k = v * slots; k < (v + 1) * slots; ++k)
          if (rig.weights.values[k] > 0)
            T += static_cast<double>(rig.weights.values[k]) *
                 rig.motion(fit.frames[i], rig.weights.bones[k]).cast<double>();
        const Eigen::Vector3d missing =
            fit.target[i].col(index(v)).cast<double>() - T.leftCols<3>() * rest_point(rig, fit.frames[i], v) - T.col(3);
        A += T.leftCols<3>().transpose() * T.leftCols<3>();
        b += T.leftCols<3>().transpose() * missing;
      }
      Eigen::Vector3d change = solve_symmetric(A, b);
      if (change.norm() > most[index(v)]) change *= most[index(v)] / change.norm();
      out.col(index(v)) = (p + change).cast<float>();
    }
  });
  return out;
}

}  // namespace sinew::pack
