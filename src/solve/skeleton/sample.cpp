#include "solve/skeleton/sample.h"

#include <cmath>

#include "solve/lbs/motion_clusters.h"
#include "solve/skeleton/start.h"

namespace sinew::skeleton {
namespace {

constexpr std::size_t kLookedAt = 4;  // times the vertices that are chosen
constexpr std::size_t kCoarse = 24;   // clusters
constexpr double kEvenly = 0.5;       // of the vertices

}  // namespace

std::vector<Index> vertices_that_move(const lbs::Problem& problem, std::size_t count, std::uint64_t seed) {
  const std::vector<Index> seen = lbs::spread_vertices(problem.vertex_count(), kLookedAt * count);
  if (seen.size() <= count) return seen;
  const lbs::Problem part = problem.sample(seen, kSearchTruncation, seed);
  lbs::MotionClusters clusters = lbs::cluster_by_motion(part, kCoarse);
  std::vector<float> residual;
  lbs::refine_clusters(part, clusters, residual);
  double sum = 0;
  for (const float squares : residual) sum += std::sqrt(static_cast<double>(squares));
  std::vector<Index> out;
  double reached = 0;  // of the count
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const double moves = sum > 0 ? std::sqrt(static_cast<double>(residual[i])) / sum : 0;
    reached += static_cast<double>(count) * (kEvenly / static_cast<double>(seen.size()) + (1 - kEvenly) * moves);
    if (static_cast<double>(out.size()) + 0.5 < reached) out.push_back(seen[i]);
  }
  return out;
}

}  // namespace sinew::skeleton
