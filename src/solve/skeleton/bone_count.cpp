#include "solve/skeleton/bone_count.h"

#include <algorithm>

#include "solve/skeleton/moves.h"
#include "solve/skeleton/saved.h"
#include "solve/skeleton/strict.h"

namespace sinew::skeleton {
namespace {

constexpr double kPromising = 1;       // E_RMS with bones enough, from which kExact may be reached
constexpr double kHardlyRises = 1.03;  // of the error, for which a bone is dropped
constexpr double kRisesUnseen = 1.3;   // the same below kExact
constexpr double kWorthIt = 0.9;       // of the error, for which a sixth more bones are added
constexpr int kMostBones = 64;         // to which they are added
constexpr int kMostForError = 256;     // the same for a largest error
constexpr int kMostAnew = 40;          // with which growth starts anew: what more bones cost grows with their cube
constexpr int kGrowths = 3;            // at most, once none can be dropped
constexpr int kDropRounds = 10;        // before either is judged

/// Whether a skeleton with a bone fewer will do: the error hardly rises, or stays too small to see.
bool will_do(const SkeletonFit& fewer, const SkeletonFit& fit) {
  const double rise = fewer.e_rms() < kExact ? kRisesUnseen : kHardlyRises;
  return fewer.e_rms() <= std::max(kSearchTruncation, rise * fit.e_rms());
}

/// Takes away bones, that which costs least first, while those left will do.
template <class WillDo>
void drop_cheap_bones(const WillDo& will, SkeletonFit& fit, const Progress& progress) {
  while (fit.state.bones() > 1 && tell(progress, "search", 0)) {
    SkeletonFit fewer = fit;
    shrink_to(fewer, fit.state.bones() - 1);
    if (fewer.e_rms() > kHardlyRises * fit.e_rms()) converge(fewer, kDropRounds);
    if (!will(fewer, fit)) return;
    fit = std::move(fewer);
  }
}

/// A sixth more bones where that lowers the error markedly: added to those there are or, where that does not do, all
/// started anew. False: it does not, or asked to stop.
bool grow_if_worth_it(Starts& anew, std::uint64_t seed, const Progress& progress, SkeletonFit& fit) {
  if (fit.e_rms() < kSearchTruncation || fit.state.bones() >= kMostBones || !tell(progress, "search", 0)) return false;
  const double worth = fit.e_rms() * (fit.e_rms() < kExact ? 1 / kRisesUnseen : kWorthIt);
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

/// One round of find_exact_bones.
Round find_once(Starts& anew, const SkeletonOptions& options, const Progress& progress, const SkeletonFit& empty,
                NumberSearch& search, SkeletonFit& fit) {
  if (search.growing) {
    search.growing = fit.e_rms() >= kExact && grow_if_worth_it(anew, options.seed, progress, fit);
    return search.growing || fit.e_rms() < kPromising ? Round::go_on : Round::done;
  }
  if (fit.state.bones() < 2) return Round::done;
  drop_cheap_bones(will_do, fit, progress);
  if (fit.state.bones() != search.started) {
    search.started = fit.state.bones();
    return anew.start_with(search.started, progress, fit) ? Round::go_on : Round::stopped;
  }
  SkeletonFit fewer = empty;
  if (search.started > 1 && !anew.start_with(--search.started, progress, fewer)) return Round::stopped;
  if (will_do(fewer, fit)) {
    fit = std::move(fewer);
  } else if (search.growths++ < kGrowths && fit.e_rms() < kExact &&
             grow_if_worth_it(anew, options.seed, progress, fit)) {
    search.started = 0;
  } else {
    return Round::done;
  }
  return Round::go_on;
}

}  // namespace

bool find_exact_bones(const Whole& whole, const SkeletonOptions& options, const Progress& progress,
                      const SkeletonFit& empty, SkeletonFit& fit) {
  Starts anew(whole, options, empty);
  NumberSearch search;
  int round = 0;
  if (const auto saved = resume(options.checkpoint, kExactBones)) {
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
      keep(options.checkpoint, kExactBones, round, [&](SavedArrays& arrays) { arrays = place; });
    };
    keep_place();
    const Round end = find_once(anew, options, progress, empty, search, fit);
    if (end == Round::stopped || !tell(progress, "search", end == Round::done ? 1 : 0)) {
      keep_place();
      return false;
    }
    if (end == Round::done) return true;
    ++round;
  }
}

bool reach_error(const Whole& whole, const SkeletonOptions& options, int bones, double e_rms, const Progress& progress,
                 const SkeletonFit& empty, SkeletonFit& fit) {
  Starts starts(whole, options, empty);
  while (true) {
    if (!starts.start_with(bones, progress, fit)) return false;
    if (fit.e_rms() <= e_rms || bones >= kMostForError) break;
    bones += std::max(1, bones / 6);
  }
  const auto reaches = [&](const SkeletonFit& fewer, const SkeletonFit&) { return fewer.e_rms() <= e_rms; };
  drop_cheap_bones(reaches, fit, progress);
  return tell(progress, "search", 1);
}

}  // namespace sinew::skeleton
