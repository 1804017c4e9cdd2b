#include "solve/skeleton/error_curve.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>

namespace sinew::skeleton {
namespace {

constexpr int kSettleIterations = 6;   // after bones have gone
constexpr int kFewBones = 32;          // up to which they go one by one, above a tenth at a time
constexpr int kFewest = 4;             // bones with which patches are counted
constexpr double kPatchesAnew = 1.25;  // patches are counted anew where the bones are so many times fewer
constexpr double kRing = 0.02;         // radius of the mesh is 1: width of the rings in which residuals are compared
constexpr std::size_t kRings = 60;     // at most
constexpr double kCorrelated = 0.05;   // correlation below which residuals are taken for independent
constexpr double kUsualBones = 30;     // of a skeleton, whose patches count
constexpr double kSmoothing = 0.4;     // of the curve: standard deviation of ln B

/// What the bones of a state leave at every vertex, in rows of the problem.
Eigen::MatrixXd residuals_of(const Problem& problem, const FitState& state) {
  const auto rows = static_cast<Eigen::Index>(problem.row_count());
  const SparseWeights& w = state.weights;
  Eigen::MatrixXd D = state.D;
  if (problem.reduced()) D = problem.basis().cast<double>().transpose() * state.D;
  Eigen::MatrixXd out(rows, static_cast<Eigen::Index>(problem.vertex_count()));
  std::vector<float> scratch;
  for (std::size_t v = 0; v < problem.vertex_count(); ++v) {
    const auto column = static_cast<Eigen::Index>(v);
    const Eigen::Vector4d u = problem.rest().col(column).homogeneous();
    out.col(column) = Eigen::Map<const Eigen::VectorXf>(problem.block(v, 1, scratch), rows).cast<double>();
    for (std::size_t k = w.slot(v); k < w.slot(v) + w.count[v]; ++k)
      out.col(column) -= static_cast<double>(w.value[k]) * (D.middleCols<4>(4 * w.bone[k]) * u);
  }
  return out;
}

/// How many patches of the surface have residuals of their own: vertices over how many of them, on average, one is
/// correlated with. Correlation is a function of distance, up to where it ends.
double independent_patches(const Problem& problem, const FitState& state) {
  const Eigen::MatrixXd residual = residuals_of(problem, state);
  const Eigen::MatrixXd products = residual.transpose() * residual;
  const Eigen::VectorXd size = products.diagonal().cwiseMax(0).cwiseSqrt();
  Eigen::VectorXd shared = Eigen::VectorXd::Zero(kRings);
  Eigen::VectorXd most = Eigen::VectorXd::Constant(kRings, 1e-300);
  Eigen::VectorXd pairs = Eigen::VectorXd::Zero(kRings);
  for (Eigen::Index v = 0; v < products.cols(); ++v)
    for (Eigen::Index k = 0; k < products.cols(); ++k) {
      const auto ring = static_cast<Eigen::Index>((problem.rest().col(v) - problem.rest().col(k)).norm() / kRing);
      if (ring >= pairs.size()) continue;
      shared[ring] += products(k, v);
      most[ring] += size[k] * size[v];
      ++pairs[ring];
    }
  const auto vertices = static_cast<double>(products.cols());
  double together = 0;
  for (Eigen::Index ring = 0; ring < pairs.size(); ++ring) {
    const double correlation = pairs[ring] > 0 ? shared[ring] / most[ring] : 0;
    if (correlation < kCorrelated && pairs[ring] > 0) break;
    together += pairs[ring] / vertices * correlation;
  }
  return vertices / std::max(1.0, together);
}

/// One path from many bones to one, the most bones first, and the patches for every bone met on it.
std::vector<SearchRecord> path_of(const Whole& whole, std::size_t clusters, const SkeletonFit& empty,
                                  std::vector<double>& patches) {
  SkeletonFit fit = free_bones_of(parts_of(whole.problem, clusters), whole, empty);
  const Problem& problem = *fit.problem;
  RunOptions options;
  options.iterations = 2 * kSettleIterations;
  options.tolerance = 1e-3;
  options.influences = fit.influences;
  options.swap_period = fit.swap_period;
  std::vector<SearchRecord> path;
  double counted = 0;  // bones where the patches were
  while (true) {
    run(problem, options, fit.state);
    options.iterations = kSettleIterations;
    const int bones = fit.state.bones();
    path.push_back({bones, fit.e_rms()});
    if (bones >= kFewest && (counted == 0 || bones * kPatchesAnew <= counted)) {
      patches.push_back(independent_patches(problem, fit.state) / bones);
      counted = bones;
    }
    if (bones < 2) return path;
    remove_cheapest(fit.state, problem, bones > kFewBones ? bones / 10 : 1);
  }
}

double log_of(const SearchRecord& record) {
  return std::log(std::max(record.e_rms, 1e-6));
}

/// The logarithm of the error with so many bones, between those of a path.
double log_error(const std::vector<SearchRecord>& path, int bones) {
  const auto below = std::find_if(path.begin(), path.end(), [&](const SearchRecord& r) { return r.bones <= bones; });
  if (below == path.begin() || below->bones == bones) return log_of(*below);
  const SearchRecord& above = *(below - 1);
  const double share = static_cast<double>(bones - below->bones) / (above.bones - below->bones);
  return (1 - share) * log_of(*below) + share * log_of(above);
}

/// The same smoothed: the straight line of ln E against ln B that fits best nearby.
double smooth_log_error(const std::vector<SearchRecord>& points, int bones) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;  // sums
  for (const SearchRecord& point : points) {
    const double dx = std::log(static_cast<double>(point.bones) / bones);
    const double weight = std::exp(-0.5 * dx * dx / (kSmoothing * kSmoothing)) / point.bones;
    const double value = log_of(point);
    n += weight;
    x += weight * dx;
    y += weight * value;
    xx += weight * dx * dx;
    xy += weight * dx * value;
  }
  const double spread = n * xx - x * x;
  return spread > 1e-9 * n * n ? (xx * y - x * xy) / spread : y / n;
}

}  // namespace

ErrorCurve error_curve(const Whole& whole, std::size_t clusters, const SkeletonFit& empty) {
  std::vector<double> patches{1};
  const std::vector<SearchRecord> one = path_of(whole, clusters, empty, patches);
  const std::vector<SearchRecord> other = path_of(whole, clusters + (clusters + 1) / 2, empty, patches);
  ErrorCurve out;
  double least = std::numeric_limits<double>::infinity();
  for (int b = 1; b <= std::max(one.front().bones, other.front().bones); ++b) {
    least = std::min(least, std::exp(0.5 * (log_error(one, b) + log_error(other, b))));
    out.points.push_back({b, least});
  }
  const auto middle = patches.begin() + static_cast<std::ptrdiff_t>(patches.size() / 2);
  std::nth_element(patches.begin(), middle, patches.end());
  out.patches = *middle;
  return out;
}

int DescriptionLength::best() const {
  const double residuals = 3 * frames * std::max(1.0, kUsualBones * curve.patches);
  const double bone_cost = bone * (3 * frames + 3) * 0.5 * std::log(residuals);
  int shortest = 1;
  double least = std::numeric_limits<double>::infinity();
  for (const SearchRecord& point : curve.points) {
    const double ratio = std::exp(smooth_log_error(curve.points, point.bones)) / precision;
    const double length = residuals * 0.5 * std::log1p(ratio * ratio) + bone_cost * point.bones;
    if (length >= least) continue;
    least = length;
    shortest = point.bones;
  }
  return shortest;
}

}  // namespace sinew::skeleton
