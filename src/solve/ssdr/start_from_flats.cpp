#include "solve/ssdr/start_from_flats.h"

#include <algorithm>

#include "math/parallel.h"
#include "solve/flats/search.h"

namespace sinew::ssdr {
namespace {

using namespace flats;

constexpr double kFlatTruncation = 0.3;  // E_RMS that the reduction may leave out
constexpr int kClusterRounds = 10;       // of k-means

/// Places of the vertices on the flat as columns; whitened, so that distances mean the same in all directions.
Eigen::MatrixXd places_of(const FlatProblem& problem, const FlatFit& fit) {
  Eigen::MatrixXd places(fit.handles - 1, static_cast<Eigen::Index>(problem.vertices));
  for (std::size_t v = 0; v < problem.vertices; ++v) {
    for (Eigen::Index k = 0; k < places.rows(); ++k)
      places(k, static_cast<Eigen::Index>(v)) = fit.z(v, static_cast<std::size_t>(k));
  }
  return places;
}

/// Points far from each other: each is the farthest from those before it.
Eigen::MatrixXd spread_points(const Eigen::MatrixXd& points, Eigen::Index count) {
  Eigen::MatrixXd chosen(points.rows(), count);
  Eigen::RowVectorXd nearest = points.colwise().squaredNorm();
  for (Eigen::Index n = 0; n < count; ++n) {
    Eigen::Index farthest = 0;
    nearest.maxCoeff(&farthest);
    chosen.col(n) = points.col(farthest);
    nearest = nearest.cwiseMin((points.colwise() - points.col(farthest)).colwise().squaredNorm());
  }
  return chosen;
}

std::vector<Index> nearest_of(const Eigen::MatrixXd& points, const Eigen::MatrixXd& centers, int threads) {
  std::vector<Index> labels(static_cast<std::size_t>(points.cols()));
  parallel_for(labels.size(), 256, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      Eigen::Index nearest = 0;
      (centers.colwise() - points.col(static_cast<Eigen::Index>(v))).colwise().squaredNorm().minCoeff(&nearest);
      labels[v] = static_cast<Index>(nearest);
    }
  });
  return labels;
}

}  // namespace

std::vector<Index> flat_parts(const Sequence& sequence, const SsdrOptions& options, int parts) {
  FlatsOptions flats;
  flats.max_steps = 0;  // the start of the flats solver, not its end: parts need no more
  flats.threads = options.threads;
  const FlatProblem problem = make_flat_problem(sequence, kFlatTruncation, FlatUnit::sphere, options.threads);
  const int handles = std::min<int>(parts, static_cast<int>(problem.vertices));
  const VertexMaps maps = fit_one_rings(problem, sequence.rest, options.threads);
  FoundFlat flat = search_flat(problem, maps, handles, flats, {});
  whiten_flat(problem, flat.fit, options.threads, flat.theta);
  fit_flat(problem, flat.theta, 0, options.threads, flat.fit);
  const Eigen::MatrixXd places = places_of(problem, flat.fit);
  Eigen::MatrixXd centers = spread_points(places, handles);
  std::vector<Index> labels;
  for (int round = 0; round < kClusterRounds; ++round) {
    labels = nearest_of(places, centers, options.threads);
    Eigen::MatrixXd sums = Eigen::MatrixXd::Zero(centers.rows(), handles);
    Eigen::RowVectorXd members = Eigen::RowVectorXd::Zero(handles);
    for (std::size_t v = 0; v < labels.size(); ++v) {
      sums.col(labels[v]) += places.col(static_cast<Eigen::Index>(v));
      members(labels[v]) += 1;
    }
    for (Eigen::Index c = 0; c < handles; ++c)
      if (members(c) > 0) centers.col(c) = sums.col(c) / members(c);
  }
  return labels;
}

}  // namespace sinew::ssdr
