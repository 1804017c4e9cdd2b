#include "sinew/solve/ssdr_timing.h"

#include <algorithm>
#include <ctime>
#include <vector>

#include "math/gemm.h"
#include "sinew/core/fit_report.h"
#include "solve/lbs/alternation.h"
#include "solve/lbs/motion_clusters.h"
#include "solve/lbs/problem.h"

namespace sinew {
using namespace lbs;
namespace {

/// Iterations before the timed ones: the first of a run try more exchanges of bones and cost about twice as much.
constexpr int kWarm = 12;

/// Of this thread: the process also counts workers that wait for work after a file was read.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// The product over full trajectories, as often as iterations are timed.
double time_product(const Sequence& sequence, const Eigen::MatrixXd& D, int repeats) {
  const Problem full(sequence, {0, 1, 1});
  std::vector<float> scratch;
  const auto rows = static_cast<Eigen::Index>(full.row_count());
  const auto V = static_cast<Eigen::Index>(full.vertex_count());
  const Eigen::Map<const Eigen::MatrixXf> Y(full.block(0, full.vertex_count(), scratch), rows, V);
  const Eigen::MatrixXf left = D.cast<float>();
  Eigen::MatrixXf Q(D.cols(), V);
  std::vector<double> times;
  for (int i = 0; i <= repeats; ++i) {
    const double start = cpu_seconds();
    gemm_block(Op::transpose, Op::none, static_cast<int>(D.cols()), static_cast<int>(V), static_cast<int>(rows), 1.0F,
               left.data(), static_cast<int>(rows), Y.data(), static_cast<int>(rows), 0.0F, Q.data(),
               static_cast<int>(D.cols()));
    if (i > 0) times.push_back(cpu_seconds() - start);
  }
  return median(times);
}

}  // namespace

SsdrTiming time_ssdr(const Sequence& sequence, int bones, Transforms transforms, int iterations, int threads) {
  SsdrTiming timing;
  const double start = cpu_seconds();
  const Problem problem(sequence, {0.01, threads, 1});
  const MotionClusters clusters = cluster_by_motion(problem, static_cast<std::size_t>(bones));
  timing.initialise_cpu = cpu_seconds() - start;

  FitState state;
  state.D = clusters.D;
  state.weights = weights_of(clusters, 4);
  RunOptions options;
  options.bones.transforms = transforms;
  options.tolerance = 0;
  options.iterations = kWarm + iterations;
  std::vector<double> cpu;
  std::vector<double> wall;
  double last_cpu = cpu_seconds();
  double last_wall = now_seconds();
  options.after = [&](const FitState&) {
    cpu.push_back(cpu_seconds() - last_cpu);
    wall.push_back(now_seconds() - last_wall);
    last_cpu = cpu_seconds();
    last_wall = now_seconds();
    return true;
  };
  run(problem, options, state);
  const auto warm = static_cast<std::ptrdiff_t>(std::min<std::size_t>(kWarm, cpu.size() - 1));
  timing.iteration_cpu = median({cpu.begin() + warm, cpu.end()});
  timing.iteration_wall = *std::min_element(wall.begin() + warm, wall.end());
  timing.e_rms = problem.e_rms(state.squares);
  timing.product_cpu = time_product(sequence, state.D, iterations);
  return timing;
}

}  // namespace sinew
