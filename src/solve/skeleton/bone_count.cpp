#include "solve/skeleton/bone_count.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "solve/lbs/saved_fit.h"
#include "solve/lbs/weight_samples.h"
#include "solve/skeleton/moves.h"
#include "solve/skeleton/saved.h"
#include "solve/skeleton/strict.h"

namespace sinew::skeleton {

namespace {

constexpr int kTrialRounds = 4;          // before those that are behind are given up
constexpr double kBehind = 1.4;          // times the least E_RMS of the starts
constexpr double kFewestClusters = 1.2;  // to start from, times the bones
constexpr double kMostClusters = 2.0;    // the same
constexpr double kGoodEnough = 0.5;      // E_RMS below which bones are dropped rather than added
constexpr double kHardlyRises = 1.03;    // of the error, for which a bone is dropped
constexpr double kRisesUnseen = 1.3;     // the same below kGoodEnough
constexpr double kWorthIt = 0.9;         // of the error, for which a sixth more bones are added
constexpr int kMostBones = 64;           // to which they are added
constexpr int kMostAnew = 40;            // with which growth starts anew: what more bones cost grows with their cube
constexpr int kGrowths = 3;              // at most, once none can be dropped
constexpr int kDropRounds = 10;          // before either is judged

/// Whether a skeleton with a bone fewer will do: the error hardly rises, or stays too small to see.
bool will_do(const SkeletonFit& fewer, const SkeletonFit& fit) {
  const double rise = fewer.e_rms() < kGoodEnough ? kRisesUnseen : kHardlyRises;
  return fewer.e_rms() <= std::max(kSearchTruncation, rise * fit.e_rms());
}

/// Takes away bones, that which costs least first, while those left will do.
void drop_cheap_bones(SkeletonFit& fit, const Progress& progress) {
  while (fit.state.bones() > 1 && tell(progress, "search", 0)) {
    SkeletonFit fewer = fit;
    shrink_to(fewer, fit.state.bones() - 1);
    if (fewer.e_rms() > kHardlyRises * fit.e_rms()) converge(fewer, kDropRounds);
    if (!will_do(fewer, fit)) return;
    fit = std::move(fewer);
  }
}

/// Starts with ever fewer bones. What does not depend on the number of bones is done once: the clusters, of numbers
/// that are a quarter of an octave apart, and their free bones, which go on from where the last start left them.
class FewerBones {
 public:
  FewerBones(const Whole& whole, const SkeletonOptions& options, const SkeletonFit& empty)
      : whole_(whole), options_(options), empty_(empty) {
    options_.max_bones = 0;
  }

  void save(SavedArrays& arrays) const {
    Eigen::MatrixXd& counts = arrays["free clusters"] = Eigen::MatrixXd(2, static_cast<Eigen::Index>(free_.size()));
    Eigen::Index i = 0;
    for (const auto& [count, fit] : free_) {
      counts.col(i++) << static_cast<double>(count), static_cast<double>(fit.phase);
      save_fit(fit.state, fmt::format("free {} ", count), arrays);
    }
  }

  void take(const SavedArrays& arrays) {
    const Problem& problem = *empty_.problem;
    for (const auto& column : saved_array(arrays, "free clusters", 2, -1).colwise()) {
      const auto count = static_cast<std::size_t>(std::clamp(column(0), 1.0, 1e9));
      SkeletonFit& fit = free_.insert_or_assign(count, empty_).first->second;
      fit.phase = static_cast<int>(std::clamp(column(1), 0.0, 1e9));
      fit.state = saved_fit(arrays, fmt::format("free {} ", count), problem.frame_count(), problem.vertex_count());
    }
  }

  /// The best of several starts with so many bones, no more than before, if better than what there is. Those that are
  /// behind after a few rounds are given up. False: asked to stop.
  bool start_with(int bones, const Progress& progress, SkeletonFit& fit) {
    options_.max_bones = bones;
    std::vector<SkeletonFit> tried;
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t count : cluster_numbers(bones)) {
      tried.push_back(free_bones(count));
      SkeletonFit& start = tried.back();
      if (!joint_softly(start, options_, progress)) return false;
      strict_rounds(start, 1, 12);
      converge(start, kTrialRounds);
      least = std::min(least, start.e_rms());
    }
    for (SkeletonFit& start : tried) {
      if (start.e_rms() > kBehind * least) continue;
      if (!tell(progress, "search", 0)) return false;
      converge(start, kStartRounds - kTrialRounds);
      if (start.state.squares < fit.state.squares) fit = std::move(start);
    }
    return true;
  }

 private:
  static std::vector<std::size_t> cluster_numbers(int bones) {
    std::vector<std::size_t> out;
    for (int quarters = 0;; ++quarters) {
      const double count = std::round(std::exp2(quarters / 4.0));
      if (count > kMostClusters * bones) return out;
      const bool fresh = out.empty() || static_cast<double>(out.back()) < count;
      if (count >= kFewestClusters * bones && fresh) out.push_back(static_cast<std::size_t>(count));
    }
  }

  SkeletonFit free_bones(std::size_t clusters) {
    const auto [place, fresh] = free_.try_emplace(clusters, empty_);
    SkeletonFit& fit = place->second;
    if (fresh || fit.state.bones() < options_.max_bones) {
      const MotionClusters parts = parts_of(whole_.problem, clusters);
      fit.state.D = parts.D;
      fit.state.weights = weights_at(weights_of(parts, fit.influences), whole_.chosen);
      free_iterations(fit);
    }
    shrink_free(fit, options_.max_bones);
    return fit;
  }

  const Whole& whole_;
  SkeletonOptions options_;
  const SkeletonFit& empty_;
  std::map<std::size_t, SkeletonFit> free_;  // by the number of clusters
};

/// A sixth more bones where that lowers the error markedly: added to those there are or, where that does not do, all
/// started anew. False: it does not, or asked to stop.
bool grow_if_worth_it(FewerBones& anew, std::uint64_t seed, const Progress& progress, SkeletonFit& fit) {
  if (fit.e_rms() < kSearchTruncation || fit.state.bones() >= kMostBones || !tell(progress, "search", 0)) return false;
  const double worth = fit.e_rms() * (fit.e_rms() < kGoodEnough ? 1 / kRisesUnseen : kWorthIt);
  SkeletonFit more = fit;
  grow_by(more, std::max(1, fit.state.bones() / 6), seed + static_cast<std::uint64_t>(fit.state.bones()));
  converge(more, kDropRounds);
  const bool short_of = more.e_rms() > worth && more.state.bones() <= kMostAnew;
  if (short_of && !anew.start_with(more.state.bones(), progress, more)) return false;
  if (more.e_rms() > worth) return false;
  fit = std::move(more);
  return true;
}

/// How far the search for the number of bones has come.
struct NumberSearch {
  bool growing = true;  // first of all
  int started = 0;      // bones that were last started with anew
  int growths = 0;      // once none can be dropped
};

enum class Round { go_on, done, stopped };

/// One round of find_number.
Round find_number_once(FewerBones& anew, const SkeletonOptions& options, const Progress& progress,
                       const SkeletonFit& empty, NumberSearch& search, SkeletonFit& fit) {
  if (search.growing) {
    search.growing = fit.e_rms() >= kGoodEnough && grow_if_worth_it(anew, options.seed, progress, fit);
    return Round::go_on;
  }
  if (fit.state.bones() < 2) return Round::done;
  drop_cheap_bones(fit, progress);
  if (fit.state.bones() != search.started) {
    search.started = fit.state.bones();
    return anew.start_with(search.started, progress, fit) ? Round::go_on : Round::stopped;
  }
  SkeletonFit fewer = empty;
  if (search.started > 1 && !anew.start_with(--search.started, progress, fewer)) return Round::stopped;
  if (will_do(fewer, fit)) {
    fit = std::move(fewer);
  } else if (search.growths++ < kGrowths && fit.e_rms() < kGoodEnough &&
             grow_if_worth_it(anew, options.seed, progress, fit)) {
    search.started = 0;
  } else {
    return Round::done;
  }
  return Round::go_on;
}

}  // namespace

bool find_number(const Whole& whole, const SkeletonOptions& options, const Progress& progress, const SkeletonFit& empty,
                 SkeletonFit& fit) {
  FewerBones anew(whole, options, empty);
  NumberSearch search;
  int round = 0;
  if (const auto saved = resume(options.checkpoint, kFindNumber)) {
    take_skeleton(saved->arrays, "", fit);
    anew.take(saved->arrays);
    const Eigen::MatrixXd& place = saved_array(saved->arrays, "place", 3, 1);
    search = {place(0) > 0, static_cast<int>(std::clamp(place(1), 0.0, 1e6)),
              static_cast<int>(std::clamp<double>(place(2), 0, kGrowths))};
    round = static_cast<int>(saved->step);
  }
  while (true) {
    // A round that is interrupted leaves the place where it began.
    SavedArrays place;
    if (options.checkpoint != nullptr) {
      save_skeleton(fit, "", place);
      anew.save(place);
      place["place"] = numbers(
          {search.growing ? 1.0 : 0.0, static_cast<double>(search.started), static_cast<double>(search.growths)});
    }
    const auto keep_place = [&] {
      keep(options.checkpoint, kFindNumber, round, [&](SavedArrays& arrays) { arrays = place; });
    };
    keep_place();
    const Round end = find_number_once(anew, options, progress, empty, search, fit);
    if (end == Round::stopped || !tell(progress, "search", end == Round::done ? 1 : 0)) {
      keep_place();
      return false;
    }
    if (end == Round::done) return true;
    ++round;
  }
}

}  // namespace sinew::skeleton
