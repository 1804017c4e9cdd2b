#include "solve/lbs/bone_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "sinew/core/error.h"
#include "solve/lbs/motion_clusters.h"
#include "solve/lbs/saved_fit.h"

namespace sinew::lbs {
namespace {

/// The motion that fits a patch best when it takes `share` of the weights there and the present ones keep the rest:
/// with c what the bones make of the patch now, a fit of (y − (1 − share) c) / share. A small share gives bones that
/// pull from beyond, as stretching by rigid bones needs.
Eigen::MatrixXd fit_beside(const Problem& problem, const FitState& state, const std::vector<Index>& patch, double share,
                           Transforms transforms) {
  const Problem part = problem.sample(patch);
  Eigen::MatrixXd motion = Eigen::MatrixXd::Zero(state.D.rows(), 4);
  MotionClusters one;
  one.labels.assign(patch.size(), 0);
  one.D = motion;
  SparseWeights weights = weights_of(one, 1);
  WeightSums sums;
  PassOptions sum_up;
  sum_up.keep_weights = true;
  weights_pass(part, bone_gram(part, motion), sum_up, weights, sums);
  Eigen::MatrixXd cross = Eigen::MatrixXd::Zero(state.D.cols(), 4);  // Σ (w ⊗ u) uᵀ
  for (const Index v : patch) {
    const Eigen::Vector4d u(problem.rest()(0, v), problem.rest()(1, v), problem.rest()(2, v), 1);
    for (std::size_t k = 0; k < state.weights.count[v]; ++k) {
      const std::size_t slot = state.weights.slot(v) + k;
      cross.middleRows<4>(4 * Eigen::Index{state.weights.bone[slot]}) += state.weights.value[slot] * u * u.transpose();
    }
  }
  sums.C = (sums.C - (1 - share) * (state.D * cross)) / share;
  BoneOptions bones;
  bones.sweeps = 1;
  update_bones(part, sums, bones, motion);
  if (transforms == Transforms::rigid) return motion;
  bones.transforms = transforms;
  bones.stretch_cost = 1e-3;
  update_bones(part, sums, bones, motion);
  return motion;
}

/// A way out of a local minimum: this many bones and influences per vertex more for a while.
struct Move {
  int bones;
  int influences;
};
constexpr Move kMoves[] = {{0, 3}, {1, 2}, {1, 0}, {2, 2}, {0, 6}, {2, 3}};

constexpr double kShares[] = {1, 0.5, 0.25};  // of the weights that a new bone is fitted for
constexpr double kPays = 1e-3;                // a move that lowers the value by less than this share does not pay
constexpr double kHorizon = 30;               // iterations at the present rate that a trial may need to overtake
constexpr int kLongest = 100;                 // iterations of a trial at most
constexpr double kAbove = 0.02;               // the search goes on from a move that ends this far above the best
constexpr int kAstray = 12;                   // moves in a row without a new best after which it is gone back to
constexpr double kHopeless = 1.3;             // a start this far behind the best one after as many moves is given up
constexpr double kSettled = 1e-4;             // tolerance of trials

/// Adds bones where they would gain most, lets all settle, and takes away as many that matter least.
void breathe(const Problem& problem, const RunOptions& run_options, int added, std::uint64_t seed, FitState& state) {
  const int bones = state.bones();
  add_bones(state, propose_bones(problem, state, added, run_options.bones.transforms, kShares, seed));
  RunOptions settle = run_options;
  settle.iterations = 12;
  settle.tolerance = 0;
  run(problem, settle, state);
  shrink(problem, settle, bones, state);
}

void apply(const Problem& problem, const RunOptions& run_options, const Move& move, std::uint64_t seed,
           FitState& state) {
  const auto with = [&](int more) {
    RunOptions loose = run_options;
    loose.influences = std::min(run_options.influences + more, state.bones());
    loose.iterations = 6;
    loose.tolerance = 0;
    return loose;
  };
  if (move.bones > 0) breathe(problem, with(move.influences), move.bones, seed, state);
  for (int more = move.influences - (move.bones > 0 ? 1 : 0); more > 0; --more) run(problem, with(more), state);
}

/// Iterates as long as the value may fall below `target` at the rate it falls now.
void pursue(const Problem& problem, const RunOptions& run_options, double target, FitState& state) {
  RunOptions settle = run_options;
  settle.iterations = kLongest;
  settle.tolerance = kSettled;
  std::vector<double> history;
  settle.after = [&](const FitState& now) {
    history.push_back(now.value);
    const std::size_t n = history.size();
    return n < 7 || now.value - kHorizon * (history[n - 5] - now.value) / 4 < target;
  };
  run(problem, settle, state);
}

/// What draws of one round depend on, so that a round can be repeated without those before it.
std::uint64_t seed_of(std::uint64_t seed, int start, int round) {
  std::seed_seq sequence{seed, seed >> 32, static_cast<std::uint64_t>(start), static_cast<std::uint64_t>(round)};
  std::uint32_t words[2];
  sequence.generate(words, words + 2);
  return static_cast<std::uint64_t>(words[0]) << 32 | words[1];
}

/// One start of a search, or one of the searches begun anew.
struct Runner {
  FitState state;  // the best so far
  FitState walk;   // where moves are tried from: the best, or close above it
  int start = 0;
  int round = 0;
  int failures = 0;  // moves in a row that did not pay
};

/// Takes a start away from where all begin: the first stays, the others come from more rigid parts than there are to
/// be bones, half as many again or more, shrunk.
void begin(const Problem& problem, const SearchOptions& options, Runner& runner) {
  const int bones = runner.state.bones();
  const int parts = bones + runner.start * (bones + 1) / 2;
  if (runner.start == 0) return;
  const MotionClusters clusters = cluster_by_motion(problem, static_cast<std::size_t>(parts));
  if (static_cast<int>(clusters.count()) < bones) return;
  runner.state.D = clusters.D;
  runner.state.weights = weights_of(clusters, options.run.influences);
  RunOptions settle = options.run;
  settle.iterations = 8;
  settle.tolerance = 0;
  run(problem, settle, runner.state);
  shrink(problem, options.run, bones, runner.state);
  pursue(problem, options.run, 0, runner.state);
}

/// Moves are judged by threshold accepting [Dueck and Scheuer 1990]: what ends a little above the best is another
/// minimum, from which other moves pay.
void try_move(const Problem& problem, const SearchOptions& options, Runner& runner) {
  FitState trial = runner.walk;
  const Move& move = kMoves[static_cast<std::size_t>(runner.round) % std::size(kMoves)];
  apply(problem, options.run, move, seed_of(options.seed, runner.start, runner.round), trial);
  const double most = std::max(runner.walk.value, runner.state.value * (1 + kAbove));
  pursue(problem, options.run, most, trial);
  runner.failures = trial.value < runner.state.value * (1 - kPays) ? 0 : runner.failures + 1;
  if (trial.value < runner.state.value) runner.state = trial;
  if (trial.value < most) std::swap(runner.walk, trial);
  if (runner.failures > 0 && runner.failures % kAstray == 0) runner.walk = runner.state;
  ++runner.round;
}

}  // namespace

std::vector<Index> patch_around(const Problem& problem, std::size_t seed, std::size_t count) {
  const Eigen::Vector3d from = problem.rest().col(static_cast<Eigen::Index>(seed));
  std::vector<std::pair<double, Index>> order(problem.vertex_count());
  for (std::size_t v = 0; v < order.size(); ++v) {
    order[v] = {(problem.rest().col(static_cast<Eigen::Index>(v)) - from).squaredNorm(), static_cast<Index>(v)};
  }
  const std::size_t n = std::min(count, order.size());
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n - 1), order.end());
  std::vector<Index> patch(n);
  for (std::size_t i = 0; i < n; ++i) patch[i] = order[i].second;
  std::sort(patch.begin(), patch.end());
  return patch;
}

Eigen::MatrixXd propose_bones(const Problem& problem, const FitState& state, int count, Transforms transforms,
                              std::span<const double> shares, std::uint64_t seed) {
  constexpr int kCandidates = 12;
  std::mt19937_64 random(seed);
  std::vector<double> cumulative(problem.vertex_count());
  double sum = 0;
  for (std::size_t v = 0; v < cumulative.size(); ++v) cumulative[v] = sum += state.sums.residual[v];
  Eigen::MatrixXd candidates(state.D.rows(), 4 * kCandidates * count);
  const double share = static_cast<double>(problem.vertex_count()) / state.bones();
  for (int c = 0; c < kCandidates * count; ++c) {
    const double at = sum * std::generate_canonical<double, 53>(random);
    const auto v =
        std::min<std::ptrdiff_t>(std::lower_bound(cumulative.begin(), cumulative.end(), at) - cumulative.begin(),
                                 static_cast<std::ptrdiff_t>(cumulative.size()) - 1);
    const double size = share * std::exp2(-3.0 * std::generate_canonical<double, 53>(random));
    const auto patch =
        patch_around(problem, static_cast<std::size_t>(v), static_cast<std::size_t>(std::max(6.0, size)));
    candidates.middleCols<4>(4 * c) =
        fit_beside(problem, state, patch, shares[static_cast<std::size_t>(c) % shares.size()], transforms);
  }
  // Best of its own batch each, beside those chosen before.
  Eigen::MatrixXd chosen(state.D.rows(), 0);
  for (int i = 0; i < count; ++i) {
    Eigen::MatrixXd batch(state.D.rows(), chosen.cols() + 4 * kCandidates);
    batch << chosen, candidates.middleCols(4 * kCandidates * i, 4 * kCandidates);
    const std::vector<double> gains =
        addition_gains(problem, state.D, state.weights, batch, static_cast<std::size_t>(i));
    const auto best = std::max_element(gains.begin() + i, gains.end()) - gains.begin();
    chosen.conservativeResize(Eigen::NoChange, chosen.cols() + 4);
    chosen.rightCols<4>() = batch.middleCols<4>(4 * best);
  }
  return chosen;
}

void shrink(const Problem& problem, const RunOptions& run_options, int bones, FitState& state) {
  RunOptions settle = run_options;
  settle.iterations = 4;
  settle.tolerance = 0;
  while (state.bones() > bones) {
    const std::vector<double> costs = removal_costs(problem, bone_gram(problem, state.D), state.weights);
    remove_bone(state, static_cast<int>(std::min_element(costs.begin(), costs.end()) - costs.begin()));
    run(problem, settle, state);
  }
}

namespace {

/// How far a search has come.
struct SearchPlace {
  int start = 0;       // kicks count on from the starts
  bool begun = false;  // the runner of this start
  int done = 0;        // moves tried
  Runner runner;
  Runner best;                  // of the starts before this one
  std::vector<double> leading;  // least value after each of the first moves
};

void save_search(const FitState& initial, const SearchPlace& place, SavedArrays& arrays) {
  save_fit(initial, "", arrays);
  const auto save_runner = [&](const Runner& runner, const std::string& name) {
    save_fit(runner.state, name + " ", arrays);
    save_fit(runner.walk, name + " walk ", arrays);
  };
  if (place.begun) save_runner(place.runner, "runner");
  if (place.start > 0) save_runner(place.best, "best");
  const auto number = [](int value) { return static_cast<double>(value); };
  arrays["place"] = numbers({number(place.start), place.begun ? 1.0 : 0.0, number(place.done),
                             number(place.runner.start), number(place.runner.round), number(place.runner.failures),
                             number(place.best.start), number(place.best.round), number(place.best.failures)});
  Eigen::MatrixXd& leading = arrays["leading"] = Eigen::MatrixXd(1, static_cast<Eigen::Index>(place.leading.size()));
  for (std::size_t i = 0; i < place.leading.size(); ++i)  // -1: none yet
    leading(static_cast<Eigen::Index>(i)) = std::isfinite(place.leading[i]) ? place.leading[i] : -1;
}

void take_search(const Problem& problem, const SavedArrays& arrays, FitState& initial, SearchPlace& place) {
  const auto fit = [&](const std::string& prefix) {
    return saved_fit(arrays, prefix, problem.frame_count(), problem.vertex_count());
  };
  const Eigen::MatrixXd& numbers = saved_array(arrays, "place", 9, 1);
  if (numbers.minCoeff() < 0 || numbers.maxCoeff() > 1e9)
    throw Error(ErrorKind::input, "checkpoint: the place of its search does not exist");
  const auto number = [&](Eigen::Index i) { return static_cast<int>(numbers(i)); };
  initial = fit("");
  place.start = number(0);
  place.begun = number(1) != 0;
  place.done = number(2);
  const auto runner = [&](const std::string& name, Eigen::Index i) {
    return Runner{fit(name + " "), fit(name + " walk "), number(i), number(i + 1), number(i + 2)};
  };
  if (place.begun) place.runner = runner("runner", 3);
  if (place.start > 0) place.best = runner("best", 6);
  const Eigen::MatrixXd& leading = saved_array(arrays, "leading", 1, static_cast<Eigen::Index>(place.leading.size()));
  for (std::size_t i = 0; i < place.leading.size(); ++i)
    if (leading(static_cast<Eigen::Index>(i)) >= 0) place.leading[i] = leading(static_cast<Eigen::Index>(i));
}

}  // namespace

bool search_bones(const Problem& problem, const SearchOptions& options, FitState& state) {
  SearchPlace place;
  place.leading.assign(static_cast<std::size_t>(options.heat), std::numeric_limits<double>::infinity());
  if (const auto saved = resume(options.checkpoint, options.phase)) take_search(problem, saved->arrays, state, place);
  const auto keep_going = [&] {
    ++place.done;
    return !options.keep_going || options.keep_going(std::min(1.0, static_cast<double>(place.done) / options.rounds));
  };
  const auto remember = [&] {
    keep(options.checkpoint, options.phase, place.done,
         [&](SavedArrays& arrays) { save_search(state, place, arrays); });
  };
  bool going = true;
  Runner& runner = place.runner;
  Runner& best = place.best;
  for (; place.start < options.starts && going; ++place.start) {
    if (!place.begun) {
      runner = {state, {}, place.start, 0, 0};
      begin(problem, options, runner);
      runner.walk = runner.state;
      place.begun = true;
    }
    while (going && runner.round < options.heat) {
      remember();
      double& lead = place.leading[static_cast<std::size_t>(runner.round)];
      try_move(problem, options, runner);
      going = keep_going();
      if (runner.state.value > kHopeless * lead) break;
      lead = std::min(lead, runner.state.value);
    }
    if (place.start == 0 || runner.state.value < best.state.value) std::swap(best, runner);
    place.begun = false;
  }
  const auto climb = [&](Runner& climber, int patience) {
    while (going && place.done < options.rounds && climber.failures < patience) {
      remember();
      try_move(problem, options, climber);
      going = keep_going();
    }
  };
  if (place.start == options.starts && !place.begun) climb(best, options.patience);
  // From where moves no longer pay, a third of the bones exchanged at once leads elsewhere: up, and sometimes further
  // down.
  for (; place.start < options.starts + options.kicks && going && place.done < options.rounds; ++place.start) {
    if (!place.begun) {
      runner = {best.state, {}, place.start, 0, 0};
      breathe(problem, options.run, (state.bones() + 2) / 3, seed_of(options.seed, runner.start, -1), runner.state);
      pursue(problem, options.run, 0, runner.state);
      runner.walk = runner.state;
      place.begun = true;
    }
    climb(runner, static_cast<int>(std::size(kMoves)) + 1);
    if (runner.state.value < best.state.value) std::swap(best, runner);
    place.begun = false;
  }
  std::swap(state, best.state);
  return going;
}

}  // namespace sinew::lbs
