#include "solve/lbs/motion_clusters.h"
#include "core/index.h"
#include "solve/lbs/bones.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace sinew::lbs {
namespace {

constexpr int kRounds = 3;  // of EM after each split

constexpr double kAlike = 1e-4;  // motions closer than this on a patch (radius of the mesh 1) are one

/// Rigid motion of every cluster from its members.
void fit_clusters(const Problem& problem, MotionClusters& clusters) {
  SparseWeights weights = weights_of(clusters, 1);
  WeightSums sums;
  PassOptions options;
  options.influences = 1;
  options.keep_weights = true;
  options.shared = false;
  weights_pass(problem, bone_gram(problem, clusters.D), options, weights, sums);
  BoneOptions bones;
  bones.sweeps = 1;
  update_bones(problem, sums, bones, clusters.D);
}

/// Members of every cluster.
std::vector<std::vector<Index>> members_of(const MotionClusters& clusters) {
  std::vector<std::vector<Index>> members(clusters.count());
  for (std::size_t v = 0; v < clusters.labels.size(); ++v) members[clusters.labels[v]].push_back(static_cast<Index>(v));
  return members;
}

/// Gives the half of a cluster that is nearer to its seed vertex the label `fresh`. The seed is the vertex with the
/// largest product of error and distance to the centroid (eq. 3.2a).
void split_cluster(const Problem& problem, const std::vector<float>& residual, std::vector<Index>& members, Index fresh,
                   MotionClusters& clusters) {
  Eigen::Vector3d centroid = Eigen::Vector3d::Zero();
  for (const Index v : members) centroid += problem.rest().col(v);
  centroid /= static_cast<double>(members.size());
  Index seed = members.front();
  double best = -1;
  for (const Index v : members) {
    const double score = std::sqrt(static_cast<double>(residual[v])) * (problem.rest().col(v) - centroid).norm();
    if (score > best) best = score, seed = v;
  }
  const Eigen::Vector3d from = problem.rest().col(seed);
  std::vector<std::pair<double, Index>> order;
  order.reserve(members.size());
  for (const Index v : members) order.emplace_back((problem.rest().col(v) - from).squaredNorm(), v);
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() + 1) / 2);
  std::nth_element(order.begin(), middle, order.end());
  for (auto it = order.begin(); it != middle; ++it) clusters.labels[it->second] = fresh;
}

/// Clusters that can be split, by falling total error: those whose vertices have a mean error above `least`.
std::vector<std::size_t> splittable(const std::vector<std::vector<Index>>& members, const std::vector<float>& residual,
                                    double least) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t c = 0; c < members.size(); ++c) {
    if (members[c].size() < 2) continue;
    double sum = 0;
    for (const Index v : members[c]) sum += residual[v];
    if (sum <= least * static_cast<double>(members[c].size())) continue;
    order.emplace_back(-sum, c);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> result;
  for (const auto& [error, c] : order) result.push_back(c);
  return result;
}

/// Splits up to `wanted` clusters whose vertices have a mean error above `least`, then refits all.
void split_worst(const Problem& problem, const std::vector<float>& residual, std::size_t wanted, double least,
                 MotionClusters& clusters) {
  std::vector<std::vector<Index>> members = members_of(clusters);
  const std::vector<std::size_t> order = splittable(members, residual, least);
  const std::size_t splits = std::min(wanted, order.size());
  const std::size_t before = clusters.count();
  Eigen::MatrixXd D(clusters.D.rows(), index(4 * (before + splits)));
  D.leftCols(clusters.D.cols()) = clusters.D;
  for (std::size_t i = 0; i < splits; ++i) {
    split_cluster(problem, residual, members[order[i]], static_cast<Index>(before + i), clusters);
    D.middleCols<4>(index(4 * (before + i))) = clusters.D.middleCols<4>(index(4 * order[i]));
  }
  clusters.D = std::move(D);
  fit_clusters(problem, clusters);
}

/// Removes clusters without members (labels stay dense).
void drop_empty(MotionClusters& clusters) {
  const std::vector<std::vector<Index>> members = members_of(clusters);
  std::size_t kept = 0;
  for (std::size_t c = 0; c < members.size(); ++c) {
    if (members[c].empty()) continue;
    if (kept != c) {
      clusters.D.middleCols<4>(index(4 * kept)) = clusters.D.middleCols<4>(index(4 * c)).eval();
      for (const Index v : members[c]) clusters.labels[v] = static_cast<Index>(kept);
    }
    ++kept;
  }
  clusters.D.conservativeResize(Eigen::NoChange, index(4 * kept));
}

/// EM: each vertex to the motion that follows it best, each motion to its vertices.
void refine(const Problem& problem, int rounds, MotionClusters& clusters, std::vector<float>& residual) {
  BoneOptions bones;
  bones.sweeps = 1;
  WeightSums sums;
  for (int round = 0; round < rounds; ++round) {
    assign_pass(problem, bone_gram(problem, clusters.D), clusters.labels, sums);
    update_bones(problem, sums, bones, clusters.D);
  }
  residual = std::move(sums.residual);
  drop_empty(clusters);
}

/// Root mean square distance, over frames and members, between what two motions make of them.
double distance_between(const Problem& problem, const std::vector<Index>& members,
                        const Eigen::Ref<const Eigen::MatrixXd>& A, const Eigen::Ref<const Eigen::MatrixXd>& B) {
  Eigen::Matrix4d moments = Eigen::Matrix4d::Zero();
  for (const Index v : members) {
    const Eigen::Vector4d u = problem.rest().col(v).homogeneous();
    moments += u * u.transpose();
  }
  const Eigen::MatrixXd difference = A - B;
  const double sum = (difference * moments).cwiseProduct(difference).sum();
  return std::sqrt(std::max(0.0, sum) / static_cast<double>(members.size() * problem.frame_count()));
}

/// Gives patches that move as the rest of their cluster does (`home` of each cluster) back to it: bones of equal motion
/// would share their vertices as rounding decides.
void rejoin_alike(const Problem& problem, const std::vector<Index>& home, MotionClusters& clusters) {
  const std::vector<std::vector<Index>> members = members_of(clusters);
  bool any = false;
  for (std::size_t c = 0; c < members.size(); ++c) {
    if (home[c] == c || members[c].empty()) continue;
    if (distance_between(problem, members[c], clusters.D.middleCols<4>(index(4 * c)),
                         clusters.D.middleCols<4>(index(std::size_t{4} * home[c]))) > kAlike)
      continue;
    for (const Index v : members[c]) clusters.labels[v] = home[c];
    any = true;
  }
  if (!any) return;
  drop_empty(clusters);
  fit_clusters(problem, clusters);
}

}  // namespace

MotionClusters cluster_by_motion(const Problem& problem, std::size_t count, std::vector<Index> labels) {
  const std::size_t wanted = std::min(count, problem.vertex_count());
  MotionClusters clusters;
  clusters.labels = std::move(labels);
  if (clusters.labels.empty()) clusters.labels.assign(problem.vertex_count(), 0);
  const Index most = *std::max_element(clusters.labels.begin(), clusters.labels.end());
  clusters.D = Eigen::MatrixXd::Zero(index(3 * problem.frame_count()), index(4 * (std::size_t{most} + 1)));
  std::vector<float> residual(problem.vertex_count());
  for (std::size_t v = 0; v < residual.size(); ++v) residual[v] = static_cast<float>(problem.energy()[v]);
  if (most > 0) {
    drop_empty(clusters);
    fit_clusters(problem, clusters);
    refine(problem, kRounds, clusters, residual);
  }
  // EM may empty clusters for good where motions coincide: after enough tries the last word has the split.
  for (int tries = 0; clusters.count() < wanted && tries < 24; ++tries) {
    const std::size_t missing = wanted - clusters.count();
    split_worst(problem, residual, std::min(missing, clusters.count()), -1, clusters);
    if (tries < 16) refine(problem, kRounds, clusters, residual);
  }
  return clusters;
}

MotionClusters whole_mesh(const Problem& problem) {
  MotionClusters clusters;
  clusters.labels.assign(problem.vertex_count(), 0);
  clusters.D = Eigen::MatrixXd::Zero(index(3 * problem.frame_count()), 4);
  return clusters;
}

bool split_clusters(const Problem& problem, std::size_t count, double unseen, const std::vector<float>& residual,
                    MotionClusters& clusters) {
  const std::size_t before = clusters.count();
  if (before >= count) return false;
  const double least = unseen * unseen * static_cast<double>(problem.frame_count());
  split_worst(problem, residual, std::min(count - before, before), least, clusters);
  return clusters.count() > before;
}

double refine_clusters(const Problem& problem, MotionClusters& clusters, std::vector<float>& residual) {
  refine(problem, 1, clusters, residual);
  return std::accumulate(residual.begin(), residual.end(), 0.0);
}

void remove_cluster(const Problem& problem, std::size_t c, MotionClusters& clusters, std::vector<float>& residual) {
  const auto from = index(4 * c);
  const Eigen::Index after = clusters.D.cols() - from - 4;
  clusters.D.middleCols(from, after) = clusters.D.rightCols(after).eval();
  clusters.D.conservativeResize(Eigen::NoChange, clusters.D.cols() - 4);
  refine(problem, 1, clusters, residual);
}

MotionClusters split_into_patches(const Problem& problem, const MotionClusters& clusters, std::size_t smallest,
                                  std::size_t most) {
  const Components parts = connected_components(problem.adjacency(), clusters.labels);
  std::vector<std::size_t> size(parts.count, 0);
  std::vector<Index> cluster(parts.count, 0);
  for (std::size_t v = 0; v < parts.label.size(); ++v) {
    ++size[parts.label[v]];
    cluster[parts.label[v]] = clusters.labels[v];
  }
  std::vector<std::size_t> order(parts.count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size[a] > size[b]; });
  // The largest patch of a cluster keeps its label; others that matter get new ones.
  std::vector<Index> label(parts.count);
  std::vector<bool> seen(clusters.count(), false);
  auto next = static_cast<Index>(clusters.count());
  for (const std::size_t p : order) {
    label[p] = cluster[p];
    if (seen[cluster[p]] && size[p] >= smallest && next < most) label[p] = next++;
    seen[cluster[p]] = true;
  }
  MotionClusters result;
  result.labels.resize(parts.label.size());
  for (std::size_t v = 0; v < parts.label.size(); ++v) result.labels[v] = label[parts.label[v]];
  result.D.resize(clusters.D.rows(), index(4 * static_cast<std::size_t>(next)));
  result.D.leftCols(clusters.D.cols()) = clusters.D;
  std::vector<Index> home(next);
  std::iota(home.begin(), home.end(), Index{0});
  for (const std::size_t p : order) {
    if (label[p] >= clusters.count()) {
      home[label[p]] = cluster[p];
      result.D.middleCols<4>(4 * static_cast<Eigen::Index>(label[p])) =
          clusters.D.middleCols<4>(4 * static_cast<Eigen::Index>(cluster[p]));
    }
  }
  if (result.count() > clusters.count()) {
    fit_clusters(problem, result);
    rejoin_alike(problem, home, result);
  }
  return result;
}

SparseWeights weights_of(const MotionClusters& clusters, int capacity) {
  SparseWeights weights(clusters.labels.size(), capacity);
  for (std::size_t v = 0; v < clusters.labels.size(); ++v) {
    weights.count[v] = 1;
    weights.bone[weights.slot(v)] = static_cast<std::uint16_t>(clusters.labels[v]);
    weights.value[weights.slot(v)] = 1;
  }
  return weights;
}

}  // namespace sinew::lbs
