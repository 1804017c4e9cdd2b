// Hyperspectral inverse skinning [Liu2020]: one-ring maps → closest flat → simplex of least volume → model.

#include "sinew/solve/flats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "math/decompositions.h"
#include "math/minimum_volume_simplex.h"
#include "sinew/core/error.h"
#include "sinew/evaluate/errors.h"
#include "solve/flats/kernels.h"
#include "solve/flats/model.h"
#include "solve/flats/search.h"

namespace sinew::flats {
namespace {

// The reduction may leave out this much of the error that four alternations reach.
constexpr double kTruncation = 0.03;
// The float model may be this much worse than the flat.
constexpr double kAllowedRatio = 1.05;
constexpr double kAllowedExtra = 1e-4;
// Beyond this the simplex has gone wrong and a smaller one is tried.
constexpr double kUsableRatio = 1.5;
constexpr double kUsableExtra = 0.01;

void check(const FlatsOptions& options) {
  const auto need = [](bool holds, const char* sentence) {
    if (!holds) throw Error(ErrorKind::usage, sentence);
  };
  need(options.bones >= 1, "flats: bones must be 1 or more");
  need(options.influences >= 0, "flats: influences must be 0 (dense) or more");
  need(options.max_error >= 0, "flats: max_error must not be negative");
  need(options.quantile > 0 && options.quantile <= 1, "flats: quantile must lie in (0, 1]");
  need(options.outliers < 1, "flats: outliers must be a fraction below 1");
  need(options.max_bones >= 1, "flats: max_bones must be 1 or more");
}

double flat_e_rms(const FlatProblem& problem, const FlatFit& fit) {
  return problem.e_rms(fit.distance + problem.truncated);
}

/// E_RMS of one bone: what the best affine map of every frame leaves.
double one_bone_e_rms(const FlatProblem& problem) {
  double sum = problem.truncated;
  for (std::size_t b = 0; b < problem.points.block_count(); ++b)
    sum += squared_norm(problem.points.block(b), kBlock * static_cast<std::size_t>(problem.rank));
  return problem.e_rms(sum);
}

/// Problem and maps at a truncation that suits the error to be expected with this many handles.
struct Prepared {
  FlatProblem problem;
  VertexMaps maps;
};

Prepared prepare(const Sequence& sequence, const FlatsOptions& options, int handles) {
  Prepared result;
  const FlatUnit unit = options.solver == FlatSolver::alternating ? FlatUnit::box : FlatUnit::sphere;
  const FlatFrames frames = measure_frames(sequence, unit, options.threads);
  if (options.optimize_rest || 3 * sequence.frame_count() <= 32) {
    result.problem = make_flat_problem(frames, 0, options.threads);
    result.maps = fit_one_rings(result.problem, sequence.rest, options.threads);
    return result;
  }
  // A coarse problem tells the scale of the error: what a few alternations reach.
  const FlatProblem coarse = make_flat_problem(frames, 0.3, options.threads);
  const VertexMaps maps = fit_one_rings(coarse, sequence.rest, options.threads);
  FlatsOptions quick;
  quick.alternations = 2;
  quick.max_steps = 0;
  quick.threads = options.threads;
  const FoundFlat found = search_flat(coarse, maps, handles, quick, {});
  result.problem = make_flat_problem(frames, kTruncation * flat_e_rms(coarse, found.fit), options.threads);
  result.maps = fit_one_rings(result.problem, sequence.rest, options.threads);
  return result;
}

/// Smallest number of handles whose flat reaches the asked error: doubling, then bisection; each smaller flat starts
/// from a larger one without its least important directions.
/// Asked to stop, it returns the smallest number known to do, or the largest tried.
int search_handles(const Sequence& sequence, const FlatsOptions& options, const Prepared& prepared, FitReport& report,
                   const Progress& progress) {
  const FlatProblem& problem = prepared.problem;
  FlatsOptions quick = options;
  quick.checkpoint = nullptr;
  quick.max_starts = 1;
  quick.max_steps = std::min(options.max_steps, 12);
  const int most =
      static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(options.max_bones), sequence.vertex_count()));
  std::map<int, FoundFlat> known;
  const auto reaches = [&](int h) {
    const auto above = known.upper_bound(h);
    if (above == known.end()) {
      known[h] = search_flat(problem, prepared.maps, h, quick, progress);
    } else {
      Eigen::MatrixXd theta = above->second.theta;
      whiten_flat(problem, above->second.fit, options.threads, theta);
      FlatsOptions warm = quick;
      warm.alternations = 1;
      known[h] = improve_flat(problem, theta.topRows(4 * h), warm, progress);
    }
    const double error = flat_e_rms(problem, known[h].fit);
    report.search.push_back({h, error});
    return error <= options.max_error;
  };
  int high = 1;
  int low = 0;
  const auto go_on = [&] { return tell(progress, "bones", -1); };
  while (!reaches(high)) {
    low = high;
    if (!go_on()) return high;
    if (high == most) {
      report.remark = fmt::format("{} bones leave an E_RMS above the {} asked for", most, options.max_error);
      return most;
    }
    high = std::min(most, high < 8 ? high * 2 : high + high / 2);
  }
  while (high - low > 1 && go_on()) {
    const int middle = (low + high) / 2;
    (reaches(middle) ? high : low) = middle;
  }
  return high;
}

/// Places on the flat that stay near where the others are: the largest ridge on z that costs next to nothing.
void tame(const FlatProblem& problem, int threads, Eigen::MatrixXd& theta, FlatFit& fit) {
  fit_flat(problem, theta, 0, threads, fit);
  whiten_flat(problem, fit, threads, theta);
  fit_flat(problem, theta, 0, threads, fit);
  const double allowed = 1.005 * fit.distance + 0.1 * problem.floor;
  const double unit = std::max(fit.distance, 1e-3 * problem.floor) / static_cast<double>(problem.vertices);
  FlatFit trial;
  for (double ridge = 1e-6 * unit; ridge <= unit; ridge *= 10) {
    fit_flat(problem, theta, ridge, threads, trial);
    if (!(trial.distance <= allowed)) break;
    std::swap(fit, trial);
  }
}

/// Handles of a model from corners on the flat.
Eigen::MatrixXd handles_of(const Eigen::MatrixXd& theta, const Eigen::MatrixXd& corners) {
  const Eigen::Index h = theta.rows() / 4;
  Eigen::MatrixXd handles(theta.rows(), theta.cols());
  for (Eigen::Index j = 0; j < h; ++j) {
    handles.middleRows(4 * j, 4) = theta.topRows(4);
    for (Eigen::Index k = 0; k + 1 < h; ++k)
      handles.middleRows(4 * j, 4) += corners(k, j) * theta.middleRows(4 * (k + 1), 4);
  }
  return handles;
}

/// Places of the vertices on a flat, in the directions that they really span: those with at least `share` of the spread
/// of the widest.
struct Places {
  Eigen::MatrixXd theta;
  Eigen::MatrixXd z;  // (h-1)×V
};

Places spanned_places(const FlatProblem& problem, const Eigen::MatrixXd& theta, const FlatFit& fit, double share) {
  const Eigen::Index directions = fit.handles - 1;
  const auto V = static_cast<Eigen::Index>(problem.vertices);
  Places places{theta, Eigen::MatrixXd(directions, V)};
  for (Eigen::Index v = 0; v < V; ++v)
    for (Eigen::Index k = 0; k < directions; ++k)
      places.z(k, v) = fit.z(static_cast<std::size_t>(v), static_cast<std::size_t>(k));
  if (directions == 0) return places;
  const Eigen::VectorXd mean = places.z.rowwise().mean();
  places.z.colwise() -= mean;
  const SymmetricEigen spread = symmetric_eigen(Eigen::MatrixXd(places.z * places.z.transpose()));
  Eigen::Index first = 0;
  const double least = share * std::max(spread.values(directions - 1), 1e-12 * static_cast<double>(V));
  while (first < directions && spread.values(first) <= least) ++first;
  const Eigen::MatrixXd kept = spread.vectors.rightCols(directions - first);
  places.theta.resize(4 * (kept.cols() + 1), theta.cols());
  places.theta.topRows(4) = theta.topRows(4);
  for (Eigen::Index k = 0; k < directions; ++k) places.theta.topRows(4) += mean(k) * theta.middleRows(4 * (k + 1), 4);
  for (Eigen::Index j = 0; j < kept.cols(); ++j) {
    places.theta.middleRows(4 * (j + 1), 4).setZero();
    for (Eigen::Index k = 0; k < directions; ++k)
      places.theta.middleRows(4 * (j + 1), 4) += kept(k, j) * theta.middleRows(4 * (k + 1), 4);
  }
  places.z = kept.transpose() * places.z;
  return places;
}

/// A few rounds of exact half-steps with extrapolated handles; keeps the best.
void refine(FlatProblem& problem, const FlatsOptions& options, int rounds, FlatModel& model) {
  FlatModel best = model;
  double least = std::numeric_limits<double>::infinity();
  Eigen::MatrixXd previous = model.handles;
  double momentum = 0;
  for (int n = 0; n < rounds; ++n) {
    fit_weights(problem, options.influences, options.threads, model);
    if (options.optimize_rest) {
      fit_rest(model, options.threads, problem);
      problem.rest_moved = true;
    }
    fit_handles(problem, options.threads, model);
    const double distance = model_distance(problem, model, options.threads);
    if (distance < least) {
      momentum = std::min(0.9, momentum + 0.15);
      if (least - distance < 1e-4 * distance && n > 3) n = rounds;
      least = distance;
      best = model;
    } else {
      momentum = 0;
      model = best;
      if (options.optimize_rest) break;  // the rest has moved on; stop at the best handles for it
    }
    const Eigen::MatrixXd now = model.handles;
    if (momentum > 0 && !options.optimize_rest) model.handles += momentum * (now - previous);
    previous = now;
  }
  model = best;
}

struct Solved {
  Rig rig;
  double error = 0;
  double outliers = 0;
};

/// E_RMS of a rig, as the first of the ranks measures it over all frames.
double error_of(const Rig& rig, const Sequence& sequence, int threads) {
  Ranks& ranks = sequence.frames.ranks();
  return ranks.of_first(ranks.rank() == 0 ? evaluate(rig, sequence, threads).e_rms : 0.0);
}

/// Simplex, model and float rig for one fraction of outliers.
Solved enclose(FlatProblem problem, const Places& places, const Sequence& sequence, const FlatsOptions& options,
               double outliers) {
  const int directions = static_cast<int>(places.z.rows());
  VolumeOptions volume;
  volume.outliers = outliers;
  volume.max_iterations = options.max_starts > 1 ? 40 : 15;
  volume.tolerance = 1e-4 * std::max(1, directions);
  volume.threads = options.threads;
  const EnclosingSimplex simplex = minimum_volume_simplex(places.z, volume);
  FlatModel model;
  model.handles = handles_of(places.theta, simplex.corners);
  model.weights = simplex.weights.cwiseMax(0);
  model.weights = model.weights.array().rowwise() / model.weights.colwise().sum().array();
  const bool sparse = options.influences > 0 && options.influences <= directions;
  if (sparse || options.optimize_rest) {
    refine(problem, options, 30, model);
  } else if (outliers > 0 || directions == 0) {
    refine(problem, options, 6, model);
  }
  Solved solved;
  solved.rig = flat_rig(problem, model, sequence, sparse ? options.influences : 0, options.threads);
  solved.error = error_of(solved.rig, sequence, options.threads);
  solved.outliers = outliers;
  return solved;
}

}  // namespace

}  // namespace sinew::flats

namespace sinew {

void set_quality(FlatsOptions& options, Quality quality) {
  const FlatsOptions usual;
  const bool fast = quality == Quality::fast;
  const bool best = quality == Quality::best;
  options.max_steps = fast ? 12 : best ? 300 : usual.max_steps;
  options.max_products = fast ? 150 : best ? 4000 : usual.max_products;
  options.max_starts = best ? 400 : usual.max_starts;
  options.start_work = best ? 1.7e12 : usual.start_work;
  options.tolerance = best ? 1e-4 : usual.tolerance;
}

Rig solve_flats(const Sequence& sequence, const FlatsOptions& options, FitReport& report, const Progress& progress) {
  using namespace flats;
  check(options);
  sequence.check();
  report = fresh_report("flats", options.bones);
  const double start = now_seconds();
  const auto asked = static_cast<std::size_t>(options.bones);
  int handles = static_cast<int>(std::min(asked, sequence.vertex_count()));

  Prepared prepared = [&] {
    const StepTimer timer(report, "reduce");
    return prepare(sequence, options, options.max_error > 0 ? 20 : handles);
  }();
  const FlatProblem& problem = prepared.problem;
  if (options.max_error > 0) {
    const StepTimer timer(report, "bones");
    handles = search_handles(sequence, options, prepared, report, progress);
    report.bones_asked = handles;
  }
  FoundFlat found = [&] {
    const StepTimer timer(report, "flat");
    return search_flat(problem, prepared.maps, handles, options, progress);
  }();
  for (const double distance : found.trace.distance)
    report.iterations.push_back({problem.e_rms(distance + problem.truncated), now_seconds() - start});
  report.termination = found.trace.converged ? Termination::converged : Termination::iteration_limit;

  const StepTimer timer(report, "simplex");
  tame(problem, options.threads, found.theta, found.fit);
  const double flat_error = flat_e_rms(problem, found.fit);
  const bool sparse = options.influences > 0 && options.influences < handles;
  const bool automatic = options.outliers < 0 && !sparse && !options.optimize_rest;
  const double fixed[] = {std::max(0.0, options.outliers)};
  const double tried[] = {0, 0.0005, 0.002, 0.01};
  Solved best;
  best.error = std::numeric_limits<double>::infinity();
  // Directions that hardly any vertex needs blow the simplex up until float cannot hold its bones: fewer of them then.
  for (const double share : {1e-10, 1e-6, 1e-3, 2.0}) {
    const Places places = spanned_places(problem, found.theta, found.fit, share);
    for (const double outliers : automatic ? std::vector<double>(std::begin(tried), std::end(tried))
                                           : std::vector<double>(std::begin(fixed), std::end(fixed))) {
      if (best.error <= kAllowedRatio * flat_error + kAllowedExtra) break;
      if (!tell(progress, "simplex", -1)) {
        report.termination = Termination::cancelled;
        if (std::isfinite(best.error)) break;  // one enclosure makes a rig; the others would only improve it
      }
      Solved solved = enclose(problem, places, sequence, options, outliers);
      if (solved.error < best.error) best = std::move(solved);
    }
    if (report.termination == Termination::cancelled) break;
    // Few influences leave more error than the flat, but not more than one bone.
    if (best.error <= std::max(kUsableRatio * flat_error + kUsableExtra, sparse ? one_bone_e_rms(problem) : 0)) break;
  }
  report.bones = static_cast<int>(best.rig.bones.size());
  if (report.bones < report.bones_asked && report.remark.empty())
    report.remark =
        fmt::format("{} bones came out of {}: the vertices span no more directions", report.bones, report.bones_asked);
  best.rig.notes = fmt::format("{{\"flat_e_rms\":{:.6g},\"outliers\":{:g}}}", flat_error, best.outliers);
  return std::move(best.rig);
}

}  // namespace sinew
