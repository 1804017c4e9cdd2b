// From one-ring maps to a good flat: the paper's start, further starts from random subsets, early elimination.

#include "solve/flats/search.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace sinew::flats {
namespace {

// Rings flatter than this say nothing about the direction across them.
constexpr double kMinFlatness = 1e-6;
// A short run: steps, and products per step as they come out on average.
constexpr int kShortSteps = 12;
constexpr int kShortInner = 20;
// Fewer starts than this are not worth their work.
constexpr int kFewStarts = 16;

int products_of(const FlatsOptions& options, Eigen::Index handles) {
  return options.max_products > 0 ? options.max_products : std::max(700, 40 * static_cast<int>(handles));
}

GaussNewtonOptions newton_options(const FlatsOptions& options, Eigen::Index handles, double target) {
  GaussNewtonOptions newton;
  newton.max_steps = options.max_steps;
  newton.max_inner = options.max_inner;
  newton.max_products = products_of(options, handles);
  newton.tolerance = options.tolerance;
  newton.target = target;
  newton.threads = options.threads;
  return newton;
}

void alternate(const FlatProblem& problem, int rounds, int threads, Eigen::MatrixXd& theta, FlatFit& fit) {
  fit_flat(problem, theta, 0, threads, fit);
  for (int n = 0; n < rounds; ++n) {
    whiten_flat(problem, fit, threads, theta);
    fit_flat(problem, theta, 0, threads, fit);
    theta = alternate_flat(problem, fit, threads);
    fit_flat(problem, theta, 0, threads, fit);
  }
}

double uniform(std::mt19937_64& generator) {
  return static_cast<double>(generator() >> 11) * 0x1p-53;
}

// A few maps drawn from the best of a random fraction: sets from barely enough to most of them.
std::vector<std::size_t> random_subset(const std::vector<std::size_t>& ordered, int handles,
                                       std::mt19937_64& generator) {
  const double fractions[] = {0.25, 0.5, 0.7, 1.0};
  const double sizes[] = {1.5, 4, 20};
  const double fraction = fractions[generator() % 4];
  const double size = sizes[generator() % 3] * handles;
  std::vector<std::size_t> pool(
      ordered.begin(),
      ordered.begin() + static_cast<std::ptrdiff_t>(std::ceil(fraction * static_cast<double>(ordered.size()))));
  const auto count = std::min(pool.size(), static_cast<std::size_t>(size) + 1);
  for (std::size_t k = 0; k < count; ++k) {
    const auto other = k + static_cast<std::size_t>(uniform(generator) * static_cast<double>(pool.size() - k));
    std::swap(pool[k], pool[std::min(other, pool.size() - 1)]);
  }
  pool.resize(count);
  return pool;
}

// Multiply-adds of one product with the Gauss–Newton matrix.
double product_work(const FlatProblem& problem, int handles) {
  return 2.0 * 4 * handles * 4 * (handles - 1) * static_cast<double>(problem.vertices);
}

struct Candidate {
  Eigen::MatrixXd theta;
  double distance = 0;
};

// Rounds of improvement in which the better part of the candidates survives.
void continue_candidates(const FlatProblem& problem, GaussNewtonOptions newton, int steps, std::size_t keep,
                         std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.distance < b.distance; });
  if (candidates.size() > keep) candidates.resize(keep);
  newton.max_steps = steps;
  for (Candidate& candidate : candidates) {
    FlatFit fit;
    gauss_newton_flat(problem, newton, candidate.theta, fit);
    candidate.distance = fit.distance;
    if (fit.distance <= newton.target) break;
  }
}

/// The first flat and the short runs from other starts, side by side.
void save_starts(const FoundFlat& best, const std::vector<Candidate>& candidates, SavedArrays& arrays) {
  const Eigen::Index width = best.theta.cols();
  Eigen::MatrixXd flats(best.theta.rows(), width * static_cast<Eigen::Index>(candidates.size()));
  Eigen::RowVectorXd distances(static_cast<Eigen::Index>(candidates.size()));
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto column = static_cast<Eigen::Index>(i);
    flats.middleCols(width * column, width) = candidates[i].theta;
    distances(column) = candidates[i].distance;
  }
  arrays["flat"] = best.theta;
  arrays["flats"] = std::move(flats);
  arrays["distances"] = distances;
}

std::vector<Candidate> take_starts(const SolveState& saved, const FlatProblem& problem, const FlatsOptions& options,
                                   FoundFlat& best) {
  const Eigen::Index width = best.theta.cols();
  best.theta = saved_array(saved.arrays, "flat", best.theta.rows(), width);
  fit_flat(problem, best.theta, 0, options.threads, best.fit);
  best.trace.distance.push_back(best.fit.distance);
  const Eigen::MatrixXd& flats = saved_array(saved.arrays, "flats", best.theta.rows(), -1);
  const Eigen::MatrixXd& distances = saved_array(saved.arrays, "distances", 1, flats.cols() / width);
  std::vector<Candidate> candidates;
  for (Eigen::Index i = 0; i < distances.cols(); ++i)
    candidates.push_back({flats.middleCols(width * i, width), distances(i)});
  return candidates;
}

}  // namespace

FoundFlat improve_flat(const FlatProblem& problem, Eigen::MatrixXd theta, const FlatsOptions& options,
                       const Progress& progress) {
  FoundFlat found;
  found.theta = std::move(theta);
  if (options.solver == FlatSolver::alternating) {
    published_alternation(problem, options.alternations, options.threads, found.theta, found.fit);
    found.trace.distance.push_back(found.fit.distance);
    return found;
  }
  if (!resumes(options.checkpoint, "flat"))
    alternate(problem, options.alternations, options.threads, found.theta, found.fit);
  GaussNewtonOptions newton = newton_options(options, found.theta.rows() / 4, problem.floor);
  newton.checkpoint = options.checkpoint;
  found.trace = gauss_newton_flat(problem, newton, found.theta, found.fit, progress);
  return found;
}

FoundFlat search_flat(const FlatProblem& problem, const VertexMaps& maps, int handles, const FlatsOptions& options,
                      const Progress& progress) {
  const bool published = options.solver == FlatSolver::alternating;
  std::vector<std::size_t> ordered = best_maps(maps, 1, published ? 0 : kMinFlatness);
  if (ordered.size() < 2 * static_cast<std::size_t>(handles)) ordered = best_maps(maps, 1, -1);
  std::vector<std::size_t> first(
      ordered.begin(),
      ordered.begin() + static_cast<std::ptrdiff_t>(std::ceil(options.quantile * static_cast<double>(ordered.size()))));
  // Shares of the work, counted in products: the first start 15 %, short runs of others 45 %, the better quarter of
  // them 21 %, the best two 7.5 % each. Where that leaves only a handful of starts, the first one gets most of it
  // instead.
  const bool many = options.max_starts > 1 && options.solver == FlatSolver::gauss_newton && handles > 1;
  const double products = many ? std::min(1e9, options.start_work / product_work(problem, handles)) : 0;
  const int starts = std::min(options.max_starts, static_cast<int>(0.45 * products / (kShortSteps * kShortInner)));
  const bool search = many && starts >= std::min(options.max_starts, kFewStarts);
  FlatsOptions own = options;
  if (many)
    own.max_products =
        std::min(products_of(options, handles), std::max(200, static_cast<int>((search ? 0.15 : 0.8) * products)));
  const auto saved = resume(options.checkpoint, "starts");
  FoundFlat best;
  std::vector<Candidate> candidates;
  best.theta = flat_through(maps, first, handles);
  if (saved) {
    candidates = take_starts(*saved, problem, options, best);
  } else {
    best = improve_flat(problem, best.theta, own, progress);
  }
  if (!search) return best;

  const double target = problem.floor;
  std::mt19937_64 generator(options.seed);
  GaussNewtonOptions newton = newton_options(options, handles, target);
  newton.max_inner = 30;
  newton.max_steps = kShortSteps;
  bool going = best.fit.distance > target;
  for (const Candidate& candidate : candidates) going = going && candidate.distance > target;
  for (int n = 1; n < starts && going; ++n) {
    const std::vector<std::size_t> subset = random_subset(ordered, handles, generator);
    if (n <= static_cast<int>(candidates.size())) continue;  // an earlier run did it
    keep(options.checkpoint, "starts", n, [&](SavedArrays& arrays) { save_starts(best, candidates, arrays); });
    if (!tell(progress, "starts", static_cast<double>(n) / starts)) return best;
    Candidate candidate;
    candidate.theta = flat_through(maps, subset, handles);
    FlatFit fit;
    alternate(problem, 2, options.threads, candidate.theta, fit);
    gauss_newton_flat(problem, newton, candidate.theta, fit);
    candidate.distance = fit.distance;
    going = candidate.distance > target;
    candidates.push_back(std::move(candidate));
  }
  if (going) continue_candidates(problem, newton, 15, std::max<std::size_t>(2, candidates.size() / 4), candidates);
  newton.max_inner = options.max_inner;
  newton.max_products = std::max(200, static_cast<int>(0.075 * products));
  if (going) continue_candidates(problem, newton, 1000, 2, candidates);
  const auto winner = std::min_element(candidates.begin(), candidates.end(),
                                       [](const auto& a, const auto& b) { return a.distance < b.distance; });
  if (winner == candidates.end() || winner->distance >= best.fit.distance) return best;
  best.theta = winner->theta;
  newton.max_steps = 3;
  best.trace = gauss_newton_flat(problem, newton, best.theta, best.fit, progress);
  return best;
}

}  // namespace sinew::flats
