// Times whole solves on the processor and on a GPU, without reading and writing, in one process.
//   cuda_solve_bench DEVICE QUALITY BONES ROUNDS PATH...    PATH... as `sinew solve` takes it, or
//   character:VERTICESxFRAMES
// One line per call: the median of the rounds after a first one that is not counted (unless ROUNDS is 1), the error of
// the rig, and whether every round gave the same bits.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "sinew/core/error.h"
#include "sinew/evaluate/errors.h"
#include "sinew/io/io.h"
#include "sinew/make/character.h"
#include "sinew/solve/ssdr.h"
#include "solve/lbs/motion_clusters.h"
#include "solve/lbs/on_device.h"

namespace {

using namespace sinew;

Sequence input(const std::vector<std::string>& names) {
  const std::string prefix = "character:";
  if (names.front().rfind(prefix, 0) == 0) {
    CharacterOptions options;
    const std::size_t cross = names.front().find('x');
    options.vertices = std::atoi(names.front().c_str() + prefix.size());
    const int frames = std::atoi(names.front().c_str() + cross + 1);
    options.walk_frames = frames / 2;
    options.wave_frames = frames - frames / 2;
    options.bulge = 0.1;
    return make_character(options).sequence;
  }
  return read_sequence(std::vector<std::filesystem::path>(names.begin(), names.end()));
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

bool same_bits(const Rig& a, const Rig& b) {
  if (a.weights.bones != b.weights.bones || a.weights.values != b.weights.values) return false;
  for (std::size_t f = 0; f < a.frame_count(); ++f)
    for (std::size_t i = 0; i < a.bone_count(); ++i)
      if (a.motion(f, i) != b.motion(f, i)) return false;
  return true;
}

/// One weights pass alone, from trajectories on the device to sums on the host.
void time_pass(const Sequence& sequence, const Device& device, int bones) {
  const double start = now_seconds();
  lbs::Problem problem(sequence, {0.01, 0, 1});
  const double made = now_seconds();
  lbs::put_on_device(device, problem);
  const double there = now_seconds();
  const lbs::MotionClusters clusters = lbs::cluster_by_motion(problem, static_cast<std::size_t>(bones));
  fmt::print("  trajectories {:.1f} ms, to the GPU {:.1f} ms, clusters {:.1f} ms\n", 1e3 * (made - start),
             1e3 * (there - made), 1e3 * (now_seconds() - there));
  lbs::FitState state;
  state.D = clusters.D;
  state.weights = lbs::weights_of(clusters, 4);
  lbs::RunOptions options;
  options.iterations = 3;
  lbs::run(problem, options, state);
  lbs::ResidentWeights resident(problem, options, state);
  lbs::PassOptions pass;
  const lbs::BoneGram gram = lbs::bone_gram(problem, state.D);
  for (const int period : {1, 1 << 30}) {
    pass.swap_period = period;
    std::vector<double> seconds;
    for (int round = 0; round < 21; ++round) {
      const double before = now_seconds();
      resident.pass(gram, pass, state.sums);
      seconds.push_back(now_seconds() - before);
    }
    fmt::print("  a weights pass {}: {:.3f} ms; {} rows, {} vertices, {} bones\n",
               period == 1 ? "in which all try exchanges" : "without exchanges", 1e3 * median(seconds),
               problem.row_count(), problem.vertex_count(), bones);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 6) {
    fmt::print(stderr, "usage: cuda_solve_bench DEVICE QUALITY BONES ROUNDS PATH...\n");
    return 2;
  }
  try {
    SsdrOptions options;
    const std::string quality = arguments[2];
    if (!set_device(arguments[1], options.device)) throw Error(ErrorKind::usage, "DEVICE is auto, cpu, cuda or cuda:N");
    options.quality = quality == "fast" ? Quality::fast : quality == "best" ? Quality::best : Quality::balanced;
    options.bones = std::atoi(arguments[3]);
    const int rounds = std::atoi(arguments[4]);
    const Sequence sequence = input({arguments + 5, arguments + count});
    std::vector<double> seconds;
    FitReport report;
    Rig first;
    bool same = true;
    for (int round = 0; round < rounds + (rounds > 1 ? 1 : 0); ++round) {
      const double start = now_seconds();
      const Rig rig = solve_ssdr(sequence, options, report);
      if (round > 0 || rounds == 1) seconds.push_back(now_seconds() - start);
      if (round == 0) first = rig;
      same = same && same_bits(rig, first);
    }
    fmt::print("{} {} {} bones {} on {}: {:.1f} ms (of {} rounds), E_RMS {:.4f}, {} iterations, {}{}\n", arguments[5],
               sequence.vertex_count(), options.bones, quality, report.device, 1e3 * median(seconds), rounds,
               evaluate(first, sequence).e_rms, report.iterations.size(),
               rounds == 1 ? ""
               : same      ? "same bits every time"
                           : "BITS DIFFER",
               report.remark.empty() ? "" : "; " + report.remark);
    for (const auto& [step, value] : report.seconds) fmt::print("    {} {:.1f} ms", step, 1e3 * value);
    fmt::print("\n");
    if (report.device != "cpu" && quality == "fast") time_pass(sequence, options.device, options.bones);
    return same ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cuda_solve_bench: {}\n", error.what());
    return 1;
  }
}
