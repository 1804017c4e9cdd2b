#include "sinew/solve/sma.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/index.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"
#include "sinew/evaluate/errors.h"
#include "solve/sma/bones.h"
#include "solve/sma/refit.h"

// Skinning mesh animations [JamesTwigg2005]: docs/algorithms/sma.md.

namespace sinew::sma {
namespace {

constexpr std::size_t kSearchTries = 14;
constexpr double kSmallestEpsilon = 0.002;
constexpr double kLargestEpsilon = 1;
constexpr const char* kEpsilonPhase = "epsilon";  // loops of a checkpoint
constexpr const char* kRefitPhase = "refit";

void check(const SmaOptions& options) {
  const auto require = [](bool good, const std::string& sentence) {
    if (!good) throw Error(ErrorKind::usage, sentence);
  };
  require(options.epsilon > 0 && options.epsilon <= 2,
          fmt::format("epsilon {}: expected more than 0 and at most 2", options.epsilon));
  require(options.bones >= 0, fmt::format("bones {}: expected at least 1", options.bones));
  require(options.iterations >= 0, fmt::format("iterations {}: expected at least 0", options.iterations));
  require(options.influences >= 0, fmt::format("influences {}: expected at least 1", options.influences));
  require(options.negative_bound >= 0 && options.negative_bound <= 100,
          fmt::format("negative bound {}: expected 0..100", options.negative_bound));
}

/// Keeps the bones with the most core triangles.
Cores keep_largest(Cores cores, std::size_t bones) {
  std::vector<std::size_t> order(cores.bones());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return cores.sizes[a] > cores.sizes[b]; });
  std::vector<int> new_number(cores.bones(), -1);
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < std::min(bones, order.size()); ++i) {
    new_number[order[i]] = static_cast<int>(i);
    sizes.push_back(cores.sizes[order[i]]);
  }
  for (int& b : cores.bone_of) b = b < 0 ? -1 : new_number[static_cast<std::size_t>(b)];
  cores.sizes = std::move(sizes);
  return cores;
}

/// Drops bones without core triangles, which a kernel narrower than the join radius can leave.
Cores without_empty(const Cores& cores) {
  const auto used = static_cast<std::size_t>(
      std::count_if(cores.sizes.begin(), cores.sizes.end(), [](std::size_t size) { return size > 0; }));
  return keep_largest(cores, used);
}

/// Modes of the rotations at this ε, cut where parts move differently.
Cores bones_at(const Sequence& sequence, const Triangles& triangles, double epsilon, int threads,
               const Progress& progress) {
  const Cores modes = without_empty(find_cores(triangles, epsilon, threads, progress));
  return separate_parts(sequence, triangles, modes, threads);
}

void save_cores(const Cores& cores, const std::string& prefix, SavedArrays& arrays) {
  arrays[prefix + "cores"] =
      Eigen::Map<const Eigen::RowVectorXi>(cores.bone_of.data(), static_cast<Eigen::Index>(cores.bone_of.size()))
          .cast<double>();
  arrays[prefix + "core facts"] =
      numbers({cores.epsilon, cores.near_rigid_fraction, static_cast<double>(cores.bones())});
}

Cores saved_cores(std::size_t triangles, const SavedArrays& arrays, const std::string& prefix) {
  const Eigen::MatrixXd& bone_of = saved_array(arrays, prefix + "cores", 1, static_cast<Eigen::Index>(triangles));
  const Eigen::MatrixXd& facts = saved_array(arrays, prefix + "core facts", 3, 1);
  if (facts(2) < 1 || facts(2) > static_cast<double>(triangles) || bone_of.maxCoeff() >= facts(2))
    throw Error(ErrorKind::input, "checkpoint: it has triangles of bones that are not there");
  Cores cores;
  cores.epsilon = facts(0);
  cores.near_rigid_fraction = facts(1);
  cores.sizes.assign(static_cast<std::size_t>(facts(2)), 0);
  for (Eigen::Index j = 0; j < bone_of.cols(); ++j) {
    cores.bone_of.push_back(static_cast<int>(std::max(-1.0, bone_of(j))));
    if (cores.bone_of.back() >= 0) ++cores.sizes[static_cast<std::size_t>(cores.bone_of.back())];
  }
  return cores;
}

/// What the search for an ε carries from try to try.
struct EpsilonSearch {
  double low = kSmallestEpsilon;
  double high = kLargestEpsilon;
  double epsilon = 0;               // to be tried next
  std::vector<SearchRecord> found;  // every try
  std::optional<Cores> above;       // the fewest bones that are more than asked for
  std::optional<Cores> most;
};

void save_epsilons(const EpsilonSearch& search, SavedArrays& arrays) {
  arrays["epsilons"] = numbers({search.low, search.high, search.epsilon});
  Eigen::MatrixXd& found = arrays["found"] = Eigen::MatrixXd(2, index(search.found.size()));
  for (std::size_t i = 0; i < search.found.size(); ++i)
    found.col(index(i)) << search.found[i].bones, search.found[i].e_rms;
  if (search.above) save_cores(*search.above, "above ", arrays);
  if (search.most) save_cores(*search.most, "most ", arrays);
}

EpsilonSearch saved_epsilons(std::size_t triangles, double first, const SavedArrays& arrays) {
  const Eigen::MatrixXd& epsilons = saved_array(arrays, "epsilons", 3, 1);
  const Eigen::MatrixXd& found = saved_array(arrays, "found", 2, -1);
  const bool tried = arrays.count("most cores") != 0;
  const bool possible = epsilons.minCoeff() >= std::min(first, kSmallestEpsilon) &&
                        epsilons.maxCoeff() <= std::max(first, kLargestEpsilon);
  if (!possible || tried != (found.size() > 0))
    throw Error(ErrorKind::input, "checkpoint: its search for an epsilon makes no sense");
  EpsilonSearch search{epsilons(0), epsilons(1), epsilons(2), {}, {}, {}};
  for (const auto& tried_one : found.colwise())
    search.found.push_back({static_cast<int>(std::clamp(tried_one(0), 0.0, 1e9)), std::max(0.0, tried_one(1))});
  const auto cores = [&](const std::string& prefix) -> std::optional<Cores> {
    if (arrays.count(prefix + "cores") == 0) return {};
    return saved_cores(triangles, arrays, prefix);
  };
  search.above = cores("above ");
  search.most = cores("most ");
  return search;
}

/// E_RMS of bones and weights fitted to these cores as in the paper, before they are refitted to each other.
double paper_error(const Sequence& sequence, const Triangles& triangles, const Cores& cores,
                   const SmaOptions& options) {
  const Motion motion = fit_bones(sequence, triangles, cores, options.transforms, options.threads);
  const double squares = squared_error(sequence, motion, fit_weights(sequence, motion, options), options.threads);
  return e_rms_of(squares, sequence.vertex_count(), sequence.frame_count(),
                  smallest_enclosing_sphere(sequence.rest.positions).radius);
}

/// Bisects log ε for the asked number of bones. The count falls with ε but not strictly, so the last resort is the
/// smallest larger set found, cut to its largest bones.
Cores search_epsilon(const Sequence& sequence, const Triangles& triangles, const SmaOptions& options, FitReport& report,
                     const Progress& progress) {
  const auto asked = static_cast<std::size_t>(options.bones);
  EpsilonSearch search;
  search.epsilon = options.epsilon;
  if (const auto saved = resume(options.checkpoint, kEpsilonPhase))
    search = saved_epsilons(triangles.corners.size(), options.epsilon, saved->arrays);
  report.search = search.found;
  const auto keep_place = [&] {
    keep(options.checkpoint, kEpsilonPhase, static_cast<std::int64_t>(search.found.size()),
         [&](SavedArrays& arrays) { save_epsilons(search, arrays); });
  };
  while (search.found.size() < kSearchTries) {
    keep_place();
    Cores cores;
    try {
      cores = bones_at(sequence, triangles, search.epsilon, options.threads, progress);
    } catch (const Error&) {  // interrupted
      keep_place();
      throw;
    }
    search.found.push_back({static_cast<int>(cores.bones()), paper_error(sequence, triangles, cores, options)});
    report.search.push_back(search.found.back());
    if (cores.bones() == asked) return cores;
    (cores.bones() > asked ? search.low : search.high) = search.epsilon;
    if (cores.bones() > asked && (!search.above || cores.bones() < search.above->bones())) search.above = cores;
    if (!search.most || cores.bones() > search.most->bones()) search.most = std::move(cores);
    search.epsilon = std::sqrt(search.low * search.high);
  }
  return search.above ? keep_largest(std::move(*search.above), asked) : std::move(*search.most);
}

std::vector<Bone> name_bones(const Sequence& sequence, const Triangles& triangles, const Cores& cores) {
  std::vector<Eigen::Vector3d> centers(cores.bones(), Eigen::Vector3d::Zero());
  std::vector<double> areas(cores.bones(), 0);
  for (std::size_t j = 0; j < triangles.corners.size(); ++j) {
    if (cores.bone_of[j] < 0) continue;
    const auto b = static_cast<std::size_t>(cores.bone_of[j]);
    areas[b] += triangles.areas[j];
    for (const Index v : triangles.corners[j])
      centers[b] += triangles.areas[j] / 3 * sequence.rest.positions.col(v).cast<double>();
  }
  std::vector<Bone> bones(cores.bones());
  for (std::size_t b = 0; b < bones.size(); ++b) {
    bones[b].name = fmt::format("bone_{:02}", b);
    bones[b].head = bones[b].tail = (centers[b] / areas[b]).cast<float>();
  }
  return bones;
}

/// Corners of the core triangles, in hexadecimal digits of four vertices each, the first in the lowest bit.
std::string core_vertices(std::size_t vertices, const Triangles& triangles, const Cores& cores) {
  std::vector<unsigned> digits((vertices + 3) / 4);
  for (std::size_t j = 0; j < triangles.corners.size(); ++j) {
    if (cores.bone_of[j] < 0) continue;
    for (const Index v : triangles.corners[j]) digits[v / 4] |= 1U << v % 4;
  }
  return fmt::format("{:x}", fmt::join(digits, ""));
}

std::string notes_of(std::size_t vertices, const Triangles& triangles, const Cores& cores, std::size_t helpers) {
  std::vector<double> shares;
  for (const std::size_t size : cores.sizes)
    shares.push_back(static_cast<double>(size) / static_cast<double>(triangles.corners.size()));
  return fmt::format(R"({{"method":"sma","epsilon":{},"bones":{},"helper_bones":{},"near_rigid_fraction":{:.4f},)"
                     R"("degenerate_triangles":{},"core_share":[{:.4f}],"core_vertices":"{}"}})",
                     cores.epsilon, cores.bones(), helpers, cores.near_rigid_fraction, triangles.degenerate,
                     fmt::join(shares, ","), core_vertices(vertices, triangles, cores));
}

std::string remark_of(const SmaOptions& options, const Triangles& triangles, const Cores& cores, std::size_t helpers) {
  std::string remark = fmt::format("{} bones at epsilon {:.4g}, near-rigid fraction {:.3f}", cores.bones(),
                                   cores.epsilon, cores.near_rigid_fraction);
  if (options.bones > 0 && cores.bones() != static_cast<std::size_t>(options.bones))
    remark += fmt::format("; {} were asked for, but no epsilon gives as many significant modes", options.bones);
  if (triangles.degenerate > 0) remark += fmt::format("; {} degenerate triangles left out", triangles.degenerate);
  if (helpers > 0) remark += fmt::format("; {} helper bones carry negative weights", helpers);
  return remark;
}

Rig empty_rig(const Sequence& sequence) {
  Rig rig;
  rig.rest = sequence.rest;
  rig.times = sequence.times;
  rig.clips = sequence.clips;
  return rig;
}

/// Bones with weights, as refit() takes them from round to round.
struct Model {
  Motion motion;
  SignedWeights weights;
};

void save_model(const Model& model, const std::string& prefix, SavedArrays& arrays) {
  const auto K = static_cast<Eigen::Index>(model.weights.influences);
  const auto V = static_cast<Eigen::Index>(model.weights.values.size()) / std::max<Eigen::Index>(1, K);
  const auto F = static_cast<Eigen::Index>(model.motion.frame_count());
  const auto B = static_cast<Eigen::Index>(model.motion.bone_count());
  Eigen::MatrixXd& motion = arrays[prefix + "motion"] = Eigen::MatrixXd(3 * F, 4 * B);
  for (Eigen::Index f = 0; f < F; ++f)
    for (Eigen::Index b = 0; b < B; ++b)
      motion.block<3, 4>(3 * f, 4 * b) =
          model.motion(static_cast<std::size_t>(f), static_cast<std::size_t>(b)).cast<double>();
  arrays[prefix + "weights"] = Eigen::Map<const Eigen::MatrixXd>(model.weights.values.data(), K, V);
  arrays[prefix + "weight bones"] =
      Eigen::Map<const Eigen::Matrix<Index, Eigen::Dynamic, Eigen::Dynamic>>(model.weights.bones.data(), K, V)
          .cast<double>();
}

Model saved_model(const Sequence& sequence, std::size_t bones, const SavedArrays& arrays, const std::string& prefix) {
  Model model{Motion(sequence.frame_count(), bones), {}};
  const auto F = static_cast<Eigen::Index>(sequence.frame_count());
  const auto B = static_cast<Eigen::Index>(bones);
  const Eigen::MatrixXd& motion = saved_array(arrays, prefix + "motion", 3 * F, 4 * B);
  for (Eigen::Index f = 0; f < F; ++f)
    for (Eigen::Index b = 0; b < B; ++b)
      model.motion(static_cast<std::size_t>(f), static_cast<std::size_t>(b)) =
          motion.block<3, 4>(3 * f, 4 * b).cast<float>();
  const Eigen::MatrixXd& values =
      saved_array(arrays, prefix + "weights", -1, static_cast<Eigen::Index>(sequence.vertex_count()));
  const Eigen::MatrixXd& owners = saved_array(arrays, prefix + "weight bones", values.rows(), values.cols());
  if (values.rows() < 1 || owners.minCoeff() < 0 || owners.maxCoeff() >= static_cast<double>(bones))
    throw Error(ErrorKind::input, "checkpoint: it has weights for bones that are not there");
  model.weights.influences = static_cast<int>(values.rows());
  model.weights.values.assign(values.data(), values.data() + values.size());
  for (Eigen::Index i = 0; i < owners.size(); ++i) model.weights.bones.push_back(static_cast<Index>(owners.data()[i]));
  return model;
}

/// Alternates bones and weights; keeps the best. Says whether the last round still brought something.
Termination refit(const Sequence& sequence, const SmaOptions& options, Motion& motion, SignedWeights& weights,
                  const Progress& progress) {
  Model now{motion, weights};
  Motion& trial = now.motion;
  SignedWeights& trial_weights = now.weights;
  int first = 0;
  if (const auto saved = resume(options.checkpoint, kRefitPhase)) {
    now = saved_model(sequence, motion.bone_count(), saved->arrays, "now ");
    Model kept = saved_model(sequence, motion.bone_count(), saved->arrays, "best ");
    motion = std::move(kept.motion);
    weights = std::move(kept.weights);
    first = static_cast<int>(saved->step);
  }
  double best = squared_error(sequence, motion, weights, options.threads);
  Termination end = Termination::converged;  // the paper's own pipeline, without rounds, is done
  for (int i = first; i < options.iterations; ++i) {
    keep(options.checkpoint, kRefitPhase, i, [&](SavedArrays& arrays) {
      save_model(now, "now ", arrays);
      save_model({motion, weights}, "best ", arrays);
    });
    refit_bones(sequence, trial_weights, options.transforms, options.threads, trial);
    trial_weights = fit_weights(sequence, trial, options);
    const double error = squared_error(sequence, trial, trial_weights, options.threads);
    end = error < best ? Termination::iteration_limit : Termination::converged;
    if (error < best) {
      best = error;
      motion = trial;
      weights = trial_weights;
    }
    if (!tell(progress, "refit", static_cast<double>(i + 1) / options.iterations)) return Termination::cancelled;
  }
  return end;
}

}  // namespace

}  // namespace sinew::sma

namespace sinew {

Rig solve_sma(const Sequence& sequence, const SmaOptions& options, FitReport& report, const Progress& progress) {
  using namespace sma;
  check(options);
  sequence.check();
  report = fresh_report("sma", options.bones);
  Triangles triangles;
  {
    const StepTimer timer(report, "rotations");
    triangles = triangle_rotations(sequence, options.threads);
  }
  if (triangles.corners.empty())
    throw Error(ErrorKind::input, fmt::format("{}: no triangle keeps an area in every frame; sma needs them for bones",
                                              sequence.name.empty() ? "sequence" : sequence.name));
  if (!tell(progress, "mean shift", 0)) throw Error(ErrorKind::interrupted, "interrupted during the mean shift");
  Cores cores;
  if (resumes(options.checkpoint, kRefitPhase)) {
    cores = saved_cores(triangles.corners.size(), options.checkpoint->finished, "");
  } else {
    const StepTimer timer(report, "mean shift");
    cores = options.bones > 0 ? search_epsilon(sequence, triangles, options, report, progress)
                              : bones_at(sequence, triangles, options.epsilon, options.threads, progress);
  }
  if (options.checkpoint != nullptr) save_cores(cores, "", options.checkpoint->finished);
  Rig rig = empty_rig(sequence);
  rig.transforms = options.transforms;
  {
    const StepTimer timer(report, "bones");
    rig.bones = name_bones(sequence, triangles, cores);
    rig.motion = fit_bones(sequence, triangles, cores, options.transforms, options.threads);
  }
  SignedWeights weights;
  {
    const StepTimer timer(report, "weights");
    weights = fit_weights(sequence, rig.motion, options);
  }
  {
    const StepTimer timer(report, "refit");
    report.termination = refit(sequence, options, rig.motion, weights, progress);
  }
  const std::size_t helpers = set_weights(rig, weights);
  rig.notes = notes_of(sequence.vertex_count(), triangles, cores, helpers);
  report.remark = remark_of(options, triangles, cores, helpers);
  report.bones = static_cast<int>(cores.bones());
  return rig;
}

Rig fit_sma_weights(const Sequence& sequence, const Rig& given, const SmaOptions& options, FitReport& report,
                    const Progress& progress) {
  using namespace sma;
  check(options);
  sequence.check();
  given.check();
  report = fresh_report("sma", static_cast<int>(given.bone_count()));
  if (given.vertex_count() != sequence.vertex_count() || given.frame_count() != sequence.frame_count())
    throw Error(ErrorKind::input,
                fmt::format("the given rig has {} vertices and {} frames, the sequence {} and {}", given.vertex_count(),
                            given.frame_count(), sequence.vertex_count(), sequence.frame_count()));
  const StepTimer timer(report, "weights");
  Rig rig = given;
  rig.corrections.reset();
  rig.two_layer.reset();
  rig.rest = sequence.rest;
  tell(progress, "weights", 0);
  const std::size_t helpers = set_weights(rig, fit_weights(sequence, rig.motion, options));
  if (helpers > 0) report.remark = fmt::format("{} helper bones carry negative weights", helpers);
  report.bones = static_cast<int>(given.bone_count());
  report.termination = Termination::converged;
  return rig;
}

}  // namespace sinew
