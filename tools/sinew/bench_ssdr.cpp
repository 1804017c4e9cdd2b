#include <fmt/format.h>

#include "bench.h"
#include "sinew/core/error.h"
#include "sinew/io/io.h"
#include "sinew/solve/ssdr_timing.h"

namespace sinew::tool {
namespace {

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

void add_bench_ssdr(CLI::App& group) {
  CLI::App& command = *group.add_subcommand("ssdr", "Iterations of the ssdr solver against the product they rest on");
  auto request = std::make_shared<Request>();
  command.add_option("sequences", request->sequences, "Sequences to measure")->required();
  command.add_option("--bones", request->bones, "Bones (20)")->check(CLI::Range(1, 1024));
  command.add_option("--iterations", request->iterations, "Iterations timed (15)")->check(CLI::Range(3, 1000));
  command.add_flag("--affine", request->affine, "Affine rather than rigid bones");
  command.add_flag("--scaling", request->scaling, "Also with twice the vertices and twice the frames");
  command.callback([request] {
    fmt::print("sequence\tbones\titeration ms\tproduct ms\tratio\tinit/iteration\tspeed-up of 2 threads{}\n",
               request->scaling ? "\t2V/V\t2F/F" : "");
    for (const auto& path : request->sequences) measure(*request, path);
  });
}

}  // namespace sinew::tool
