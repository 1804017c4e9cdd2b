// Variable projection for the closest flat: Gauss–Newton on Θ with z eliminated.
//
// With Π = I - A (AᵀA)⁻¹ Aᵀ and Kaufman's Jacobian J·D = -Π Dᵀx, the step solves
//   sum_v x (Π Dᵀx)ᵀ + damping·S D = sum_v x residualᵀ,   S = sum_v x xᵀ.
// In the coordinates D = W D̂ with Wᵀ S W = I the damping is a multiple of I, S drops out, and an alternation step is
// the first iterate of the conjugate gradients. The products run in float, the factors of AᵀA, the right-hand side and
// the objective in double.

#include "solve/flats/gauss_newton.h"

#include <algorithm>
#include <cmath>

#include "math/decompositions.h"
#include "math/gemm.h"
#include "math/parallel.h"
#include "solve/flats/kernels.h"

namespace sinew::flats {
namespace {

/// The linearised problem at one flat.
struct Linearisation {
  Eigen::MatrixXd W;           // 4h×m: D = W D̂
  Eigen::MatrixXf B;           // 4(h-1)×r: the directions of the flat
  Eigen::MatrixXf gradient;    // m×r: sum x̂ residualᵀ
  VertexBlocks<float> X;       // m columns: x̂ = Wᵀ x
  VertexBlocks<float> rest;    // 4 columns
  VertexBlocks<float> factor;  // of the fit, rounded: products read it twice
};

Eigen::MatrixXd sum_matrices(std::size_t blocks, int threads, Eigen::Index rows, Eigen::Index columns,
                             const std::function<void(std::size_t, Eigen::MatrixXd&)>& add) {
  return parallel_reduce(
      blocks, 1, threads, Eigen::MatrixXd(Eigen::MatrixXd::Zero(rows, columns)),
      [&](std::size_t begin, std::size_t end) {
        Eigen::MatrixXd part = Eigen::MatrixXd::Zero(rows, columns);
        for (std::size_t b = begin; b < end; ++b) add(b, part);
        return part;
      },
      [](Eigen::MatrixXd total, const Eigen::MatrixXd& part) {
        total += part;
        return total;
      });
}

void fill_x(const FlatProblem& problem, const FlatFit& fit, std::size_t b, std::vector<double>& X) {
  X.resize(kBlock * static_cast<std::size_t>(4 * fit.handles));
  std::copy_n(problem.rest.block(b), 4 * kBlock, X.data());
  expand_block(problem.rest.block(b), fit.z.block(b), fit.handles - 1, X.data() + 4 * kBlock);
}

void linearise(const FlatProblem& problem, const Eigen::MatrixXd& theta, const FlatFit& fit, int threads,
               Linearisation& at) {
  const int width = 4 * fit.handles;
  const int m = static_cast<int>(kBlock);
  const std::size_t blocks = problem.rest.block_count();
  const Eigen::MatrixXd S = sum_matrices(blocks, threads, width, width, [&](std::size_t b, Eigen::MatrixXd& part) {
    std::vector<double> X;
    fill_x(problem, fit, b, X);
    gemm_block(Op::transpose, Op::none, width, width, m, 1.0, X.data(), m, X.data(), m, 1.0, part.data(), width);
  });
  at.W = whitening(S);
  at.B = theta.bottomRows(width - 4).cast<float>();
  const int kept = static_cast<int>(at.W.cols());
  if (at.X.vertex_count() != problem.vertices || at.X.columns() != kept)
    at.X = VertexBlocks<float>(problem.vertices, kept);
  if (at.rest.vertex_count() != problem.vertices) {
    at.rest = VertexBlocks<float>(problem.vertices, 4);
    for (std::size_t b = 0; b < blocks; ++b)
      for (std::size_t i = 0; i < 4 * kBlock; ++i) at.rest.block(b)[i] = static_cast<float>(problem.rest.block(b)[i]);
  }
  if (at.factor.vertex_count() != problem.vertices || at.factor.columns() != fit.factor.columns())
    at.factor = VertexBlocks<float>(problem.vertices, fit.factor.columns());
  parallel_for(blocks, 1, threads, [&](std::size_t begin, std::size_t end) {
    const std::size_t numbers = kBlock * static_cast<std::size_t>(fit.factor.columns());
    for (std::size_t b = begin; b < end; ++b)
      for (std::size_t i = 0; i < numbers; ++i) at.factor.block(b)[i] = static_cast<float>(fit.factor.block(b)[i]);
  });
  const Eigen::MatrixXd gradient =
      sum_matrices(blocks, threads, width, problem.rank, [&](std::size_t b, Eigen::MatrixXd& part) {
        std::vector<double> X;
        fill_x(problem, fit, b, X);
        gemm_block(Op::transpose, Op::none, width, problem.rank, m, 1.0, X.data(), m, fit.residual.block(b), m, 1.0,
                   part.data(), width);
        std::vector<double> white(kBlock * static_cast<std::size_t>(kept));
        gemm_block(Op::none, Op::none, m, kept, width, 1.0, X.data(), m, at.W.data(), width, 0.0, white.data(), m);
        float* out = at.X.block(b);
        for (std::size_t i = 0; i < white.size(); ++i) out[i] = static_cast<float>(white[i]);
      });
  at.gradient = (at.W.transpose() * gradient).cast<float>();
}

// Product with the Gauss–Newton matrix in white coordinates, without the damping, vertex by vertex: cheaper where the
// coordinates are few.
Eigen::MatrixXf direct_product(const Linearisation& at, const FlatFit& fit, const Eigen::MatrixXf& D, int threads) {
  const int directions = fit.handles - 1;
  const int kept = static_cast<int>(at.W.cols());
  const int columns = 4 * directions;
  const int r = static_cast<int>(D.cols());
  const int m = static_cast<int>(kBlock);
  const Eigen::MatrixXd total =
      sum_matrices(at.X.block_count(), threads, kept, r, [&](std::size_t b, Eigen::MatrixXd& part) {
        std::vector<float> image(kBlock * static_cast<std::size_t>(r));
        std::vector<float> wide(kBlock * static_cast<std::size_t>(columns));
        std::vector<float> s(kBlock * static_cast<std::size_t>(directions));
        gemm_block(Op::none, Op::none, m, r, kept, 1.0F, at.X.block(b), m, D.data(), kept, 0.0F, image.data(), m);
        gemm_block(Op::none, Op::transpose, m, columns, r, 1.0F, image.data(), m, at.B.data(), columns, 0.0F,
                   wide.data(), m);
        contract_block(at.rest.block(b), wide.data(), directions, s.data());
        solve_block_in_float(at.factor.block(b), directions, s.data());
        expand_block(at.rest.block(b), s.data(), directions, wide.data());
        gemm_block(Op::none, Op::none, m, r, columns, -1.0F, wide.data(), m, at.B.data(), columns, 1.0F, image.data(),
                   m);
        Eigen::MatrixXf sum(kept, r);
        gemm_block(Op::transpose, Op::none, kept, r, m, 1.0F, at.X.block(b), m, image.data(), m, 0.0F, sum.data(),
                   kept);
        part += sum.cast<double>();
      });
  return total.cast<float>();
}

// The same product for many coordinates. As sum x̂ x̂ᵀ = I, only the part that
// Π takes away has to be summed: sum x̂ (A s)ᵀ = (sum x̂ (s ⊗ u)ᵀ) B. That never touches the r coordinates per vertex.
Eigen::MatrixXf product(const Linearisation& at, const FlatFit& fit, const Eigen::MatrixXf& D, int threads) {
  const int directions = fit.handles - 1;
  const int kept = static_cast<int>(at.W.cols());
  const int wide_columns = 4 * directions;
  const int m = static_cast<int>(kBlock);
  if (at.B.cols() < 2 * directions) return direct_product(at, fit, D, threads);
  const Eigen::MatrixXf K = D * at.B.transpose();  // m×4(h-1)
  const Eigen::MatrixXd taken =
      sum_matrices(at.X.block_count(), threads, kept, wide_columns, [&](std::size_t b, Eigen::MatrixXd& part) {
        std::vector<float> wide(kBlock * static_cast<std::size_t>(wide_columns));
        std::vector<float> s(kBlock * static_cast<std::size_t>(directions));
        gemm_block(Op::none, Op::none, m, wide_columns, kept, 1.0F, at.X.block(b), m, K.data(), kept, 0.0F, wide.data(),
                   m);
        contract_block(at.rest.block(b), wide.data(), directions, s.data());
        solve_block_in_float(at.factor.block(b), directions, s.data());
        expand_block(at.rest.block(b), s.data(), directions, wide.data());
        Eigen::MatrixXf sum(kept, wide_columns);
        gemm_block(Op::transpose, Op::none, kept, wide_columns, m, 1.0F, at.X.block(b), m, wide.data(), m, 0.0F,
                   sum.data(), kept);
        part += sum.cast<double>();
      });
  return D - taken.cast<float>() * at.B;
}

double dot(const Eigen::MatrixXf& a, const Eigen::MatrixXf& b) {
  double total = 0;
  for (Eigen::Index i = 0; i < a.size(); ++i) total += static_cast<double>(a.data()[i]) * b.data()[i];
  return total;
}

struct Step {
  Eigen::MatrixXf D;     // m×r
  double predicted = 0;  // decrease of the linearised objective
  int iterations = 0;
};

Step solve_step(const Linearisation& at, const FlatFit& fit, double damping, int most,
                const GaussNewtonOptions& options) {
  Step step;
  step.D = Eigen::MatrixXf::Zero(at.gradient.rows(), at.gradient.cols());
  Eigen::MatrixXf rest = at.gradient;
  Eigen::MatrixXf direction = rest;
  double rho = dot(rest, rest);
  const double stop = rho * options.inner_tolerance * options.inner_tolerance;
  while (step.iterations < most && rho > stop) {
    Eigen::MatrixXf image = product(at, fit, direction, options.threads);
    image += static_cast<float>(damping) * direction;
    ++step.iterations;
    const double curvature = dot(direction, image);
    if (!(curvature > 0)) break;
    const auto alpha = static_cast<float>(rho / curvature);
    step.D += alpha * direction;
    rest -= alpha * image;
    const double next = dot(rest, rest);
    direction = rest + static_cast<float>(next / rho) * direction;
    rho = next;
  }
  // |r|² - |r - ΠDx|² with the damped equations solved up to `rest`.
  step.predicted = dot(step.D, at.gradient) + dot(step.D, rest) + damping * dot(step.D, step.D);
  return step;
}

constexpr const char* kPhase = "flat";

/// What the steps carry on beside the flat and its trace.
struct Damping {
  double value = 0.05;
  double growth = 2;
  int small_steps = 0;  // running, of those that came last
};

void save_steps(const Eigen::MatrixXd& theta, const Damping& damping, const FlatTrace& trace, SavedArrays& arrays) {
  arrays["flat"] = theta;
  arrays["damping"] = numbers(
      {damping.value, damping.growth, static_cast<double>(trace.inner), static_cast<double>(damping.small_steps)});
  arrays["distances"] =
      Eigen::Map<const Eigen::RowVectorXd>(trace.distance.data(), static_cast<Eigen::Index>(trace.distance.size()));
}

/// Takes up the steps of an earlier run; returns how many it had done.
int take_steps(const SolveState& saved, Eigen::MatrixXd& theta, Damping& damping, FlatTrace& trace) {
  theta = saved_array(saved.arrays, "flat", theta.rows(), theta.cols());
  const Eigen::MatrixXd& kept = saved_array(saved.arrays, "damping", 4, 1);
  damping = {kept(0), kept(1), static_cast<int>(std::clamp(kept(3), 0.0, 2.0))};
  trace.inner = static_cast<int>(std::clamp(kept(2), 0.0, 1e9));
  const Eigen::MatrixXd& distances = saved_array(saved.arrays, "distances", 1, -1);
  trace.distance.assign(distances.data(), distances.data() + distances.size());
  return static_cast<int>(saved.step);
}

}  // namespace

FlatTrace gauss_newton_flat(const FlatProblem& problem, const GaussNewtonOptions& options, Eigen::MatrixXd& theta,
                            FlatFit& fit, const Progress& progress) {
  FlatTrace trace;
  Damping now;
  int first = 0;
  if (const auto saved = resume(options.checkpoint, kPhase)) {
    first = take_steps(*saved, theta, now, trace);
  } else {
    fit_flat(problem, theta, 0, options.threads, fit);
    whiten_flat(problem, fit, options.threads, theta);
  }
  fit_flat(problem, theta, 0, options.threads, fit);
  if (fit.handles == 1) return trace;
  Linearisation at;
  FlatFit trial;
  double& damping = now.value;
  double& growth = now.growth;
  for (int n = first; n < options.max_steps && fit.distance > options.target && trace.inner < options.max_products;
       ++n) {
    keep(options.checkpoint, kPhase, n, [&](SavedArrays& arrays) { save_steps(theta, now, trace, arrays); });
    if (!tell(progress, "flat", static_cast<double>(n) / options.max_steps)) break;
    linearise(problem, theta, fit, options.threads, at);
    const double before = fit.objective;
    bool accepted = false;
    for (int attempt = 0; attempt < 8 && !accepted; ++attempt) {
      const int most = std::clamp(options.max_products - trace.inner, 1, options.max_inner);
      const Step step = solve_step(at, fit, damping, most, options);
      trace.inner += step.iterations;
      const Eigen::MatrixXd next = theta + at.W * step.D.cast<double>();
      fit_flat(problem, next, 0, options.threads, trial);
      const double gain = (before - trial.objective) / std::max(step.predicted, 1e-300);
      if (trial.objective < before) {
        accepted = true;
        theta = next;
        std::swap(fit, trial);
        damping *= std::max(1.0 / 3, 1 - std::pow(2 * gain - 1, 3));
        damping = std::max(damping, 1e-7);
        growth = 2;
      } else {
        damping *= growth;
        growth *= 2;
      }
    }
    trace.distance.push_back(fit.distance);
    // Small and large steps alternate while the damping settles: one small step is not the end.
    const bool small = std::sqrt(before) - std::sqrt(fit.objective) <= options.tolerance * std::sqrt(before);
    now.small_steps = small ? now.small_steps + 1 : 0;
    if (!accepted || now.small_steps == 2) {
      trace.converged = true;
      break;
    }
    if (n % 5 == 4) {
      whiten_flat(problem, fit, options.threads, theta);
      fit_flat(problem, theta, 0, options.threads, fit);
    }
  }
  return trace;
}

Eigen::MatrixXd gauss_newton_product(const FlatProblem& problem, const Eigen::MatrixXd& theta, const FlatFit& fit,
                                     const Eigen::MatrixXd& direction) {
  Linearisation at;
  linearise(problem, theta, fit, 1, at);
  // D = W D̂ has D̂ = Wᵀ S D for full-rank S; the product maps back by S W = W (WᵀW)⁻¹.
  const Eigen::MatrixXd S_W = at.W * Cholesky(at.W.transpose() * at.W).inverse();
  const Eigen::MatrixXf white = (S_W.transpose() * direction).cast<float>();
  return S_W * product(at, fit, white, 1).cast<double>();
}

}  // namespace sinew::flats
