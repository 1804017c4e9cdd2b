#include "sinew/solve/blendshapes.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "core/index.h"
#include "math/parallel.h"
#include "sinew/core/error.h"
#include "sinew/solve/ssdr.h"
#include "solve/blendshapes/sparse_map.h"
#include "solve/lbs/bones.h"
#include "solve/lbs/given_rig.h"
#include "solve/lbs/problem.h"
#include "solve/lbs/to_rig.h"
#include "solve/lbs/weights_pass.h"

// | symbol | in code          | what                                                          |
// |--------|------------------|---------------------------------------------------------------|
// | Z      | MapSums          | how far slider s moves vertex v, scaled                       |
// | T      | identity + map.E | transforms by slider and bone; E = T − 1 is zero off support  |
// | w      | state.weights    | K-sparse convex weights                                       |
namespace sinew::blendshapes {
namespace {

using namespace lbs;

constexpr int kRounds = 60;          // at most, with the number of pairs that is wanted
constexpr double kTolerance = 5e-4;  // stop when the objective fell by less than this share of it over 4 rounds

/// Rounds in which pairs go, the same share in each.
int tightening_rounds(Quality quality) {
  return quality == Quality::fast ? 10 : quality == Quality::balanced ? 20 : 40;
}

void check_options(const BlendshapeOptions& options) {
  const auto check = [](bool good, const std::string& sentence) {
    if (!good) throw Error(ErrorKind::usage, sentence);
  };
  check(options.bones >= 1 && options.bones <= 1024, fmt::format("{} bones, expected 1 to 1024", options.bones));
  check(options.influences >= 1 && options.influences <= 8,
        fmt::format("{} influences, expected 1 to 8", options.influences));
  check(options.sparsity >= 0 && options.sparsity < 1,
        fmt::format("sparsity {}, expected a share from 0 to less than 1", options.sparsity));
}

struct State {
  SparseMap map;
  SparseWeights weights;
  WeightSums sums;
  double squares = 0;
};

class Solve {
 public:
  Solve(const Problem& problem, const BlendshapeOptions& options) : problem_(problem), options_(options) {}

  /// E of the rig's transforms, on a full support.
  State start(const Rig& dense) {
    State state;
    state.map.E = motion_in(problem_, dense.motion);
    for (std::size_t b = 0; b < dense.bone_count(); ++b) state.map.E.middleCols<4>(index(4 * b)) -= still();
    state.map.support.assign(problem_.frame_count(), std::vector<bool>(dense.bone_count(), true));
    state.weights = weights_in(dense, std::min(options_.influences, static_cast<int>(dense.bone_count())));
    pass(true, state);
    return state;
  }

  /// What the vertices leave for the map.
  MapSums sums(const State& state) const {
    MapSums out;
    out.S = state.sums.S;
    out.centers = bone_centers(state.sums);
    // The problem's trajectories are about its common motion T₀: z = y + (T₀ − 1) u, and Σ_b x_b = (u, 1).
    Eigen::MatrixXd all = Eigen::MatrixXd::Zero(4, out.S.cols());
    for (Eigen::Index b = 0; b < out.S.rows(); b += 4) all += out.S.middleRows<4>(b);
    out.C = state.sums.C - still() * all;
    out.total = state.squares + 2 * state.map.E.cwiseProduct(out.C).sum() -
                (state.map.E * out.S).cwiseProduct(state.map.E).sum();
    return out;
  }

  /// Weights for the map.
  void pass(bool keep, State& state) const {
    Eigen::MatrixXd D = state.map.E;
    for (Eigen::Index b = 0; b < D.cols(); b += 4) D.middleCols<4>(b) += still();
    PassOptions pass;
    pass.influences = std::min(options_.influences, static_cast<int>(D.cols() / 4));
    pass.swaps = 2;
    pass.keep_weights = keep;
    weights_pass(problem_, bone_gram(problem_, D), pass, state.weights, state.sums);
    state.squares = state.sums.squares;
  }

  /// D of a bone that does not move: 1 − T₀.
  Eigen::MatrixXd still() const {
    Eigen::MatrixXd out = -problem_.common();
    for (Eigen::Index s = 0; s < out.rows(); s += 3) out.block<3, 3>(s, 0).diagonal().array() += 1;
    return out;
  }

  /// One round: which pairs stay, their transforms, and weights for them. Rounds that take none away extrapolate the
  /// transforms, as Nesterov does, and begin anew whenever the objective rises.
  void improve(std::size_t pairs, bool tightening, State& state) {
    const MapSums now = sums(state);
    auto support = tightening ? proximal_support(now, options_.transforms, pairs) : state.map.support;
    if (!tightening && pairs < support.size() * support.front().size())
      exchange_pairs(now, options_.transforms, support);
    keep_only(support, state);
    refit(now, options_.transforms, state.map);
    const SparseMap found = state.map;
    const double before = state.squares;
    if (!tightening && earlier_.E.size() != 0) {
      const double grown = (1 + std::sqrt(1 + 4 * momentum_ * momentum_)) / 2;
      extrapolate(now, earlier_, (momentum_ - 1) / grown, options_.transforms, state.map);
      momentum_ = grown;
    }
    pass(false, state);
    if (state.squares > before) momentum_ = 1;
    if (!tightening) earlier_ = found;
  }

  /// The objective of the weights with the best map that leaves nothing out.
  double with_all_pairs(State state) const {
    const MapSums now = sums(state);
    for (std::vector<bool>& row : state.map.support) row.assign(row.size(), true);
    refit(now, options_.transforms, state.map);
    return objective(now, state.map.E);
  }

 private:
  void keep_only(const std::vector<std::vector<bool>>& support, State& state) const {
    state.map.support = support;
    for (std::size_t s = 0; s < support.size(); ++s)
      for (std::size_t b = 0; b < support[s].size(); ++b)
        if (!support[s][b]) state.map.E.block<3, 4>(index(3 * s), index(4 * b)).setZero();
  }

  const Problem& problem_;
  const BlendshapeOptions& options_;
  SparseMap earlier_;  // of the round before, without extrapolation
  double momentum_ = 1;
};

/// Numbers of a transform about a head, as SliderMap has them.
SliderMap::Entry entry_of(Index bone, Index slider, const Eigen::Matrix<double, 3, 4>& T, const Vector3& head,
                          Transforms transforms) {
  SliderMap::Entry out{bone, slider, {}};
  const Eigen::Vector3d h = head.cast<double>();
  const Eigen::Vector3d way = T * h.homogeneous() - h;
  std::copy_n(way.cast<float>().eval().data(), 3, out.by.begin());
  const Eigen::Matrix3d A = T.leftCols<3>();
  if (transforms == Transforms::affine) {
    const Eigen::Matrix3f change = (A - Eigen::Matrix3d::Identity()).cast<float>();
    std::copy_n(change.data(), 9, out.by.begin() + 3);
  } else {
    const Eigen::AngleAxisd turn(A);
    const Eigen::Vector3f r = (turn.angle() * turn.axis()).cast<float>();
    std::copy_n(r.data(), 3, out.by.begin() + 3);
  }
  return out;
}

/// The rig of a state: its map in the input's unit, and the motion of the frames.
SliderRig rig_of(const Blendshapes& shapes, const Sequence& examples, const Problem& problem, const Solve& solve,
                 const State& state, const BlendshapeOptions& options) {
  Eigen::MatrixXd D = state.map.E;
  for (Eigen::Index b = 0; b < D.cols(); b += 4) D.middleCols<4>(b) += solve.still();
  Rig rig = to_rig(examples, problem, D, state.weights, options.transforms, state.weights.capacity);
  SliderMap map;
  map.transforms = options.transforms;
  for (const Shape& shape : shapes.rest.shapes) map.names.push_back(shape.name);
  const Scaling& scaling = problem.scaling();
  for (std::size_t b = 0; b < rig.bone_count(); ++b)
    for (std::size_t s = 0; s < map.names.size(); ++s) {
      if (!state.map.support[s][b]) continue;
      Eigen::Matrix<double, 3, 4> T = state.map.E.block<3, 4>(index(3 * s), index(4 * b));
      T.leftCols<3>() += Eigen::Matrix3d::Identity();
      T.col(3) = T.col(3) / scaling.scale + scaling.center - T.leftCols<3>() * scaling.center;
      map.entries.push_back(
          entry_of(static_cast<Index>(b), static_cast<Index>(s), T, rig.bones[b].head, options.transforms));
    }
  rig.motion = slider_motion(map, rig.bones, shapes.values);
  rig.times = shapes.times;
  rig.clips = shapes.clips;
  return {std::move(rig), std::move(map), 0, 0};
}

/// How many of all pairs are left after a round.
std::size_t pairs_left(std::size_t all, std::size_t wanted, int round, int tightening) {
  if (round >= tightening) return wanted;
  const double share = static_cast<double>(round) / tightening;
  const auto full = static_cast<double>(all);
  return std::max(wanted, static_cast<std::size_t>(full * std::pow(static_cast<double>(wanted) / full, share)));
}

}  // namespace
}  // namespace sinew::blendshapes

namespace sinew {

SliderRig solve_blendshapes(const Blendshapes& shapes, const BlendshapeOptions& options, FitReport& report,
                            const Progress& progress) {
  using namespace blendshapes;
  check_options(options);
  shapes.check();
  const auto S = shapes.slider_count();
  const Sequence examples = shaped(shapes, Eigen::MatrixXf::Identity(index(S), index(S)));
  SsdrOptions dense;
  dense.bones = options.bones;
  dense.influences = options.influences;
  dense.transforms = options.transforms;
  dense.quality = options.quality;
  dense.seed = options.seed;
  dense.threads = options.threads;
  const auto part = [&](double from, double share) {
    return [&progress, from, share](std::string_view step, double fraction) {
      return tell(progress, step, fraction < 0 ? fraction : from + share * fraction);
    };
  };
  const Rig first = solve_ssdr(examples, dense, report, part(0, 0.6));
  bool stopped = report.termination == Termination::cancelled;
  report.method = "blendshapes";
  report.iterations.clear();
  const double begun = now_seconds();

  const Problem problem(examples, {0, options.threads, options.seed});
  Solve solve(problem, options);
  State state = solve.start(first);
  const std::size_t all = state.map.size();
  const auto wanted = std::max<std::size_t>(
      1, static_cast<std::size_t>(std::floor((1 - options.sparsity) * static_cast<double>(all) + 1e-9)));
  const double dense_error = problem.e_rms(state.squares);
  const int tightening = wanted < all ? tightening_rounds(options.quality) : 0;
  const int rounds = tightening + kRounds;
  State best;
  std::vector<double> values;  // of the rounds with the pairs that are wanted
  report.termination = Termination::iteration_limit;
  for (int round = 1; round <= rounds; ++round) {
    solve.improve(pairs_left(all, wanted, round, tightening), round <= tightening, state);
    report.iterations.push_back({problem.e_rms(state.squares), now_seconds() - begun});
    stopped = !tell(progress, "map", 0.6 + 0.4 * round / rounds) || stopped;
    if (round < tightening) continue;  // also when asked to stop: a map has no more pairs than are wanted
    values.push_back(state.squares);
    if (values.size() == 1 || state.squares < best.squares) best = state;
    const std::size_t n = values.size();
    const bool settled = n > 4 && values[n - 5] - values[n - 1] <= kTolerance * values[n - 5];
    if (settled) report.termination = Termination::converged;
    if (settled || stopped) break;
  }
  if (stopped) report.termination = Termination::cancelled;
  report.bones = static_cast<int>(first.bone_count());
  report.add_seconds("map", now_seconds() - begun);
  SliderRig out = rig_of(shapes, examples, problem, solve, best, options);
  out.dense_e_rms = dense_error;
  out.full_map_e_rms = problem.e_rms(solve.with_all_pairs(best));
  return out;
}

Errors evaluate_sliders(const Rig& rig, const SliderMap& map, const Blendshapes& shapes, const Eigen::MatrixXf& values,
                        int threads) {
  bool same = map.slider_count() == shapes.slider_count();
  for (std::size_t s = 0; same && s < shapes.slider_count(); ++s) same = map.names[s] == shapes.rest.shapes[s].name;
  if (!same)
    throw Error(ErrorKind::input,
                fmt::format("{}: its {} shapes are not the sliders of the rig", shapes.name, shapes.slider_count()));
  const Sequence frames = shaped(shapes, values);
  Rig posed = rig;
  posed.motion = slider_motion(map, rig.bones, values);
  posed.times = frames.times;
  posed.clips.clear();
  posed.corrections.reset();
  return evaluate(posed, frames, threads);
}

}  // namespace sinew
