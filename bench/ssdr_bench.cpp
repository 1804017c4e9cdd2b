// Iterations of the ssdr solver against the product that they rest on, as ratios within one run.
//   ssdr_bench SEQUENCE... [--bones B] [--iterations N] [--affine] [--scaling]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <vector>

#include "math/gemm.h"
#include "sinew/core/error.h"
#include "sinew/core/fit_report.h"
#include "sinew/io/io.h"
#include "solve/lbs/alternation.h"
#include "solve/lbs/motion_clusters.h"
#include "solve/lbs/problem.h"

namespace sinew {
using namespace lbs;
namespace {

/// What one iteration of solve_ssdr costs, beside the product it cannot do without.
struct SsdrTiming {
  double iteration_cpu = 0;   // seconds of the calling thread, which does all when threads = 1; median over iterations
  double iteration_wall = 0;  // least seconds of the clock over iterations
  double product_cpu = 0;     // DᵀY (4B × 3F by 3F × V) in float by one thread of BLAS, median
  double initialise_cpu = 0;  // scaling, reduction and clusters, as `--quality fast` starts
  double e_rms = 0;           // after the timed iterations: shows that the work was done
};

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

/// Runs the solver's own iterations (weights, bones and objective; K = 4) after a few to warm up.
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

/// What is measured.
struct Request {
  std::vector<std::filesystem::path> sequences;
  int bones = 20;
  int iterations = 15;
  bool affine = false;
  bool scaling = false;
};

/// The same mesh twice, side by side.
Sequence doubled_vertices(const Sequence& sequence) {
  const auto V = static_cast<Index>(sequence.vertex_count());
  Sequence twice;
  twice.name = sequence.name;
  twice.times = sequence.times;
  twice.rest.positions.resize(3, 2 * Eigen::Index{V});
  twice.rest.positions << sequence.rest.positions, sequence.rest.positions;
  twice.rest.face_sizes = sequence.rest.face_sizes;
  twice.rest.corners = sequence.rest.corners;
  twice.rest.face_sizes.insert(twice.rest.face_sizes.end(), sequence.rest.face_sizes.begin(),
                               sequence.rest.face_sizes.end());
  for (const Index corner : sequence.rest.corners) twice.rest.corners.push_back(corner + V);
  twice.frames = Frames(sequence.frame_count(), 2 * std::size_t{V});
  for (std::size_t f = 0; f < sequence.frame_count(); ++f) {
    twice.frames[f] << sequence.frames[f], sequence.frames[f];
  }
  return twice;
}

/// The same frames twice, one after the other.
Sequence doubled_frames(const Sequence& sequence) {
  Sequence twice = sequence;
  const std::size_t F = sequence.frame_count();
  twice.clips.clear();
  twice.frames = Frames(2 * F, sequence.vertex_count());
  for (std::size_t f = 0; f < 2 * F; ++f) twice.frames[f] = sequence.frames[f % F];
  twice.times = uniform_times(2 * F);
  return twice;
}

void measure(const Request& request, const std::filesystem::path& path) {
  const Sequence sequence = read_sequence({path});
  const Transforms transforms = request.affine ? Transforms::affine : Transforms::rigid;
  const auto time = [&](const Sequence& s, int threads) {
    return time_ssdr(s, request.bones, transforms, request.iterations, threads);
  };
  const SsdrTiming one = time(sequence, 1);
  const SsdrTiming two = time(sequence, 2);
  fmt::print("{}\t{}\t{:.2f}\t{:.2f}\t{:.2f}\t{:.1f}\t{:.2f}", sequence.name, request.bones, 1e3 * one.iteration_cpu,
             1e3 * one.product_cpu, one.iteration_cpu / one.product_cpu, one.initialise_cpu / one.iteration_cpu,
             one.iteration_wall / two.iteration_wall);
  if (request.scaling) {
    fmt::print("\t{:.2f}\t{:.2f}", time(doubled_vertices(sequence), 1).iteration_cpu / one.iteration_cpu,
               time(doubled_frames(sequence), 1).iteration_cpu / one.iteration_cpu);
  }
  fmt::print("\n");
}

}  // namespace
}  // namespace sinew

int main(int argc, char** argv) {
  CLI::App app("Iterations of the ssdr solver against the product that they rest on");
  sinew::Request request;
  app.add_option("sequences", request.sequences, "Sequences to measure")->required();
  app.add_option("--bones", request.bones, "Bones (20)")->check(CLI::Range(1, 1024));
  app.add_option("--iterations", request.iterations, "Iterations timed (15)")->check(CLI::Range(3, 1000));
  app.add_flag("--affine", request.affine, "Affine rather than rigid bones");
  app.add_flag("--scaling", request.scaling, "Also with twice the vertices and twice the frames");
  CLI11_PARSE(app, argc, argv);
  try {
    fmt::print("sequence\tbones\titeration ms\tproduct ms\tratio\tinit/iteration\tspeed-up of 2 threads{}\n",
               request.scaling ? "\t2V/V\t2F/F" : "");
    for (const auto& path : request.sequences) sinew::measure(request, path);
  } catch (const sinew::Error& error) {
    fmt::print(stderr, "ssdr_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
