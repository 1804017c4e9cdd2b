#include "solve/lbs/alternation.h"

#include <algorithm>
#include <cmath>

#include "core/index.h"
#include "solve/lbs/bone_moves.h"
#include "solve/lbs/on_device.h"
#include "solve/lbs/saved_fit.h"

namespace sinew::lbs {
namespace {

/// Exchanges of bones pay mostly early: after the first iterations of a run only every kPatient-th vertex tries one.
constexpr int kEager = 12;
constexpr int kPatient = 4;

constexpr int kFirstReseed = 4;          // iterations before bones without weight are looked for, then twice as many
constexpr double kAlmostNothing = 1e-3;  // their squared weights, relative to the vertices that a bone has in the mean

constexpr double kRise = 1e-10;  // a relative rise of the objective up to this is rounding

double smoothness_value(const Problem& problem, const Smoothing& smoothing, const SparseWeights& weights) {
  if (!(smoothing.strength > 0)) return 0;
  return smoothing.strength * static_cast<double>(problem.frame_count()) *
         roughness(problem, *smoothing.edges, weights);
}

void nobody_waits(const Problem& problem, ExchangeWaits& waits) {
  waits.passes.assign(problem.vertex_count(), 0);
  waits.left.assign(problem.vertex_count(), 0);
}

/// One weights half-step and one bones half-step from the motions `start`, which a device first makes rigid about
/// `centers` where there are any. Where bones are new, all vertices try them.
void step(const Problem& problem, const RunOptions& options, int iteration, bool bones_are_new,
          const Eigen::MatrixXd& start, const Eigen::MatrixXd& centers, ResidentWeights& resident, FitState& state) {
  PassOptions pass;
  pass.influences = options.influences;
  pass.swaps = options.swaps;
  const bool eager = options.patient || iteration < kEager || bones_are_new;
  pass.swap_period = eager ? options.swap_period : kPatient * options.swap_period;
  if (options.patient) pass.waits = &state.waits;
  pass.thorough_period = options.thorough_period;
  pass.phase = iteration;
  pass.smoothing = options.smoothing;
  pass.locked = options.locked_vertices;
  pass.keep_weights = !options.update_weights;
  pass.shared = options.smoothing.strength > 0;  // neighbours pull
  if (resident.moves_bones()) {
    resident.iterate(problem, start, centers, pass, options.bones, state);
  } else {
    if (resident.on_device()) {
      resident.pass(bone_gram(problem, start), pass, state.sums);
    } else {
      weights_pass(problem, bone_gram(problem, start), pass, state.weights, state.sums);
    }
    state.D = start;
    if (options.update_bones) update_bones(problem, state.sums, options.bones, state.D);
    state.squares = objective(problem, state.sums, state.D);
  }
  state.value = state.squares + smoothness_value(problem, options.smoothing, state.weights);
  // Vertices that may use all bones have none to exchange.
  const std::uint64_t exchanges = options.influences < state.bones() ? state.sums.exchanges : 0;
  if (options.work != nullptr)
    options.work->done += iteration_work(problem, state.bones(), options.influences, exchanges);
}

/// What ranks know of their own vertices alone while they iterate.
void share_fit(const Problem& problem, FitState& state) {
  share_weights(problem, state.weights);
  if (state.sums.residual.size() == problem.vertex_count())
    problem.ranks().share(state.sums.residual.data(), 1, problem.vertex_count());
}

/// What a run carries from iteration to iteration beside the state.
struct RunPlace {
  int iteration = 0;
  double momentum = 1;
  Eigen::MatrixXd previous;  // bones before the last iteration
  std::vector<double> history;
};

void save_run(const FitState& state, const RunPlace& place, SavedArrays& arrays) {
  save_fit(state, "", arrays);
  arrays["momentum"] = numbers({place.momentum});
  arrays["previous motion"] = place.previous;
  arrays["history"] =
      Eigen::Map<const Eigen::RowVectorXd>(place.history.data(), static_cast<Eigen::Index>(place.history.size()));
}

RunPlace saved_run(const Problem& problem, const SolveState& saved, FitState& state) {
  state = saved_fit(saved.arrays, "", problem.frame_count(), problem.vertex_count());
  RunPlace place;
  place.iteration = static_cast<int>(saved.step);
  place.momentum = saved_number(saved.arrays, "momentum", 1, 1e6);
  place.previous = saved_array(saved.arrays, "previous motion", state.D.rows(), state.D.cols());
  const Eigen::MatrixXd& history = saved_array(saved.arrays, "history", 1, -1);
  place.history.assign(history.data(), history.data() + history.size());
  // S is that of the weights; the residuals are those of the pass before.
  const std::vector<float> residual = state.sums.residual;
  PassOptions pass;
  pass.influences = state.weights.capacity;
  pass.keep_weights = true;
  pass.shared = false;
  weights_pass(problem, bone_gram(problem, state.D), pass, state.weights, state.sums);
  state.sums.residual = residual;
  return place;
}

/// After four iterations, and then the less often: what did not pay before seldom does.
bool looks_for_idle_bones(int iteration) {
  int next = kFirstReseed;
  while (next < iteration) next *= 2;
  return iteration == next;
}

/// Gives bones that almost nothing follows the motions that would gain most; returns which they are.
std::vector<int> reseed(const Problem& problem, const RunOptions& options, int iteration,
                        const ResidentWeights& resident, FitState& state, Eigen::MatrixXd& start) {
  std::vector<int> idle;
  const double little = kAlmostNothing * static_cast<double>(problem.vertex_count()) / state.bones();
  for (int b = 0; b < state.bones(); ++b) {
    const bool locked = !options.bones.locked.empty() && options.bones.locked[at(b)] != 0;
    if (!locked && state.sums.S(4 * b + 3, 4 * b + 3) <= little) idle.push_back(b);
  }
  if (idle.empty()) return idle;
  if (options.work != nullptr) options.work->done += idle.size() * comparison_work(problem, state.bones() + 12);
  resident.fetch(state);
  share_fit(problem, state);
  const double whole[] = {1};
  const Eigen::MatrixXd motions = propose_bones(problem, state, static_cast<int>(idle.size()), options.bones.transforms,
                                                whole, static_cast<std::uint64_t>(iteration));
  start = state.D;
  for (std::size_t i = 0; i < idle.size(); ++i)
    start.middleCols<4>(4 * idle[i]) = motions.middleCols<4>(4 * static_cast<Eigen::Index>(i));
  return idle;
}

RunEnd iterate(const Problem& problem, const RunOptions& options, RunPlace place, ResidentWeights& resident,
               FitState& state) {
  Eigen::MatrixXd& previous = place.previous;
  double& momentum = place.momentum;
  std::vector<double>& history = place.history;
  int stuck = 0;  // plain steps in a row that did not descend
  FitState next;
  for (int iteration = place.iteration; iteration < options.iterations; ++iteration) {
    const double grown = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
    Eigen::MatrixXd start = state.D;
    Eigen::MatrixXd centers;
    std::vector<int> reseeded;
    if (options.reseed && options.update_bones && looks_for_idle_bones(iteration))
      reseeded = reseed(problem, options, iteration, resident, state, start);
    const double beta = options.accelerate && options.update_bones && reseeded.empty() ? (momentum - 1) / grown : 0;
    if (beta > 0) {
      start += beta * (state.D - previous);
      if (options.bones.transforms == Transforms::rigid) {
        centers = bone_centers(state.sums);
        if (!resident.moves_bones()) make_rigid(problem, centers, start);
      }
      for (std::size_t b = 0; b < options.bones.locked.size(); ++b) {
        const auto column = static_cast<Eigen::Index>(4 * b);
        if (options.bones.locked[b] != 0) start.middleCols<4>(column) = state.D.middleCols<4>(column);
      }
    }
    if (!resident.on_device()) {
      next.weights = state.weights;
      next.waits = state.waits;
    }
    step(problem, options, iteration, !reseeded.empty(), start, centers, resident, next);
    if (next.value > state.value * (1 + kRise)) {
      if (!reseeded.empty()) continue;  // it does not pay: as if nothing had been tried
      // Not even plain steps descend, whichever vertices try exchanges: converged to rounding.
      if (beta == 0 && ++stuck == kPatient) return RunEnd::converged;
      momentum = 1;
      previous = state.D;
      continue;
    }
    previous = state.D;
    std::swap(state, next);
    resident.accept();
    for (const int b : reseeded) previous.middleCols<4>(4 * b) = state.D.middleCols<4>(4 * b);  // a jump, no direction
    if (reseeded.empty()) momentum = grown;
    stuck = 0;
    history.push_back(state.value);
    keep(options.checkpoint, options.phase, iteration + 1, [&](SavedArrays& arrays) {
      resident.fetch(state);
      share_fit(problem, state);
      save_run(state, place, arrays);
    });
    if (options.after && !options.after(state)) return RunEnd::stopped;
    const std::size_t n = history.size();
    if (n > 4 && history[n - 5] - history[n - 1] <= options.tolerance * history[n - 1]) return RunEnd::converged;
  }
  return RunEnd::limit;
}

}  // namespace

Termination termination_of(RunEnd end) {
  switch (end) {
    case RunEnd::converged:
      return Termination::converged;
    case RunEnd::stopped:
      return Termination::cancelled;
    case RunEnd::limit:
      break;
  }
  return Termination::iteration_limit;
}

RunEnd run(const Problem& problem, const RunOptions& options, FitState& state) {
  RunPlace place;
  if (const auto saved = resume(options.checkpoint, options.phase)) {
    place = saved_run(problem, *saved, state);
  } else {
    state.value = std::numeric_limits<double>::infinity();
    place.previous = state.D;
  }
  if (state.weights.capacity < options.influences) state.weights = with_capacity(state.weights, options.influences);
  if (options.patient && state.waits.passes.size() != problem.vertex_count()) nobody_waits(problem, state.waits);
  ResidentWeights resident(problem, options, state);
  const RunEnd end = iterate(problem, options, std::move(place), resident, state);
  resident.fetch(state);
  share_fit(problem, state);
  // Slots that a looser run left behind would be taken for influences that may be used.
  const bool all_solved = options.update_weights && options.locked_vertices.empty();
  if (all_solved && state.weights.capacity > options.influences) {
    const int fullest = *std::max_element(state.weights.count.begin(), state.weights.count.end());
    state.weights = with_capacity(state.weights, std::max(fullest, options.influences));
  }
  return end;
}

double squares_of(const Problem& problem, FitState& state) {
  PassOptions pass;
  pass.influences = state.weights.capacity;
  pass.keep_weights = true;
  weights_pass(problem, bone_gram(problem, state.D), pass, state.weights, state.sums);
  return objective(problem, state.sums, state.D);
}

void remove_bone(FitState& state, int b) {
  const Eigen::Index tail = state.D.cols() - 4 * (b + 1);
  state.D.middleCols(4 * b, tail) = state.D.rightCols(tail).eval();
  state.D.conservativeResize(Eigen::NoChange, state.D.cols() - 4);
  SparseWeights& w = state.weights;
  for (std::size_t v = 0; v < w.vertex_count(); ++v) {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < w.count[v]; ++k) {
      const int bone = w.bone[w.slot(v) + k];
      if (bone == b) {
        if (v < state.waits.left.size()) state.waits.passes[v] = state.waits.left[v] = 0;
        continue;
      }
      w.bone[w.slot(v) + kept] = static_cast<std::uint16_t>(bone > b ? bone - 1 : bone);
      w.value[w.slot(v) + kept++] = w.value[w.slot(v) + k];
    }
    w.count[v] = static_cast<std::uint16_t>(kept);
  }
}

void add_bones(FitState& state, const Eigen::MatrixXd& motions) {
  const Eigen::Index before = state.D.cols();
  state.D.conservativeResize(Eigen::NoChange, before + motions.cols());
  state.D.rightCols(motions.cols()) = motions;
  state.waits = {};
}

}  // namespace sinew::lbs
