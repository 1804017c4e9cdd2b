#include "solve/sma/weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "math/nnls.h"
#include "math/parallel.h"
#include "math/simplex.h"

// Influences and weights for given bones [JamesTwigg2005 §5].
//
//   d_b  F×3: how far bone b alone puts the vertex from where it is, frame by frame
//   γ_b  |d_b|² (eq. 5)
//
// With Σ w = 1 the residual Σ w_b T_b p̄ − p is Σ w_b d_b, so the Gram matrix of the d_b is all a solve needs. The
// paper keeps positions and a soft row of ones (eq. 9); with differences the row's weight no longer matters after the
// normalisation, and the origin drops out.

namespace sinew::sma {
namespace {

constexpr std::size_t kVerticesPerChunk = 64;
constexpr double kTruncation = 1e-5;  // singular values below this times the largest are taken as zero

/// Weights over the chosen bones from the Gram matrix of their d_b, scaled so that its trace is about 1.
Eigen::VectorXd solve_row(const Eigen::MatrixXd& gram, const SmaOptions& options, SimplexWorkspace& workspace) {
  const Eigen::Index K = gram.rows();
  Eigen::VectorXd w;
  if (options.weights == SmaWeights::bounded && options.negative_bound > 0) {
    // w = s u − δ with u on the simplex and s = 1 + Kδ (eq. 11 with the affine row exact).
    const double delta = options.negative_bound;
    const double s = 1 + static_cast<double>(K) * delta;
    Eigen::VectorXd u = Eigen::VectorXd::Constant(K, 1.0 / static_cast<double>(K));
    simplex_least_squares(s * s * gram, s * delta * gram.rowwise().sum(), u, workspace);
    w = (s * u).array() - delta;
  } else {
    const Eigen::MatrixXd G = gram + Eigen::MatrixXd::Ones(K, K);
    const Eigen::VectorXd ones = Eigen::VectorXd::Ones(K);
    w = options.weights == SmaWeights::tsvd ? truncated_least_squares(G, ones, kTruncation)
                                            : nonnegative_least_squares(G, ones);
  }
  const double sum = w.sum();
  if (!(std::abs(sum) > 1e-6) || !w.allFinite()) {
    w.setZero();
    w[0] = 1;  // the best single bone
    return w;
  }
  return w / sum;
}

/// d_b of every bone for one vertex: 3F×B.
void differences(const Sequence& sequence, const Motion& motion, std::size_t v, Eigen::MatrixXd& D) {
  const Eigen::Vector3d rest = sequence.rest.positions.col(static_cast<Eigen::Index>(v)).cast<double>();
  for (std::size_t f = 0; f < motion.frame_count(); ++f) {
    const Eigen::Vector3d p = sequence.frames[f].col(static_cast<Eigen::Index>(v)).cast<double>();
    for (std::size_t b = 0; b < motion.bone_count(); ++b) {
      const Affine& T = motion(f, b);
      D.block<3, 1>(static_cast<Eigen::Index>(3 * f), static_cast<Eigen::Index>(b)) =
          T.leftCols<3>().cast<double>() * rest + T.col(3).cast<double>() - p;
    }
  }
}

/// Numbers helper bones (bone, signed scale) in order of first use.
class Helpers {
 public:
  explicit Helpers(std::size_t bones) : bones_(bones) {}

  Index number(Index bone, double scale) {
    const auto [at, fresh] = numbers_.try_emplace({bone, scale}, static_cast<Index>(bones_ + made_.size()));
    if (fresh) made_.emplace_back(bone, scale);
    return at->second;
  }
  const std::vector<std::pair<Index, double>>& made() const { return made_; }

 private:
  std::size_t bones_;
  std::map<std::pair<Index, double>, Index> numbers_;
  std::vector<std::pair<Index, double>> made_;
};

using Row = std::vector<std::pair<Index, double>>;

/// A row with negative weights as a convex one over bones ΛT_b and −ΛT_b: w T = (|w|/Λ)·(±Λ T). What is missing to a
/// sum of 1 goes in equal halves to both signs of the strongest bone, where it cancels.
Row convex_row(const Row& row, Helpers& helpers) {
  double magnitude = 0;
  std::size_t strongest = 0;
  for (std::size_t k = 0; k < row.size(); ++k) {
    magnitude += std::abs(row[k].second);
    if (std::abs(row[k].second) > std::abs(row[strongest].second)) strongest = k;
  }
  double scale = 1;
  while (scale < magnitude) scale *= 4;
  const double slack = 1 - magnitude / scale;
  Row out;
  for (std::size_t k = 0; k < row.size(); ++k) {
    if (row[k].second == 0) continue;
    const double sign = row[k].second > 0 ? 1 : -1;
    const double share = std::abs(row[k].second) / scale;
    out.emplace_back(helpers.number(row[k].first, sign * scale), k == strongest ? share + slack / 2 : share);
    if (k == strongest && slack > 0) out.emplace_back(helpers.number(row[k].first, -sign * scale), slack / 2);
  }
  return out;
}

SkinWeights packed(std::vector<Row>& rows) {
  std::size_t K = 1;
  for (const Row& row : rows) K = std::max(K, row.size());
  SkinWeights out;
  out.influences = static_cast<int>(K);
  out.bones.assign(rows.size() * K, 0);
  out.values.assign(rows.size() * K, 0);
  for (std::size_t v = 0; v < rows.size(); ++v) {
    std::stable_sort(rows[v].begin(), rows[v].end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    for (std::size_t k = 0; k < rows[v].size(); ++k) {
      const auto value = static_cast<float>(rows[v][k].second);
      if (value <= 0) break;
      out.bones[v * K + k] = rows[v][k].first;
      out.values[v * K + k] = value;
    }
  }
  return out;
}

}  // namespace

SignedWeights fit_weights(const Sequence& sequence, const Motion& motion, const SmaOptions& options) {
  const std::size_t V = sequence.vertex_count();
  const std::size_t B = motion.bone_count();
  const std::size_t K = options.influences == 0 ? B : std::min(B, static_cast<std::size_t>(options.influences));
  SignedWeights out{static_cast<int>(K), std::vector<Index>(V * K), std::vector<double>(V * K)};
  parallel_for(V, kVerticesPerChunk, options.threads, [&](std::size_t begin, std::size_t end) {
    Eigen::MatrixXd D(static_cast<Eigen::Index>(3 * motion.frame_count()), static_cast<Eigen::Index>(B));
    Eigen::MatrixXd chosen(D.rows(), static_cast<Eigen::Index>(K));
    std::vector<Index> order(B);
    SimplexWorkspace workspace;
    for (std::size_t v = begin; v < end; ++v) {
      differences(sequence, motion, v, D);
      const Eigen::VectorXd gamma = D.colwise().squaredNorm();
      std::iota(order.begin(), order.end(), Index{0});
      std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(K), order.end(),
                        [&](Index a, Index b) { return gamma[a] < gamma[b] || (gamma[a] == gamma[b] && a < b); });
      for (std::size_t k = 0; k < K; ++k) chosen.col(static_cast<Eigen::Index>(k)) = D.col(order[k]);
      Eigen::MatrixXd gram = chosen.transpose() * chosen;
      const double scale = gram.trace();
      if (scale > 0) gram /= scale;
      const Eigen::VectorXd w = solve_row(gram, options, workspace);
      for (std::size_t k = 0; k < K; ++k) {
        out.bones[v * K + k] = order[k];
        out.values[v * K + k] = w[static_cast<Eigen::Index>(k)];
      }
    }
  });
  return out;
}

std::size_t set_weights(Rig& rig, const SignedWeights& weights) {
  const auto K = static_cast<std::size_t>(weights.influences);
  const std::size_t plain = rig.bones.size();
  Helpers helpers(plain);
  std::vector<Row> rows(weights.values.size() / K);
  for (std::size_t v = 0; v < rows.size(); ++v) {
    bool negative = false;
    for (std::size_t k = 0; k < K; ++k) {
      const double value = weights.values[v * K + k];
      negative = negative || value < 0;
      if (value != 0) rows[v].emplace_back(weights.bones[v * K + k], value);
    }
    if (negative) rows[v] = convex_row(rows[v], helpers);
  }
  rig.weights = packed(rows);
  if (helpers.made().empty()) return 0;

  Motion motion(rig.motion.frame_count(), plain + helpers.made().size());
  for (std::size_t f = 0; f < motion.frame_count(); ++f) {
    for (std::size_t b = 0; b < plain; ++b) motion(f, b) = rig.motion(f, b);
    for (std::size_t i = 0; i < helpers.made().size(); ++i) {
      const auto& [bone, scale] = helpers.made()[i];
      motion(f, plain + i) = static_cast<float>(scale) * rig.motion(f, bone);  // powers of 4: exact in float
    }
  }
  for (const auto& [bone, scale] : helpers.made()) {
    Bone helper = rig.bones[bone];
    helper.name = fmt::format("{}_times_{}", helper.name, scale);
    helper.parent = -1;
    rig.bones.push_back(std::move(helper));
  }
  rig.motion = std::move(motion);
  rig.transforms = Transforms::affine;
  rig.jointed = false;
  return helpers.made().size();
}

}  // namespace sinew::sma
