#include "sinew/solve/clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "math/adjacency.h"
#include "math/parallel.h"
#include "math/rotation.h"
#include "sinew/core/error.h"
#include "sinew/evaluate/errors.h"

/// p(v) rest position, x(f,v) position in frame f, c(v) the cluster of v, T(f,b) = [R | t] its rigid motion.
namespace sinew {
namespace {

using Rigid = Eigen::Matrix<double, 3, 4>;

constexpr std::size_t kVertexGrain = 256;
constexpr std::size_t kSeedNeighbours = 24;  // vertices around a seed that its first fit is made from
constexpr int kMaxMoves = 20;
constexpr double kTolerance = 1e-4;  // stop when (e[n-1] - e[n]) <= kTolerance·e[n-1]

struct State {
  const Sequence* input = nullptr;
  int threads = 0;
  Eigen::Matrix3Xd rest;  // 3×V
  Adjacency neighbours;
  std::vector<std::size_t> cluster;   // V
  std::vector<double> error;          // V: sum_f |x - T p|² under its cluster
  std::vector<double> otherwise;      // V: the same under the next best
  std::vector<std::vector<Rigid>> T;  // B of F

  const Sequence& sequence() const { return *input; }
  std::size_t vertices() const { return cluster.size(); }
  std::size_t frames() const { return input->frame_count(); }
  double total() const { return std::accumulate(error.begin(), error.end(), 0.0); }
};

/// The rotation and translation that take some rest positions closest to their places in frame f [Horn1987].
Rigid fit_rigid(const State& state, const std::vector<std::size_t>& members, std::size_t f) {
  const ConstPointsMap frame = state.sequence().frames[f];
  Eigen::Vector3d p_mean = Eigen::Vector3d::Zero();
  Eigen::Vector3d x_mean = Eigen::Vector3d::Zero();
  for (const std::size_t v : members) {
    p_mean += state.rest.col(static_cast<Eigen::Index>(v));
    x_mean += frame.col(static_cast<Eigen::Index>(v)).cast<double>();
  }
  p_mean /= static_cast<double>(members.size());
  x_mean /= static_cast<double>(members.size());
  Eigen::Matrix3d C = Eigen::Matrix3d::Zero();
  for (const std::size_t v : members)
    C += (frame.col(static_cast<Eigen::Index>(v)).cast<double>() - x_mean) *
         (state.rest.col(static_cast<Eigen::Index>(v)) - p_mean).transpose();
  Rigid T;
  T.leftCols<3>() = closest_rotation(C);
  T.col(3) = x_mean - T.leftCols<3>() * p_mean;
  return T;
}

std::vector<std::vector<std::size_t>> members_of(const State& state) {
  std::vector<std::vector<std::size_t>> members(state.T.size());
  for (std::size_t v = 0; v < state.vertices(); ++v) members[state.cluster[v]].push_back(v);
  return members;
}

/// Fits every cluster's motion to its vertices; clusters without any disappear.
void update_motion(State& state) {
  std::vector<std::vector<std::size_t>> members = members_of(state);
  std::vector<std::size_t> renumbered(members.size());
  std::size_t kept = 0;
  for (std::size_t b = 0; b < members.size(); ++b) {
    renumbered[b] = kept;
    if (members[b].empty()) continue;
    if (kept != b) members[kept] = std::move(members[b]);
    ++kept;
  }
  for (std::size_t& b : state.cluster) b = renumbered[b];
  state.T.assign(kept, std::vector<Rigid>(state.frames()));
  parallel_for(kept * state.frames(), 8, state.threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t b = i / state.frames();
      const std::size_t f = i % state.frames();
      state.T[b][f] = fit_rigid(state, members[b], f);
    }
  });
}

/// Puts every vertex into the cluster whose motion follows it best.
void update_clusters(State& state) {
  const std::size_t bones = state.T.size();
  parallel_for(state.vertices(), kVertexGrain, state.threads, [&](std::size_t begin, std::size_t end) {
    const auto count = static_cast<Eigen::Index>(end - begin);
    const auto first = static_cast<Eigen::Index>(begin);
    const Eigen::Matrix3Xd p = state.rest.middleCols(first, count);
    Eigen::MatrixXd errors = Eigen::MatrixXd::Zero(count, static_cast<Eigen::Index>(bones));
    for (std::size_t f = 0; f < state.frames(); ++f) {
      const Eigen::Matrix3Xd x = state.sequence().frames[f].middleCols(first, count).cast<double>();
      for (std::size_t b = 0; b < bones; ++b) {
        const Rigid& T = state.T[b][f];
        errors.col(static_cast<Eigen::Index>(b)) +=
            ((T.leftCols<3>() * p - x).colwise() + T.col(3)).colwise().squaredNorm().transpose();
      }
    }
    for (Eigen::Index i = 0; i < count; ++i) {
      Eigen::Index best = 0;
      const std::size_t v = begin + static_cast<std::size_t>(i);
      state.error[v] = errors.row(i).minCoeff(&best);
      state.cluster[v] = static_cast<std::size_t>(best);
      errors(i, best) = std::numeric_limits<double>::infinity();
      state.otherwise[v] = errors.row(i).minCoeff();
    }
  });
}

/// The vertex of a cluster that fits it worst, the farther from its centre the better: the seed of a new cluster.
std::size_t seed_of(const State& state, const std::vector<std::size_t>& members) {
  Eigen::Vector3d mean = Eigen::Vector3d::Zero();
  for (const std::size_t v : members) mean += state.rest.col(static_cast<Eigen::Index>(v));
  mean /= static_cast<double>(members.size());
  std::size_t seed = members.front();
  double most = -1;
  for (const std::size_t v : members) {
    const double value = state.error[v] * (state.rest.col(static_cast<Eigen::Index>(v)) - mean).norm();
    if (value > most) {
      most = value;
      seed = v;
    }
  }
  return seed;
}

/// The vertices of a cluster around a seed, nearest along the surface first.
std::vector<std::size_t> around(const State& state, std::size_t seed, std::size_t count) {
  std::vector<std::size_t> reached{seed};
  for (std::size_t at = 0; at < reached.size() && reached.size() < count; ++at)
    for (const Index v : state.neighbours[reached[at]])
      if (state.cluster[v] == state.cluster[seed] && reached.size() < count &&
          std::find(reached.begin(), reached.end(), v) == reached.end())
        reached.push_back(v);
  return reached;
}

/// Splits the worst clusters until there are `bones`, at most doubling their number. False when none can be split.
bool split(State& state, std::size_t bones) {
  const std::vector<std::vector<std::size_t>> members = members_of(state);
  std::vector<double> error(members.size(), 0);
  for (std::size_t v = 0; v < state.vertices(); ++v) error[state.cluster[v]] += state.error[v];
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return error[a] > error[b]; });
  const std::size_t before = state.T.size();
  for (const std::size_t b : order) {
    if (state.T.size() == bones) break;
    if (members[b].size() < 2 || !(error[b] > 0)) continue;
    const std::vector<std::size_t> near =
        around(state, seed_of(state, members[b]), std::min(members[b].size() - 1, kSeedNeighbours));
    std::vector<Rigid> motion(state.frames());
    for (std::size_t f = 0; f < state.frames(); ++f) motion[f] = fit_rigid(state, near, f);
    state.T.push_back(std::move(motion));
  }
  return state.T.size() > before;
}

/// The cluster whose vertices would lose least by going elsewhere.
std::size_t least_needed(const State& state) {
  std::vector<double> loss(state.T.size(), 0);
  for (std::size_t v = 0; v < state.vertices(); ++v) loss[state.cluster[v]] += state.otherwise[v] - state.error[v];
  return static_cast<std::size_t>(std::min_element(loss.begin(), loss.end()) - loss.begin());
}

double e_rms(const State& state, double radius) {
  return e_rms_of(state.total(), state.vertices(), state.frames(), radius);
}

void save_motion(const State& state, SavedArrays& arrays) {
  Eigen::MatrixXd motion(3 * static_cast<Eigen::Index>(state.frames()), 4 * static_cast<Eigen::Index>(state.T.size()));
  for (std::size_t b = 0; b < state.T.size(); ++b)
    for (std::size_t f = 0; f < state.frames(); ++f)
      motion.block<3, 4>(3 * static_cast<Eigen::Index>(f), 4 * static_cast<Eigen::Index>(b)) = state.T[b][f];
  arrays["motion"] = std::move(motion);
}

/// Takes up the motions that an earlier run left in this phase, if it did; `step` is the step it had reached.
bool take_motion(Checkpoint* checkpoint, std::string_view phase, State& state, int& step) {
  const auto saved = resume(checkpoint, phase);
  if (!saved) return false;
  const Eigen::MatrixXd& motion =
      saved_array(saved->arrays, "motion", 3 * static_cast<Eigen::Index>(state.frames()), -1);
  if (motion.cols() == 0 || motion.cols() % 4 != 0)
    throw Error(ErrorKind::input, "checkpoint: its motion is not one of whole bones");
  state.T.assign(static_cast<std::size_t>(motion.cols() / 4), std::vector<Rigid>(state.frames()));
  for (std::size_t b = 0; b < state.T.size(); ++b)
    for (std::size_t f = 0; f < state.frames(); ++f)
      state.T[b][f] = motion.block<3, 4>(3 * static_cast<Eigen::Index>(f), 4 * static_cast<Eigen::Index>(b));
  update_clusters(state);
  step = static_cast<int>(saved->step);
  return true;
}

Rig to_rig(const State& state) {
  Rig rig;
  rig.rest = state.sequence().rest;
  rig.times = state.sequence().times;
  rig.clips = state.sequence().clips;
  rig.transforms = Transforms::rigid;
  rig.weights.influences = 1;
  rig.weights.values.assign(state.vertices(), 1.0F);
  for (const std::size_t b : state.cluster) rig.weights.bones.push_back(static_cast<Index>(b));
  rig.motion = Motion(state.frames(), state.T.size());
  const std::vector<std::vector<std::size_t>> members = members_of(state);
  for (std::size_t b = 0; b < state.T.size(); ++b) {
    for (std::size_t f = 0; f < state.frames(); ++f) rig.motion(f, b) = state.T[b][f].cast<float>();
    Eigen::Vector3d mean = Eigen::Vector3d::Zero();
    for (const std::size_t v : members[b]) mean += state.rest.col(static_cast<Eigen::Index>(v));
    if (!members[b].empty()) mean /= static_cast<double>(members[b].size());
    rig.bones.push_back({fmt::format("bone_{:02}", b), -1, mean.cast<float>(), mean.cast<float>()});
  }
  return rig;
}

}  // namespace

Rig solve_clusters(const Sequence& sequence, const ClustersOptions& options, FitReport& report,
                   const Progress& progress) {
  if (options.bones < 1) throw Error(ErrorKind::usage, fmt::format("clusters: {} bones asked for", options.bones));
  const auto bones = static_cast<std::size_t>(options.bones);
  const double radius = smallest_enclosing_sphere(sequence.rest.positions).radius;
  const double start = now_seconds();
  State state;
  state.input = &sequence;
  state.threads = options.threads;
  state.rest = sequence.rest.positions.cast<double>();
  state.neighbours = mesh_adjacency(sequence.rest);
  state.cluster.assign(sequence.vertex_count(), 0);
  state.error.assign(sequence.vertex_count(), 0);
  state.otherwise.assign(sequence.vertex_count(), 0);
  state.T.resize(1);
  update_motion(state);
  update_clusters(state);
  report.method = "clusters";
  report.bones_asked = options.bones;
  report.termination = Termination::converged;
  bool go_on = true;
  const auto refine = [&] {  // rounds of fitting and assigning until they bring little
    double before = std::numeric_limits<double>::infinity();
    for (int i = 0; go_on && i < options.max_iterations; ++i) {
      update_motion(state);
      update_clusters(state);
      const double now = state.total();
      report.iterations.push_back({e_rms(state, radius), now_seconds() - start});
      go_on = tell(progress, fmt::format("{} clusters", state.T.size()),
                   static_cast<double>(state.T.size()) / static_cast<double>(bones));
      if (before - now <= kTolerance * before) break;
      before = now;
    }
  };
  int moves = 0;
  const bool grown = take_motion(options.checkpoint, "move", state, moves);
  if (!grown) take_motion(options.checkpoint, "grow", state, moves);
  const auto remember = [&](std::string_view phase) {
    keep(options.checkpoint, phase, moves, [&](SavedArrays& arrays) { save_motion(state, arrays); });
  };
  while (go_on && !grown && state.T.size() < bones) {
    const std::size_t clusters = state.T.size();
    if (!split(state, bones)) break;
    update_clusters(state);
    refine();
    remember("grow");
    if (state.T.size() <= clusters) break;  // splitting no longer brings anything
  }
  // k-means stays where it gets stuck: move a cluster that is hardly needed to where the error is, while that helps.
  for (; go_on && moves < kMaxMoves && state.T.size() > 1; ++moves) {
    remember("move");
    const State best = state;
    state.T.erase(state.T.begin() + static_cast<std::ptrdiff_t>(least_needed(state)));
    update_clusters(state);
    const bool splits = split(state, state.T.size() + 1);
    if (splits) {
      update_clusters(state);
      refine();
    }
    if (splits && state.total() < (1 - kTolerance) * best.total()) continue;
    state = best;
    break;
  }
  update_motion(state);
  if (!go_on) report.termination = Termination::cancelled;
  report.bones = static_cast<int>(state.T.size());
  if (state.T.size() < bones)
    report.remark = fmt::format("{} bones were asked for, {} move differently", bones, state.T.size());
  return to_rig(state);
}

}  // namespace sinew
