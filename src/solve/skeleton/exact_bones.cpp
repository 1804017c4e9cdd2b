#include "solve/skeleton/exact_bones.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
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

constexpr int kFreeBonesMost = 128;    // to begin with
constexpr double kExactFree = 0.5;     // E_RMS beyond the noise that free bones may leave of a motion made by bones
constexpr double kExactJointed = 0.8;  // the same with joints
constexpr double kCliff = 3;           // times that error where half of the bones are gone, at least
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
constexpr double kFinerFree = 0.4;     // of the precision, for free bones: fewer of them do what more joints did
constexpr double kClose = 1.15;        // times the shortest telling, from which as many are tried again
constexpr int kBonesTried = 8;         // of the bones, the cheapest, that are tried before dropping ends
constexpr int kManyBones = 48;         // above which a tenth goes at a time

/// The share of the way from the joint of bone b's parent to its own that leads outside the body.
double outside(const SkeletonFit& fit, int b) {
  constexpr int kPoints = 8;
  if (fit.body == nullptr || fit.tree.bones() != fit.state.bones()) return 0;
  const int p = fit.tree.parent[at(b)];
  if (p <= 0) return 0;  // what the root has for a joint is for display only
  int looks = 0;
  for (int i = 1; i < kPoints; ++i) {
    const double share = static_cast<double>(i) / kPoints;
    if (!fit.body->holds((1 - share) * fit.tree.joint.col(p) + share * fit.tree.joint.col(b))) ++looks;
  }
  return static_cast<double>(looks) / (kPoints - 1);
}

/// How long the telling of a motion is: residuals of every vertex to a precision, bones as 3 numbers in every frame.
/// Where bones made a motion, what they leave is noise, so that every vertex counts for itself. A bone that leads
/// outside the body must be worth several.
struct Telling {
  double rows;      // 3F
  double variance;  // per number, radius 1: precision and noise

  double nats(const SkeletonFit& fit) const {
    double sum = 0;
    for (const float squares : fit.state.sums.residual)
      sum += std::log1p(static_cast<double>(squares) / (rows * variance));
    const double numbers = rows * static_cast<double>(fit.problem->vertex_count());
    double bones = fit.state.bones();
    for (int b = 0; b < fit.state.bones(); ++b) bones += kOutside * outside(fit, b);
    return 0.5 * (rows * sum + bones * (rows + 3) * std::log(numbers));
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

/// Takes bones away while that makes the telling shorter. `without(fit, bones)` is a fit without some of its bones;
/// `settle(fit)` goes on with it where it comes close. False: asked to stop.
template <class Without, class Settle>
bool drop_while_shorter(const Telling& telling, const Without& without, const Settle& settle, const Progress& progress,
                        SkeletonFit& fit) {
  double nats = telling.nats(fit);
  int place = 0;   // in the order, of the bone that is tried next
  int missed = 0;  // bones tried since the last that went
  bool many = true;
  std::vector<int> order = cheapest_first(fit);
  while (fit.state.bones() > 1) {
    const int window = std::min(kBonesTried, fit.state.bones());
    if (missed == window) return true;
    if (!tell(progress, "search", 0)) return false;
    place %= window;
    std::vector<int> gone{order[at(place)]};
    if (many && fit.state.bones() > kManyBones) gone.assign(order.begin(), order.begin() + fit.state.bones() / 10);
    SkeletonFit fewer = without(fit, gone);
    double left = telling.nats(fewer);
    if (left >= nats && left < kClose * nats) {
      settle(fewer);
      left = telling.nats(fewer);
    }
    if (left < nats) {
      fit = std::move(fewer);
      nats = left;
      missed = 0;
      order = cheapest_first(fit);
    } else if (gone.size() > 1) {
      many = false;
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
  for (const int b : gone) contract_bone(fewer, b);
  strict_rounds(fewer, 1, 3);
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

/// The errors of fewer and fewer free bones, for the report and to tell a cliff.
std::vector<SearchRecord> path_down(SkeletonFit fit) {
  std::vector<SearchRecord> path{{fit.state.bones(), fit.e_rms()}};
  while (fit.state.bones() > 1) {
    fit = without_free(fit, {cheapest_first(fit).front()});
    path.push_back({fit.state.bones(), fit.e_rms()});
  }
  std::reverse(path.begin(), path.end());
  return path;
}

double beyond(double e_rms, double noise) {
  return std::sqrt(std::max(0.0, e_rms * e_rms - noise * noise));
}

/// Whether the error rises steeply where half of the bones go, as it does where bones made the motion.
bool has_cliff(const std::vector<SearchRecord>& path, double noise) {
  const double least = std::hypot(beyond(path.back().e_rms, noise), kUncounted);
  return beyond(path[path.size() / 2].e_rms, noise) > kCliff * least;
}

/// How far the search has come once bones have joints.
struct ExactSearch {
  SkeletonFit fit;
  std::vector<SearchRecord> curve;
  double noise = 0;
  double nats = 0;  // of the telling, before a turn
  int turn = 0;
};

void save_search(const ExactSearch& search, SavedArrays& arrays) {
  save_skeleton(search.fit, "", arrays);
  arrays["place"] = numbers({search.noise, search.nats});
  Eigen::MatrixXd& curve = arrays["curve"] = Eigen::MatrixXd(2, static_cast<Eigen::Index>(search.curve.size()));
  for (std::size_t i = 0; i < search.curve.size(); ++i)
    curve.col(index(i)) << search.curve[i].bones, search.curve[i].e_rms;
}

void take_search(const SavedArrays& arrays, ExactSearch& search) {
  take_skeleton(arrays, "", search.fit);
  const Eigen::MatrixXd& place = saved_array(arrays, "place", 2, 1);
  search.noise = std::clamp(place(0), 0.0, 1e9);
  search.nats = std::clamp(place(1), 0.0, 1e18);
  search.curve.clear();
  for (const auto& point : saved_array(arrays, "curve", 2, -1).colwise())
    search.curve.push_back({static_cast<int>(std::clamp(point(0), 0.0, 1e6)), std::clamp(point(1), 0.0, 1e9)});
}

Telling telling_of(const ExactSearch& search, double precision) {
  return {3 * static_cast<double>(search.fit.problem->frame_count()),
          1e-6 * (precision * precision + search.noise * search.noise)};
}

/// Free bones from the motions of patches, as few as tell the motion most briefly, and joints between them.
ExactEnd start_exact(const Whole& whole, const SkeletonOptions& options, double finer, const Progress& progress,
                     ExactSearch& search) {
  const int most = std::min<int>(kFreeBonesMost, 1 + static_cast<int>(search.fit.problem->vertex_count() / 4));
  PatchBones start = patch_bones(whole, most, search.fit);
  SkeletonFit& fit = search.fit = std::move(start.fit);
  search.noise = start.noise;
  settle_free(fit, kFreeIterations);
  if (beyond(fit.e_rms(), search.noise) > kExactFree) return ExactEnd::not_exact;
  const Telling telling = telling_of(search, finer * exact_precision(options.detail));
  const auto settle = [](SkeletonFit& close) { settle_free(close, 2 * kWithoutFree); };
  const bool go_on = drop_while_shorter(telling, without_free, settle, progress, fit);
  if (go_on) search.curve = path_down(fit);
  if (go_on && (beyond(fit.e_rms(), search.noise) > kExactFree || !has_cliff(search.curve, search.noise)))
    return ExactEnd::not_exact;
  fit.tree = adopt_edges(spanning_tree(fit.state, *fit.problem), fit.state);
  strict_rounds(fit, 1, 12);
  if (!go_on || !tell(progress, "search", 0.5)) return ExactEnd::stopped;
  converge(fit, kJointRounds);
  search.nats = telling_of(search, exact_precision(options.detail)).nats(fit);
  return ExactEnd::found;
}

/// The search from as many free bones as the precision times `finer` keeps.
ExactBones search_exact(const Whole& whole, const SkeletonOptions& options, double finer, const Progress& progress,
                        SkeletonFit& fit) {
  ExactBones out{ExactEnd::stopped, {}};
  ExactSearch search;
  search.fit = fit;
  if (const auto saved = resume(options.checkpoint, kExactBones)) {
    take_search(saved->arrays, search);
    search.turn = static_cast<int>(saved->step);
  } else {
    out.end = start_exact(whole, options, finer, progress, search);
    if (out.end != ExactEnd::found) {
      if (out.end == ExactEnd::stopped) fit = std::move(search.fit);
      return out;
    }
  }
  const Telling telling = telling_of(search, exact_precision(options.detail));
  const auto settle = [](SkeletonFit& close) { converge(close, 2 * kWithoutJointed); };
  for (bool pays = true; pays && search.turn < kTurns; ++search.turn) {
    keep(options.checkpoint, kExactBones, search.turn, [&](SavedArrays& arrays) { save_search(search, arrays); });
    ExactSearch next = search;
    const bool go_on = grow_while_shorter(telling, options.seed, progress, next.fit) &&
                       drop_while_shorter(telling, without_jointed, settle, progress, next.fit) &&
                       search_skeleton(next.fit, kMovesOfTurn, options.seed, nullptr, progress);
    out.end = go_on ? ExactEnd::found : ExactEnd::stopped;
    if (!go_on) break;
    next.nats = telling.nats(next.fit);
    pays = next.nats < kPays * search.nats;
    search = std::move(next);
  }
  fit = search.fit;
  out.curve = search.curve;
  if (out.end == ExactEnd::found && beyond(fit.e_rms(), search.noise) > kExactJointed) out.end = ExactEnd::not_exact;
  return out;
}

}  // namespace

ExactBones find_exact_bones(const Whole& whole, const SkeletonOptions& options, const Progress& progress,
                            SkeletonFit& fit) {
  const SkeletonFit empty = fit;
  ExactBones out = search_exact(whole, options, 1, progress, fit);
  if (out.end != ExactEnd::not_exact) return out;
  fit = empty;  // of large meshes the coarser measure merges bones, so that what is left is not exact
  return search_exact(whole, options, kFinerFree, progress, fit);
}

}  // namespace sinew::skeleton
