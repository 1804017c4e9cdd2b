#include "sinew/solve/skeleton.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "sinew/core/error.h"
#include "sinew/math/laplacian.h"
#include "solve/bone_search.h"
#include "solve/motion_clusters.h"
#include "solve/saved_fit.h"
#include "solve/skeleton_layout.h"
#include "solve/skeleton_rigging.h"
#include "solve/skeleton_symmetry.h"
#include "solve/weight_samples.h"

// Skeletal rigging [Le2014 §3]. The dissertation's symbols in code:
//   [R_j^f | T_j^f]  FitState::D plus the problem's common motion      C_jk  JointTree::joint
//   w_ij             FitState::weights                                 𝕊     JointTree::parent
namespace sinew {
namespace {

constexpr double kTruncation = 0.01;           // E_RMS that the reduction of the trajectories may leave out
constexpr std::size_t kSearchVertices = 1500;  // that stand for all while searching
constexpr std::size_t kMoveVertices = 1000;    // the same where the number of bones is given and many moves are tried
constexpr std::size_t kSearchFrames = 110;     // at most, the same
constexpr double kSearchTruncation = 0.1;      // E_RMS that the reduction of the search may leave out
constexpr int kSwapPeriod = 4;                 // every so many passes a vertex tries to exchange a bone
constexpr int kStartRounds = 30;               // under strict joints before starts are compared
constexpr int kTrialRounds = 4;                // before those that are behind are given up
constexpr double kBehind = 1.4;                // times the least E_RMS of the starts
constexpr double kFewestClusters = 1.2;        // to start from, times the bones
constexpr double kMostClusters = 2.0;          // the same
constexpr int kLoosenings = 10;                // at most, of the influences of all vertices, at the end
constexpr double kLoosenGain = 5e-4;           // of the error, for which another follows
constexpr int kLoosenRounds = 12;              // before and after each
constexpr double kStartSmoothness = 1e-4;      // while the number of bones is open
constexpr double kGoodEnough = 0.5;            // E_RMS below which bones are dropped rather than added
constexpr double kHardlyRises = 1.03;          // of the error, for which a bone is dropped
constexpr double kRisesUnseen = 1.3;           // the same below kGoodEnough
constexpr double kWorthIt = 0.9;               // of the error, for which a sixth more bones are added
constexpr int kMostBones = 64;                 // to which they are added
constexpr int kMostAnew = 40;    // with which growth starts anew: what more bones cost grows with their cube
constexpr int kGrowths = 3;      // at most, once none can be dropped
constexpr int kDropRounds = 10;  // before either is judged
constexpr const char* kSettleAll = "settle joints";  // loops of a checkpoint
constexpr const char* kFindNumber = "number of bones";
constexpr double kStill = 5e-3;  // E_RMS that the common rigid motion may leave for a sequence to count as not moving

/// All vertices, and those that stand for them while searching.
struct Whole {
  const Problem& problem;
  const EdgeWeights& edges;  // rigidness Laplacian
  const std::vector<Index>& chosen;
};

/// Over-complete clusters in connected patches [§3.4].
MotionClusters parts_of(const Problem& problem, std::size_t clusters) {
  MotionClusters start = cluster_by_motion(problem, clusters);
  if (clusters < 2) return start;
  return split_into_patches(problem, start, std::max<std::size_t>(3, problem.vertex_count() / 400), 2 * clusters);
}

/// Ten iterations without joints, the influence count growing by one every three [§3.6].
void free_iterations(Rigging& rig) {
  const int influences = rig.influences;
  for (int i = 0; i < 10; ++i) {
    rig.influences = std::min(influences, 1 + i / 3);
    update_weights(rig);
    update_bones(*rig.problem, rig.state.sums, BoneOptions{}, rig.state.D);
  }
  rig.influences = influences;
  update_weights(rig);
}

/// Takes bones away until `most` are left, while they are still free: the cheapest eighth of the surplus at a time.
void shrink_free(Rigging& rig, int most) {
  const Problem& problem = *rig.problem;
  RunOptions run;
  run.iterations = 4;
  run.tolerance = 0;
  run.influences = rig.influences;
  run.swap_period = rig.swap_period;
  sinew::run(problem, run, rig.state);
  while (rig.state.bones() > most) {
    const std::vector<double> costs = removal_costs(problem, bone_gram(problem, rig.state.D), rig.state.weights);
    std::vector<std::pair<double, int>> order;
    for (int b = 0; b < rig.state.bones(); ++b) order.emplace_back(costs[static_cast<std::size_t>(b)], b);
    std::sort(order.begin(), order.end());
    order.resize(static_cast<std::size_t>((rig.state.bones() - most + 7) / 8));
    std::sort(order.begin(), order.end(), [](const auto& x, const auto& y) { return x.second > y.second; });
    for (const auto& [cost, b] : order) remove_bone(rig.state, b);
    sinew::run(problem, run, rig.state);
  }
  run.iterations = 40;
  run.tolerance = 1e-3;
  sinew::run(problem, run, rig.state);
  update_weights(rig);
}

/// How many clusters to start from: when the number of bones is given, several that are not far above it, for the
/// tree found from one start may be much better than that from another.
std::vector<std::size_t> cluster_counts(const SkeletonOptions& options) {
  if (options.max_bones == 0 || options.keep_all_bones) return {static_cast<std::size_t>(options.clusters)};
  std::vector<std::size_t> counts;
  for (std::size_t quarters = 5; quarters <= 10; quarters += options.moves > 0 ? 1 : 2)
    counts.push_back(std::max<std::size_t>(1, static_cast<std::size_t>(options.max_bones) * quarters / 4));
  return counts;
}

/// Tree, soft joints. False: asked to stop.
bool joint_softly(Rigging& rig, const SkeletonOptions& options, const Progress& progress) {
  rig.tree = adopt_edges(spanning_tree(rig.state, *rig.problem), rig.state);
  const int fewest = options.keep_all_bones ? rig.state.bones() : std::max(1, options.max_bones);
  return soft_rigging(rig, options.soft_iterations, fewest, progress);
}

/// A skeleton with strict joints from clusters. Where the number of bones is open, smoothing over the whole mesh lets
/// those degenerate that are not needed [§3.9]; where it is given, the sample will do. False: asked to stop.
bool start_from(const MotionClusters& clusters, const Whole& whole, const SkeletonOptions& options,
                const Progress& progress, Rigging& rig) {
  const SparseWeights weights = weights_of(clusters, rig.influences);
  bool finished = true;
  if (options.max_bones > 0) {
    rig.state.D = clusters.D;
    rig.state.weights = weights_at(weights, whole.chosen);
    free_iterations(rig);
    shrink_free(rig, options.max_bones);
    finished = joint_softly(rig, options, progress);
  } else {
    Rigging smooth{&whole.problem, &whole.edges, {}, {}, rig.influences, kStartSmoothness, 1, 0};
    smooth.state.D = clusters.D;
    smooth.state.weights = weights;
    free_iterations(smooth);
    finished = joint_softly(smooth, options, progress);
    rig.tree = smooth.tree;
    rig.state.D = smooth.state.D;
    rig.state.weights = weights_at(smooth.state.weights, whole.chosen);
    update_weights(rig);
  }
  strict_rounds(rig, 1, 12);
  if (options.max_bones > 0) shrink_to(rig, options.max_bones);
  return finished && converge(rig, kStartRounds);
}

/// Whether a skeleton with a bone fewer will do: the error hardly rises, or stays too small to see.
bool will_do(const Rigging& fewer, const Rigging& rig) {
  const double rise = fewer.e_rms() < kGoodEnough ? kRisesUnseen : kHardlyRises;
  return fewer.e_rms() <= std::max(kSearchTruncation, rise * rig.e_rms());
}

/// Takes away bones, that which costs least first, while those left will do.
void drop_cheap_bones(Rigging& rig, const Progress& progress) {
  while (rig.state.bones() > 1 && report(progress, "search", 0)) {
    Rigging fewer = rig;
    shrink_to(fewer, rig.state.bones() - 1);
    if (fewer.e_rms() > kHardlyRises * rig.e_rms()) converge(fewer, kDropRounds);
    if (!will_do(fewer, rig)) return;
    rig = std::move(fewer);
  }
}

/// The best of several starts, if better than what there is. False: asked to stop.
bool best_start(const std::vector<std::size_t>& counts, const Whole& whole, const SkeletonOptions& options,
                const Progress& progress, const Rigging& empty, Rigging& rig) {
  for (const std::size_t count : counts) {
    Rigging tried = empty;
    const bool finished = start_from(parts_of(whole.problem, count), whole, options, progress, tried);
    if (tried.state.squares < rig.state.squares) rig = std::move(tried);
    if (!finished) return false;
  }
  return true;
}

/// Starts with ever fewer bones. What does not depend on the number of bones is done once: the clusters, of numbers
/// that are a quarter of an octave apart, and their free bones, which go on from where the last start left them.
class FewerBones {
 public:
  FewerBones(const Whole& whole, const SkeletonOptions& options, const Rigging& empty)
      : whole_(whole), options_(options), empty_(empty) {
    options_.max_bones = 0;
  }

  void save(SavedArrays& arrays) const {
    Eigen::MatrixXd& counts = arrays["free clusters"] = Eigen::MatrixXd(2, static_cast<Eigen::Index>(free_.size()));
    Eigen::Index i = 0;
    for (const auto& [count, rig] : free_) {
      counts.col(i++) << static_cast<double>(count), static_cast<double>(rig.phase);
      save_fit(rig.state, fmt::format("free {} ", count), arrays);
    }
  }

  void take(const SavedArrays& arrays) {
    const Problem& problem = *empty_.problem;
    for (const auto& column : saved_array(arrays, "free clusters", 2, -1).colwise()) {
      const auto count = static_cast<std::size_t>(std::clamp(column(0), 1.0, 1e9));
      Rigging& rig = free_.insert_or_assign(count, empty_).first->second;
      rig.phase = static_cast<int>(std::clamp(column(1), 0.0, 1e9));
      rig.state = saved_fit(arrays, fmt::format("free {} ", count), problem.frame_count(), problem.vertex_count());
    }
  }

  /// The best of several starts with so many bones, no more than before, if better than what there is. Those that are
  /// behind after a few rounds are given up. False: asked to stop.
  bool start_with(int bones, const Progress& progress, Rigging& rig) {
    options_.max_bones = bones;
    std::vector<Rigging> tried;
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t count : cluster_numbers(bones)) {
      tried.push_back(free_bones(count));
      Rigging& start = tried.back();
      if (!joint_softly(start, options_, progress)) return false;
      strict_rounds(start, 1, 12);
      converge(start, kTrialRounds);
      least = std::min(least, start.e_rms());
    }
    for (Rigging& start : tried) {
      if (start.e_rms() > kBehind * least) continue;
      if (!report(progress, "search", 0)) return false;
      converge(start, kStartRounds - kTrialRounds);
      if (start.state.squares < rig.state.squares) rig = std::move(start);
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

  Rigging free_bones(std::size_t clusters) {
    const auto [place, fresh] = free_.try_emplace(clusters, empty_);
    Rigging& rig = place->second;
    if (fresh || rig.state.bones() < options_.max_bones) {
      const MotionClusters parts = parts_of(whole_.problem, clusters);
      rig.state.D = parts.D;
      rig.state.weights = weights_at(weights_of(parts, rig.influences), whole_.chosen);
      free_iterations(rig);
    }
    shrink_free(rig, options_.max_bones);
    return rig;
  }

  const Whole& whole_;
  SkeletonOptions options_;
  const Rigging& empty_;
  std::map<std::size_t, Rigging> free_;  // by the number of clusters
};

/// A sixth more bones where that lowers the error markedly: added to those there are or, where that does not do, all
/// started anew. False: it does not, or asked to stop.
bool grow_if_worth_it(FewerBones& anew, std::uint64_t seed, const Progress& progress, Rigging& rig) {
  if (rig.e_rms() < kSearchTruncation || rig.state.bones() >= kMostBones || !report(progress, "search", 0))
    return false;
  const double worth = rig.e_rms() * (rig.e_rms() < kGoodEnough ? 1 / kRisesUnseen : kWorthIt);
  Rigging more = rig;
  grow_by(more, std::max(1, rig.state.bones() / 6), seed + static_cast<std::uint64_t>(rig.state.bones()));
  converge(more, kDropRounds);
  const bool short_of = more.e_rms() > worth && more.state.bones() <= kMostAnew;
  if (short_of && !anew.start_with(more.state.bones(), progress, more)) return false;
  if (more.e_rms() > worth) return false;
  rig = std::move(more);
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
Round find_number_once(FewerBones& anew, const SkeletonOptions& options, const Progress& progress, const Rigging& empty,
                       NumberSearch& search, Rigging& rig) {
  if (search.growing) {
    search.growing = rig.e_rms() >= kGoodEnough && grow_if_worth_it(anew, options.seed, progress, rig);
    return Round::go_on;
  }
  if (rig.state.bones() < 2) return Round::done;
  drop_cheap_bones(rig, progress);
  if (rig.state.bones() != search.started) {
    search.started = rig.state.bones();
    return anew.start_with(search.started, progress, rig) ? Round::go_on : Round::stopped;
  }
  Rigging fewer = empty;
  if (search.started > 1 && !anew.start_with(--search.started, progress, fewer)) return Round::stopped;
  if (will_do(fewer, rig)) {
    rig = std::move(fewer);
  } else if (search.growths++ < kGrowths && rig.e_rms() < kGoodEnough &&
             grow_if_worth_it(anew, options.seed, progress, rig)) {
    search.started = 0;
  } else {
    return Round::done;
  }
  return Round::go_on;
}

/// As many bones as the error asks for, where the motion put them. Which bones remain when others are dropped depends
/// on the way there, so the number that remains is started from anew; then more may go, and one fewer is started from.
/// Where that will not do, some more may: who comes from few clusters has not seen what many bones can do.
bool find_number(const Whole& whole, const SkeletonOptions& options, const Progress& progress, const Rigging& empty,
                 Rigging& rig) {
  FewerBones anew(whole, options, empty);
  NumberSearch search;
  int round = 0;
  if (const auto saved = resume(options.checkpoint, kFindNumber)) {
    take_rigging(saved->arrays, "", rig);
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
      save_rigging(rig, "", place);
      anew.save(place);
      place["place"] = numbers(
          {search.growing ? 1.0 : 0.0, static_cast<double>(search.started), static_cast<double>(search.growths)});
    }
    const auto keep_place = [&] {
      keep(options.checkpoint, kFindNumber, round, [&](SavedArrays& arrays) { arrays = place; });
    };
    keep_place();
    const Round end = find_number_once(anew, options, progress, empty, search, rig);
    if (end == Round::stopped || !report(progress, "search", end == Round::done ? 1 : 0)) {
      keep_place();
      return false;
    }
    if (end == Round::done) return true;
    ++round;
  }
}

/// The best of several starts, then moves that alternation cannot make; all on a sample of the vertices.
bool find_skeleton(const Whole& whole, const SkeletonOptions& options, FitReport& fit, const Progress& progress,
                   Rigging& rig) {
  const Problem& problem = whole.problem;
  const Rigging empty = rig;
  {
    const StepTimer timer(fit, "start");
    const bool still = problem.e_rms(problem.total_energy()) < kStill;
    if (still) fit.remark = "nothing moves but the mesh as a whole: one bone";
    std::vector<std::size_t> counts = still ? std::vector<std::size_t>{1} : cluster_counts(options);
    if (resumes(options.checkpoint, kSkeletonSearch) || resumes(options.checkpoint, kFindNumber))
      counts.clear();  // an earlier run did them
    if (!best_start(counts, whole, options, progress, empty, rig)) return false;
  }
  const StepTimer timer(fit, "search");
  if (options.max_bones > 0 || options.keep_all_bones)
    return search_skeleton(rig, options.moves, options.seed, options.checkpoint, progress);
  return find_number(whole, options, progress, empty, rig);
}

}  // namespace

void check_options(const SkeletonOptions& options) {
  const auto refuse = [](const std::string& sentence) { throw Error(ErrorKind::usage, sentence); };
  if (options.clusters < 1)
    refuse(fmt::format("skeleton: {} initial clusters, at least 1 is needed", options.clusters));
  if (options.influences < 1 || options.influences > 8)
    refuse(fmt::format("skeleton: {} influences per vertex, 1 to 8 are possible", options.influences));
  if (options.max_bones < 0) refuse(fmt::format("skeleton: at most {} bones are asked for", options.max_bones));
  if (!(options.smoothness >= 0)) refuse("skeleton: smoothness is negative");
  if (options.symmetric && !options.root.empty() && options.root != "auto")
    refuse("skeleton: the root of a symmetric skeleton is on its mirror plane: --root does not go with --symmetric");
}

bool settle_all(Rigging& rig, const SkeletonOptions& options, const RoundDone& done) {
  const int most = options.moves > 0 ? kLoosenings : 0;
  int loosenings = 0;
  if (const auto saved = resume(options.checkpoint, kSettleAll)) {
    const int bones = rig.state.bones();
    take_rigging(saved->arrays, "", rig);
    if (rig.state.bones() != bones) throw Error(ErrorKind::input, "checkpoint: it is of a rig with other bones");
    loosenings = std::min(most, static_cast<int>(saved->step));
  } else if (!converge(rig, kLoosenRounds, done)) {
    return false;
  }
  const auto keep_place = [&] {
    keep(options.checkpoint, kSettleAll, loosenings, [&](SavedArrays& arrays) { save_rigging(rig, "", arrays); });
  };
  keep_place();
  while (loosenings < most) {
    Rigging tried = rig;
    loosen(tried);
    if (!converge(tried, kLoosenRounds, done)) {
      keep_place();
      return false;
    }
    const double gained = 1 - tried.e_rms() / rig.e_rms();
    if (gained > 0) rig = std::move(tried);
    loosenings = gained < kLoosenGain ? most : loosenings + 1;
    keep_place();
  }
  return converge(rig, options.strict_iterations, done);
}

void sum_up(Rigging& rig) {
  PassOptions pass;
  pass.keep_weights = true;
  weights_pass(*rig.problem, bone_gram(*rig.problem, rig.state.D), pass, rig.state.weights, rig.state.sums);
  rig.state.squares = rig.state.sums.squares;
}

void update_weights(Rigging& rig) {
  PassOptions pass;
  pass.influences = rig.influences;
  pass.swap_period = rig.swap_period;
  pass.phase = rig.phase++;
  if (rig.edges != nullptr) pass.smoothing = {rig.smoothness, rig.edges};
  weights_pass(*rig.problem, bone_gram(*rig.problem, rig.state.D), pass, rig.state.weights, rig.state.sums);
  rig.state.squares = rig.state.sums.squares;
}

namespace {

/// Motion of all frames from that of every `step`-th: each as the nearest of those, carried along with the whole mesh.
Eigen::MatrixXd spread_motion(const Problem& few, const Eigen::MatrixXd& D, const Problem& all, std::size_t step) {
  const Eigen::Index bones = D.cols() / 4;
  Eigen::MatrixXd out(all.common().rows(), D.cols());
  for (std::size_t f = 0; f < all.frame_count(); ++f) {
    const auto to = 3 * static_cast<Eigen::Index>(f);
    const auto from = 3 * static_cast<Eigen::Index>(std::min((f + step / 2) / step, few.frame_count() - 1));
    const Eigen::Matrix3d turn = all.common().block<3, 3>(to, 0) * few.common().block<3, 3>(from, 0).transpose();
    Eigen::Matrix3Xd T = turn * (D.middleRows<3>(from) + few.common().middleRows<3>(from).replicate(1, bones));
    const Eigen::Vector3d shift = all.common().block<3, 1>(to, 3) - turn * few.common().block<3, 1>(from, 3);
    for (Eigen::Index b = 0; b < bones; ++b) T.col(4 * b + 3) += shift;
    out.middleRows<3>(to) = T - all.common().middleRows<3>(to).replicate(1, bones);
  }
  return out;
}

/// The skeleton of a sample of the vertices and frames, then its motion in all frames and its weights at all vertices.
/// False: asked to stop.
bool search_and_spread(const Sequence& sequence, const SkeletonOptions& options, FitReport& fit,
                       const Progress& progress, Rigging& rig) {
  const Problem& problem = *rig.problem;
  const std::size_t step = (problem.frame_count() + kSearchFrames - 1) / kSearchFrames;
  std::optional<Sequence> some;
  std::optional<Problem> thin;
  if (step > 1) {
    some = select_frames(sequence, 0, sequence.frame_count(), step);
    thin.emplace(*some, ProblemOptions{kTruncation, options.threads, options.seed});
  }
  const Problem& few = thin ? *thin : problem;
  const std::size_t most = options.max_bones > 0 ? kMoveVertices : kSearchVertices;
  const std::vector<Index> chosen = spread_vertices(few.vertex_count(), most);
  const Problem part = few.sample(chosen, kSearchTruncation, options.seed);
  Rigging sketch{&part, nullptr, {}, {}, options.influences, 0, kSwapPeriod, 0};
  const bool searched = find_skeleton({few, *rig.edges, chosen}, options, fit, progress, sketch);
  rig.tree = sketch.tree;
  rig.state.D = step > 1 ? spread_motion(few, sketch.state.D, problem, step) : sketch.state.D;
  rig.state.weights = spread_weights(problem.adjacency(), chosen, sketch.state.weights);
  if (step > 1) {
    sum_up(rig);
    settle_tree(rig, 3);
  }
  update_weights(rig);
  return searched;
}

}  // namespace

Rig solve_skeleton(const Sequence& sequence, const SkeletonOptions& options, FitReport& fit, const Progress& progress) {
  check_options(options);
  fit.method = "skeleton";
  fit.bones_asked = options.max_bones;
  const double start = now_seconds();
  int rounds = 0;
  const auto round_done = [&](double error) {
    fit.iterations.push_back({error, now_seconds() - start});
    return report(progress, "strict joints", static_cast<double>(++rounds) / options.strict_iterations);
  };
  const Problem problem(sequence, {kTruncation, options.threads, options.seed});
  const EdgeWeights edges = rigidness_laplacian(sequence, problem.adjacency(), 1e-3, problem.threads());
  Rigging rig{&problem, &edges, {}, {}, options.influences, options.smoothness, kSwapPeriod, 0};
  bool finished = false;
  if (options.symmetric) {
    const MirrorPlane plane = required_mirror_plane(sequence);
    const Sequence mirrored = with_mirrored_frames(sequence, plane);
    const Problem twice(mirrored, {kTruncation, options.threads, options.seed});
    Rigging both = rig;
    both.problem = &twice;
    finished = search_and_spread(mirrored, options, fit, progress, both);
    const StepTimer timer(fit, "symmetry");
    make_symmetric(both, plane, options.max_bones);
    if (finished) converge(both, options.strict_iterations);
    take_first_half(both, rig);
    update_weights(rig);
  } else {
    finished = search_and_spread(sequence, options, fit, progress, rig);
  }
  const StepTimer timer(fit, "strict joints");
  finished = finished && converge(rig, options.strict_iterations, round_done);
  fit.termination = finished ? Termination::converged : Termination::cancelled;
  fit.bones = rig.state.bones();
  return lay_out_skeleton(sequence, rig, options);
}

}  // namespace sinew
