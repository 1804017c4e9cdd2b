#include "solve/skeleton/bone_count.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "solve/skeleton/moves.h"
#include "solve/skeleton/saved.h"
#include "solve/skeleton/strict.h"

namespace sinew::skeleton {

namespace {

constexpr int kMostBones = 64;     // to which they are added
constexpr int kFewBones = 40;      // up to which they go one by one, above a sixteenth at a time
constexpr int kDropRounds = 6;     // after a bone has gone
constexpr double kGiveUp = 0.8;    // above the least description, where the path ends
constexpr double kFarAbove = 1.5;  // times the error asked for, the same
constexpr double kSeen = 1.5;      // E_RMS that can be seen

/// What a bone costs, in units of the logarithm of the error; see docs/algorithms/skeleton.md.
double bone_cost(const SkeletonOptions& options) {
  constexpr double kMedium = 0.035;
  constexpr double kDetail = 2;  // between two levels
  const double level = options.detail == Detail::low ? kDetail : options.detail == Detail::high ? 1 / kDetail : 1;
  return level * kMedium;
}

/// Length of the description of a skeleton and what it leaves, but for a factor and a constant. Errors far below
/// `noise` are not seen.
double description(const SkeletonFit& fit, const SkeletonOptions& options, double noise) {
  const auto frames = static_cast<double>(fit.problem->frame_count());
  const double numbers = (1 + frames) / frames;  // of a bone, in rotations: a joint is as much as one more frame
  return std::log(std::hypot(fit.e_rms(), noise)) + bone_cost(options) * numbers * fit.state.bones();
}

/// How far the search has come.
struct Path {
  bool growing = true;  // first of all
  bool ended = false;
  double noise = kSearchTruncation;  // E_RMS
  SkeletonFit best;
};

/// What no skeleton explains: the error of the largest, unless that can be seen.
double noise_below(const SkeletonFit& largest) {
  return std::clamp(largest.e_rms(), kSearchTruncation, kSeen);
}

/// Whether a skeleton with fewer bones is to be preferred to the best so far.
bool better(const SkeletonFit& fewer, const Path& path, const SkeletonOptions& options) {
  if (options.max_error > 0) return fewer.e_rms() <= options.max_error;
  return description(fewer, options, path.noise) <= description(path.best, options, path.noise);
}

/// A sixth more bones where that pays. False where it does not.
bool grow(const SkeletonOptions& options, double noise, SkeletonFit& fit) {
  const int bones = fit.state.bones();
  const int count = std::max(1, bones / 6);
  const bool to_error = options.max_error > 0;
  if (bones + count > kMostBones || (to_error && fit.e_rms() <= options.max_error)) return false;
  SkeletonFit more = fit;
  grow_by(more, count, options.seed + static_cast<std::uint64_t>(bones));
  converge(more, kDropRounds);
  if (!to_error && description(more, options, noise) >= description(fit, options, noise)) return false;
  fit = std::move(more);
  return true;
}

/// One step: a sixth more bones while that pays, then fewer. False where the path ends.
bool step(const SkeletonOptions& options, FitReport& report, Path& path, SkeletonFit& fit) {
  if (path.growing) {
    path.growing = grow(options, path.noise, fit);
    path.best = fit;
    if (path.growing) return true;
    path.noise = noise_below(fit);
    report.search.push_back({fit.state.bones(), fit.e_rms()});
    return true;
  }
  const int bones = fit.state.bones();
  if (bones < 2) return false;
  shrink_to(fit, bones - (bones > kFewBones ? 1 + bones / 16 : 1));
  converge(fit, kDropRounds);
  report.search.push_back({fit.state.bones(), fit.e_rms()});
  if (better(fit, path, options)) path.best = fit;
  if (options.max_error > 0) return fit.e_rms() <= kFarAbove * options.max_error;
  return description(fit, options, path.noise) < description(path.best, options, path.noise) + kGiveUp;
}

void save_path(const Path& path, const FitReport& report, const SkeletonFit& fit, SavedArrays& arrays) {
  save_skeleton(fit, "", arrays);
  save_skeleton(path.best, "best ", arrays);
  arrays["place"] = numbers({path.growing ? 1.0 : 0.0, path.ended ? 1.0 : 0.0, path.noise});
  Eigen::MatrixXd& curve = arrays["curve"] = Eigen::MatrixXd(2, static_cast<Eigen::Index>(report.search.size()));
  for (Eigen::Index i = 0; i < curve.cols(); ++i) {
    const SearchRecord& record = report.search[static_cast<std::size_t>(i)];
    curve.col(i) << record.bones, record.e_rms;
  }
}

void take_path(const SavedArrays& arrays, Path& path, FitReport& report, SkeletonFit& fit) {
  take_skeleton(arrays, "", fit);
  take_skeleton(arrays, "best ", path.best);
  const Eigen::MatrixXd& place = saved_array(arrays, "place", 3, 1);
  path.growing = place(0) > 0;
  path.ended = place(1) > 0;
  path.noise = std::clamp(place(2), kSearchTruncation, kSeen);
  for (const auto& column : saved_array(arrays, "curve", 2, -1).colwise())
    report.search.push_back({static_cast<int>(std::clamp(column(0), 0.0, 1e6)), column(1)});
}

}  // namespace

bool find_number(const SkeletonOptions& options, FitReport& report, const Progress& progress, SkeletonFit& fit) {
  Path path;
  path.best = fit;
  int round = 0;
  if (const auto saved = resume(options.checkpoint, kFindNumber)) {
    take_path(saved->arrays, path, report, fit);
    round = static_cast<int>(saved->step);
  }
  bool go_on = true;
  while (!path.ended && go_on) {
    keep(options.checkpoint, kFindNumber, round, [&](SavedArrays& arrays) { save_path(path, report, fit, arrays); });
    path.ended = !step(options, report, path, fit);
    ++round;
    go_on = tell(progress, "search", path.ended ? 1 : 0);
  }
  if (!go_on)
    keep(options.checkpoint, kFindNumber, round, [&](SavedArrays& arrays) { save_path(path, report, fit, arrays); });
  if (options.max_error > 0 && path.best.e_rms() > options.max_error)
    report.remark =
        fmt::format("an E_RMS of {:.3g} is not reached with {} bones", options.max_error, path.best.state.bones());
  fit = std::move(path.best);
  return go_on;
}

}  // namespace sinew::skeleton
