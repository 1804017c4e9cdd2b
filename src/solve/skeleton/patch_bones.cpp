#include "solve/skeleton/patch_bones.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/index.h"
#include "math/parallel.h"
#include "math/rotation.h"

namespace sinew::skeleton {
namespace {

constexpr std::size_t kPatches = 600;      // at most, all over the mesh
constexpr double kPatchShare = 1.0 / 200;  // of the vertices in a patch, within the two below
constexpr std::size_t kSmallest = 6;
constexpr std::size_t kFewestVertices = 4;  // in a piece of the mesh that has no more
constexpr std::size_t kLargest = 16;
constexpr double kExplained = 3e-4;    // distance (radius 1, root mean square) up to which a patch counts as explained
constexpr int kBatch = 5;              // of the bones there are, one more is chosen at a time
constexpr double kFlat = 0.1;          // of the patches, those that bend least, tell the noise
constexpr double kPatchesApart = 0.5;  // of what a patch lacks, by which its motion differs from others of a batch

/// A few neighbouring vertices, their rigid motion, and how far they are from rigid.
struct Patch {
  std::vector<std::size_t> sampled;  // of its vertices, those that stand for all while searching; or the nearest
  std::size_t size = 0;              // its vertices
  Eigen::Matrix4d S;                 // Σ u uᵀ
  Eigen::MatrixXd D;                 // 3F×4: its rigid motion less the common one
  double own = 0;                    // squared distance over the frames that this leaves, mean over its vertices
};

/// The vertices nearest to `seed`, growing along the mesh.
std::vector<Index> grown_from(const Problem& problem, std::size_t seed, std::size_t count) {
  const auto distance = [&](Index v) {
    return (problem.rest().col(index(v)) - problem.rest().col(index(seed))).squaredNorm();
  };
  std::vector<Index> patch{static_cast<Index>(seed)};
  std::vector<Index> seen = patch;
  std::vector<Index> edge;
  while (patch.size() < count) {
    for (const Index v : problem.adjacency()[patch.back()])
      if (std::find(seen.begin(), seen.end(), v) == seen.end()) {
        seen.push_back(v);
        edge.push_back(v);
      }
    if (edge.empty()) break;
    const auto next =
        std::min_element(edge.begin(), edge.end(), [&](Index a, Index b) { return distance(a) < distance(b); });
    patch.push_back(*next);
    edge.erase(next);
  }
  return patch;
}

/// Trajectories of some vertices (ascending).
struct Trajectories {
  std::vector<Index> vertices;
  Eigen::MatrixXf columns;

  Eigen::VectorXd of(Index v) const {
    const auto place = std::lower_bound(vertices.begin(), vertices.end(), v) - vertices.begin();
    return columns.col(place).cast<double>();
  }
};

Trajectories trajectories_of(const Problem& problem, const std::vector<std::vector<Index>>& patches) {
  Trajectories out;
  for (const std::vector<Index>& patch : patches) out.vertices.insert(out.vertices.end(), patch.begin(), patch.end());
  std::sort(out.vertices.begin(), out.vertices.end());
  out.vertices.erase(std::unique(out.vertices.begin(), out.vertices.end()), out.vertices.end());
  out.columns = problem.trajectories(out.vertices);
  return out;
}

/// Rigid motion of a patch.
void fit_patch(const Problem& problem, const Trajectories& trajectories, const std::vector<Index>& vertices,
               Patch& patch) {
  const auto rows = index(problem.row_count());
  Eigen::MatrixXd C = Eigen::MatrixXd::Zero(rows, 4);  // Σ y uᵀ
  patch.S.setZero();
  double energy = 0;
  for (const Index v : vertices) {
    const Eigen::Vector4d u = problem.rest().col(index(v)).homogeneous();
    patch.S += u * u.transpose();
    C += trajectories.of(v) * u.transpose();
    energy += problem.energy()[v];
  }
  if (problem.reduced()) C = (problem.basis().cast<double>() * C).eval();
  const Eigen::MatrixXd full = C + problem.common() * patch.S;
  patch.D.resize(full.rows(), 4);
  for (Eigen::Index f = 0; f < full.rows(); f += 3) {
    const RigidFit fit =
        fit_rigid(patch.S.block<3, 1>(0, 3), full.block<3, 1>(f, 3), full.block<3, 3>(f, 0), patch.S(3, 3));
    patch.D.block<3, 3>(f, 0) = fit.R;
    patch.D.block<3, 1>(f, 3) = fit.t;
  }
  patch.D -= problem.common();
  const double left = energy + (patch.D * patch.S - 2 * C).cwiseProduct(patch.D).sum();
  patch.size = vertices.size();
  patch.own = std::max(0.0, left) / static_cast<double>(patch.size);
}

std::vector<Patch> patches_of(const Whole& whole) {
  const Problem& problem = whole.problem;
  const auto size = static_cast<std::size_t>(
      std::clamp(kPatchShare * static_cast<double>(problem.vertex_count()), double{kSmallest}, double{kLargest}));
  std::vector<std::ptrdiff_t> place(problem.vertex_count(), -1);  // among those that stand for all
  for (std::size_t i = 0; i < whole.chosen.size(); ++i) place[whole.chosen[i]] = static_cast<std::ptrdiff_t>(i);
  const std::vector<Index> seeds = spread_vertices(whole.chosen.size(), kPatches);
  std::vector<std::vector<Index>> grown(seeds.size());
  parallel_for(seeds.size(), 8, problem.threads(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) grown[i] = grown_from(problem, whole.chosen[seeds[i]], size);
  });
  const Trajectories trajectories = trajectories_of(problem, grown);
  std::vector<Patch> out(seeds.size());
  parallel_for(seeds.size(), 8, problem.threads(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::vector<Index>& vertices = grown[i];
      for (const Index v : vertices)
        if (place[v] >= 0) out[i].sampled.push_back(static_cast<std::size_t>(place[v]));
      fit_patch(problem, trajectories, vertices, out[i]);
      if (vertices.size() < kFewestVertices) out[i].sampled.clear();
    }
  });
  return out;
}

/// Mean squared distance, over the vertices of a patch, between what two motions make of it over the frames.
double apart(const Patch& patch, const Eigen::MatrixXd& D) {
  const Eigen::MatrixXd difference = patch.D - D;
  return (difference * patch.S).cwiseProduct(difference).sum() / patch.S(3, 3);
}

/// What each patch lacks beyond its own fit, mean over its vertices.
std::vector<double> lacks_of(const std::vector<Patch>& patches, const std::vector<float>& residual) {
  std::vector<double> out;
  for (const Patch& patch : patches) {
    double sum = 0;
    for (const std::size_t v : patch.sampled) sum += static_cast<double>(residual[v]);
    out.push_back(patch.sampled.empty() ? 0 : sum / static_cast<double>(patch.sampled.size()) - patch.own);
  }
  return out;
}

/// The worst explained patches, at most `count`, that do not move alike.
std::vector<std::size_t> worst_of(const std::vector<Patch>& patches, const std::vector<double>& lacks, double least,
                                  std::size_t count) {
  std::vector<std::size_t> order(patches.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return lacks[a] > lacks[b]; });
  std::vector<std::size_t> out;
  for (const std::size_t i : order) {
    if (out.size() == count || lacks[i] < least) break;
    const bool fresh = std::all_of(out.begin(), out.end(), [&](std::size_t other) {
      return apart(patches[i], patches[other].D) > kPatchesApart * kPatchesApart * lacks[i];
    });
    if (fresh) out.push_back(i);
  }
  return out;
}

/// E_RMS by which the flattest patches are away from rigid: six numbers of each frame went into the fit.
double noise_of(const Problem& problem, const std::vector<Patch>& patches) {
  std::vector<double> squares;
  for (const Patch& patch : patches)
    if (patch.size >= kFewestVertices) squares.push_back(patch.own / (1 - 2.0 / static_cast<double>(patch.size)));
  if (squares.empty()) return 0;
  const auto flat = squares.begin() + static_cast<std::ptrdiff_t>(kFlat * static_cast<double>(squares.size()));
  std::nth_element(squares.begin(), flat, squares.end());
  return problem.e_rms(*flat * static_cast<double>(problem.vertex_count()));
}

}  // namespace

PatchBones patch_bones(const Whole& whole, int most, const SkeletonFit& empty) {
  PatchBones out{empty, 0};
  SkeletonFit& fit = out.fit;
  const Problem& problem = *fit.problem;
  const std::vector<Patch> patches = patches_of(whole);
  fit.state.D = Eigen::MatrixXd::Zero(problem.common().rows(), 4);
  fit.state.weights = SparseWeights(problem.vertex_count(), fit.influences);
  const double least = kExplained * kExplained * static_cast<double>(problem.frame_count());
  while (true) {
    update_weights(fit);
    const auto count = static_cast<std::size_t>(std::min(most - fit.state.bones(), 1 + fit.state.bones() / kBatch));
    if (count == 0) break;
    const std::vector<std::size_t> worst = worst_of(patches, lacks_of(patches, fit.state.sums.residual), least, count);
    if (worst.empty()) break;
    for (const std::size_t i : worst) add_bones(fit.state, patches[i].D);
  }
  out.noise = noise_of(whole.problem, patches);
  return out;
}

}  // namespace sinew::skeleton
