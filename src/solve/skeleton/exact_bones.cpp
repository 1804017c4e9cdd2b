#include "solve/skeleton/exact_bones.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "core/index.h"
#include "solve/lbs/saved_fit.h"
#include "solve/skeleton/moves.h"
#include "solve/skeleton/patch_bones.h"
#include "solve/skeleton/saved.h"
#include "solve/skeleton/search.h"
#include "solve/skeleton/strict.h"
#include "solve/skeleton/tree.h"

namespace sinew::skeleton {
namespace {

constexpr int kFreeBonesMost = 128;  // to begin with
constexpr double kExactFree = 0.5;   // E_RMS beyond the noise that free bones may leave of a motion made by bones
constexpr double kAnyError = std::numeric_limits<double>::infinity();
constexpr double kExactJointed = 0.8;  // the same with joints
constexpr double kCliff = 5;           // times that error where half of the bones are gone, at least
constexpr double kUncounted = 0.1;     // E_RMS that does not count there
constexpr int kFreeIterations = 12;    // of the free bones before any goes
constexpr int kWithoutFree = 6;        // after one has gone
constexpr int kJointRounds = 30;       // with strict joints, before any goes
constexpr int kWithoutJointed = 10;    // after one has gone
constexpr int kTurns = 4;              // of adding, dropping and moving, at most
constexpr int kMovesOfTurn = 8;        // of bones and joints
constexpr double kPays = 0.98;         // of the telling, for which another turn follows
constexpr int kGrowths = 2;            // in a row that do not make the telling shorter
constexpr double kOutside = 4;         // bones more that one costs which leads outside the body
constexpr double kClose = 4;           // bones that the shortest telling is away, where a trial goes on settling
constexpr int kBonesTried = 8;         // of the bones, the cheapest, that are tried before dropping ends
constexpr int kEveryNumber = 32;       // up to which the curve has every number of them
constexpr int kManyBones = 48;         // above which a tenth goes at a time, half of that where it fails, then more

/// Of the precision, to which free bones are told: a few of them do what more joints did, and are missed with joints.
constexpr std::array kFiner{1.0, 0.4};

/// How long the telling of a motion is: residuals of every vertex to a precision, bones as 3 numbers in every frame.
/// Where bones made a motion, what they leave is noise, so that every vertex counts for itself. A bone that leads
/// outside the body must be worth several.
struct Telling {
  double rows;      // 3F
  double variance;  // per number, radius 1: precision and noise

  double of_a_bone(const SkeletonFit& fit) const {
    return 0.5 * (rows + 3) * std::log(rows * static_cast<double>(fit.problem->vertex_count()));
  }

  double nats(const SkeletonFit& fit) const {
    double sum = 0;
    for (const float squares : fit.state.sums.residual)
      sum += std::log1p(static_cast<double>(squares) / (rows * variance));
    double bones = fit.state.bones();
    for (int b = 0; b < fit.state.bones(); ++b) bones += kOutside * outside(fit, b);
    return 0.5 * rows * sum + bones * of_a_bone(fit);
  }
};

/// What errors are told to, E_RMS.
double exact_precision(Detail detail) {
  return detail == Detail::low ? 1.5 : detail == Detail::high ? 0.2 : 0.5;
}

/// The bones whose absence costs the weights least come first, before them those that lead outside the body.
std::vector<int> cheapest_first(const SkeletonFit& fit) {
  std::vector<double> costs = removal_costs(*fit.problem, bone_gram(*fit.problem, fit.state.D), fit.state.weights);
  for (int b = 0; b < fit.state.bones(); ++b)
    if (outside(fit, b) > 0.25) costs[at(b)] = 0;
  std::vector<int> order(costs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return costs[at(a)] < costs[at(b)]; });
  return order;
}

void settle_free(SkeletonFit& fit, int iterations) {
  RunOptions options;
  options.iterations = iterations;
  options.tolerance = 1e-3;
  options.influences = fit.influences;
  options.swap_period = fit.swap_period;
  run(*fit.problem, options, fit.state);
}

/// Takes bones away while that makes the telling shorter and leaves an E_RMS of `most` or less. `without(fit, bones)`
/// is a fit without some of its bones; `settle(fit)` goes on with it where it comes close; `reached(fit)` is told of
/// every step. False: asked to stop.
template <class Without, class Settle, class Reached>
bool drop_while_shorter(const Telling& telling, double most, const Without& without, const Settle& settle,
                        const Reached& reached, const Progress& progress, SkeletonFit& fit) {
  double nats = telling.nats(fit);
  int place = 0;                      // in the order, of the bone that is tried next
  int missed = 0;                     // bones tried since the last that went
  int many = fit.state.bones() / 10;  // go at a time
  const double close = kClose * telling.of_a_bone(fit);
  std::vector<int> order = cheapest_first(fit);
  while (fit.state.bones() > 1 && fit.e_rms() <= most) {
    const int window = std::min(kBonesTried, fit.state.bones());
    if (missed == window) return true;
    if (!tell(progress, "search", 0)) return false;
    place %= window;
    std::vector<int> gone{order[at(place)]};
    many = std::min(many, fit.state.bones() / 10);
    if (many > 1 && fit.state.bones() > kManyBones) gone.assign(order.begin(), order.begin() + many);
    SkeletonFit fewer = without(fit, gone);
    double left = telling.nats(fewer);
    if (left >= nats && left < nats + close) {
      settle(fewer);
      left = telling.nats(fewer);
    }
    if (left < nats) {
      fit = std::move(fewer);
      reached(fit);
      nats = left;
      missed = 0;
      ++many;
      order = cheapest_first(fit);
    } else if (gone.size() > 1) {
      many /= 2;
    } else {
      ++missed;
      ++place;
    }
  }
  return true;
}

SkeletonFit without_free(const SkeletonFit& fit, std::vector<int> gone) {
  SkeletonFit fewer = fit;
  std::sort(gone.rbegin(), gone.rend());
  for (const int b : gone) remove_bone(fewer.state, b);
  settle_free(fewer, kWithoutFree);
  return fewer;
}

SkeletonFit without_jointed(const SkeletonFit& fit, const std::vector<int>& gone) {
  SkeletonFit fewer = fit;
  if (gone.size() == 1) {
    contract_bone(fewer, gone.front());
  } else {
    contract_bones(fewer, static_cast<int>(gone.size()),
                   [](const SkeletonFit& left) { return cheapest_first(left).front(); });
  }
  strict_rounds(fewer, 2, 3);
  if (gone.size() == 1) {
    SkeletonFit merged = fit;
    merge_bone(merged, gone.front());
    strict_rounds(merged, 2, 3);
    if (merged.state.squares < fewer.state.squares) fewer = std::move(merged);
  }
  converge(fewer, kWithoutJointed);
  return fewer;
}

/// Adds bones with joints where that makes the telling shorter. False: asked to stop.
bool grow_while_shorter(const Telling& telling, std::uint64_t seed, const Progress& progress, SkeletonFit& fit) {
  for (int missed = 0; missed < kGrowths;) {
    if (fit.e_rms() < kSearchTruncation) return true;
    if (!tell(progress, "search", 0.5)) return false;
    SkeletonFit more = fit;
    const int count = missed == 0 ? 1 + fit.state.bones() / 8 : 1;
    grow_by(more, count, seed + static_cast<std::uint64_t>(fit.state.bones() + missed));
    converge(more, 2 * kWithoutJointed);
    const bool shorter = telling.nats(more) < telling.nats(fit);
    if (shorter) fit = std::move(more);
    missed = shorter ? 0 : missed + 1;
  }
  return true;
}

/// The errors of fewer and fewer free bones, for the report: one by one from kEveryNumber on, above by the tenth.
std::vector<SearchRecord> path_down(SkeletonFit fit) {
  std::vector<SearchRecord> path{{fit.state.bones(), fit.e_rms()}};
  while (fit.state.bones() > 1) {
    const std::vector<int> order = cheapest_first(fit);
    fit = without_free(
        fit, {order.begin(), order.begin() + (fit.state.bones() > kEveryNumber ? fit.state.bones() / 10 : 1)});
    path.push_back({fit.state.bones(), fit.e_rms()});
  }
  std::reverse(path.begin(), path.end());
  return path;
}

double beyond(double e_rms, double noise) {
  return std::sqrt(std::max(0.0, e_rms * e_rms - noise * noise));
}

/// Whether the error rises steeply where half of the bones go, as it does where bones made the motion.
bool has_cliff(const SkeletonFit& fit, double noise) {
  SkeletonFit half = fit;
  const int bones = std::max(1, fit.state.bones() / 2);
  while (half.state.bones() > bones) {
    const int surplus = half.state.bones() - bones;
    remove_cheapest(half.state, *half.problem, std::min(surplus, 1 + half.state.bones() / 10));
    settle_free(half, kWithoutFree);
  }
  const double least = std::hypot(beyond(fit.e_rms(), noise), kUncounted);
  return beyond(half.e_rms(), noise) > kCliff * least;
}

/// How far the search has come once bones have joints.
struct ExactSearch {
  SkeletonFit fit;
  std::vector<SearchRecord> curve;
  double noise = 0;
  double nats = 0;  // of the telling
};

void save_search(const ExactSearch& search, const std::string& prefix, SavedArrays& arrays) {
  save_skeleton(search.fit, prefix, arrays);
  arrays[prefix + "place"] = numbers({search.noise, search.nats});
  Eigen::MatrixXd& curve = arrays[prefix + "curve"] =
      Eigen::MatrixXd(2, static_cast<Eigen::Index>(search.curve.size()));
  for (std::size_t i = 0; i < search.curve.size(); ++i)
    curve.col(index(i)) << search.curve[i].bones, search.curve[i].e_rms;
}

void take_search(const SavedArrays& arrays, const std::string& prefix, ExactSearch& search) {
  take_skeleton(arrays, prefix, search.fit);
  const Eigen::MatrixXd& place = saved_array(arrays, prefix + "place", 2, 1);
  search.noise = std::clamp(place(0), 0.0, 1e9);
  search.nats = std::clamp(place(1), 0.0, 1e18);
  search.curve.clear();
  for (const auto& point : saved_array(arrays, prefix + "curve", 2, -1).colwise())
    search.curve.push_back({static_cast<int>(std::clamp(point(0), 0.0, 1e6)), std::clamp(point(1), 0.0, 1e9)});
}

Telling telling_of(const SkeletonFit& fit, double noise, double precision) {
  return {3 * static_cast<double>(fit.problem->frame_count()), 1e-6 * (precision * precision + noise * noise)};
}

/// Free bones from the motions of patches, and those of the way down that tell the motion most briefly to each
/// precision of kFiner.
struct FreeBones {
  SkeletonFit all;
  std::array<SkeletonFit, kFiner.size()> few;
  double noise = 0;
  double most = 0;  // E_RMS that they may leave

  Telling telling(std::size_t i, Detail detail) const {
    return telling_of(all, noise, kFiner[i] * exact_precision(detail));
  }
};

void settle_close(SkeletonFit& close) {
  settle_free(close, 2 * kWithoutFree);
}

/// One way down, by the first of the precisions. False: asked to stop.
bool find_free_bones(const Whole& whole, const SkeletonOptions& options, const Progress& progress,
                     const SkeletonFit& empty, FreeBones& out) {
  const int most = std::min<int>(kFreeBonesMost, 1 + static_cast<int>(empty.problem->vertex_count() / 4));
  PatchBones start = patch_bones(whole, most, empty);
  out.all = std::move(start.fit);
  settle_free(out.all, kFreeIterations);
  out.noise = start.noise;
  out.most = std::hypot(kExactFree, start.noise);
  std::array<double, kFiner.size()> least;
  least.fill(kAnyError);
  const auto look = [&](const SkeletonFit& reached) {
    for (std::size_t i = 0; i < kFiner.size(); ++i) {
      const double nats = out.telling(i, options.detail).nats(reached);
      if (nats >= least[i]) continue;
      least[i] = nats;
      out.few[i] = reached;
    }
  };
  look(out.all);
  SkeletonFit fit = out.all;
  return drop_while_shorter(out.telling(0, options.detail), out.most, without_free, settle_close, look, progress, fit);
}

void join_tree(SkeletonFit& fit) {
  fit.tree = adopt_edges(spanning_tree(fit.state, *fit.problem), fit.state);
  strict_rounds(fit, 1, 12);
}

/// Joints between free bones, where bones made the motion; a finer precision goes down its own way.
ExactEnd join(const FreeBones& free, std::size_t i, const SkeletonOptions& options, const Progress& progress,
              ExactSearch& search) {
  SkeletonFit& fit = search.fit = free.few[i];
  search.noise = free.noise;
  if (fit.e_rms() > free.most || !has_cliff(fit, free.noise)) return ExactEnd::not_exact;
  if (i > 0) {
    const auto ignore = [](const SkeletonFit&) {};
    fit = free.all;
    if (!drop_while_shorter(free.telling(i, options.detail), free.most, without_free, settle_close, ignore, progress,
                            fit))
      return ExactEnd::stopped;
    if (fit.e_rms() > free.most) return ExactEnd::not_exact;
  }
  search.curve = path_down(fit);
  join_tree(fit);
  converge(fit, kJointRounds);
  search.nats = telling_of(fit, free.noise, exact_precision(options.detail)).nats(fit);
  return tell(progress, "search", 0.5) ? ExactEnd::found : ExactEnd::stopped;
}

/// One turn of adding bones, dropping and moving them; `pays` says whether the moves left something for another. False:
/// asked to stop.
bool take_turn(const Telling& telling, const SkeletonOptions& options, const Progress& progress, ExactSearch& search,
               bool& pays) {
  const auto settle = [](SkeletonFit& close) { converge(close, 2 * kWithoutJointed); };
  if (!grow_while_shorter(telling, options.seed, progress, search.fit) ||
      !drop_while_shorter(
          telling, kAnyError, without_jointed, settle, [](const SkeletonFit&) {}, progress, search.fit))
    return false;
  search.nats = telling.nats(search.fit);
  SkeletonFit moved = search.fit;
  if (!search_skeleton(moved, kMovesOfTurn, options.seed, nullptr, progress)) return false;
  const double nats = telling.nats(moved);
  pays = nats < kPays * search.nats;
  if (nats > search.nats) return true;
  search.nats = nats;
  search.fit = std::move(moved);
  return true;
}

/// What there is where the search is asked to stop.
ExactBones stopped(const ExactSearch& search, const std::optional<ExactSearch>& best, SkeletonFit& fit) {
  fit = best ? best->fit : search.fit;
  if (fit.tree.bones() != fit.state.bones()) join_tree(fit);
  return {ExactEnd::stopped, {}};
}

}  // namespace

ExactBones find_exact_bones(const Whole& whole, const SkeletonOptions& options, const Progress& progress,
                            SkeletonFit& fit) {
  ExactSearch search{fit, {}};
  std::optional<ExactSearch> best;  // of the tries before
  std::optional<FreeBones> free;    // from which every try starts
  std::size_t first = 0;            // try, and its turn
  int turn = -1;                    // before bones have joints
  if (const auto saved = resume(options.checkpoint, kExactBones)) {
    first = static_cast<std::size_t>(saved->step) / kTurns;
    turn = static_cast<int>(saved->step) % kTurns;
    take_search(saved->arrays, "", search);
    if (saved->arrays.contains("best place")) take_search(saved->arrays, "best ", best.emplace(ExactSearch{fit, {}}));
  }
  for (std::size_t i = first; i < kFiner.size(); ++i, turn = -1) {
    if (turn < 0) {
      if (!free && !find_free_bones(whole, options, progress, fit, free.emplace())) {
        search.fit = free->few[i];
        return stopped(search, best, fit);
      }
      const ExactEnd end = join(*free, i, options, progress, search);
      if (end == ExactEnd::not_exact) continue;
      if (end == ExactEnd::stopped) return stopped(search, best, fit);
      turn = 0;
    }
    const Telling telling = telling_of(search.fit, search.noise, exact_precision(options.detail));
    for (bool pays = true; pays && turn < kTurns; ++turn) {
      keep(options.checkpoint, kExactBones, static_cast<std::int64_t>(i) * kTurns + turn, [&](SavedArrays& arrays) {
        save_search(search, "", arrays);
        if (best) save_search(*best, "best ", arrays);
      });
      ExactSearch next = search;
      if (!take_turn(telling, options, progress, next, pays)) return stopped(search, best, fit);
      search = std::move(next);
    }
    if (beyond(search.fit.e_rms(), search.noise) <= kExactJointed && (!best || search.nats < best->nats)) best = search;
  }
  if (!best) return {};
  fit = std::move(best->fit);
  return {ExactEnd::found, std::move(best->curve)};
}

}  // namespace sinew::skeleton
