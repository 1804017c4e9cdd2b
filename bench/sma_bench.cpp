// Mean shift of the sma solver against the rotations it works on, also on subdivided meshes.
//   sma_bench SEQUENCE... [--epsilon E] [--scaling TRIANGLES] [--smooth]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <ctime>
#include <map>

#include "math/adjacency.h"
#include "sinew/core/error.h"
#include "sinew/io/io.h"
#include "solve/sma/cores.h"
#include "solve/sma/triangles.h"

namespace sinew {
namespace {

/// What the mean shift of solve_sma costs, beside the rotations it works on.
struct SmaTiming {
  std::size_t triangles = 0;
  double rotations_cpu = 0;   // seconds of processor time for the triangles' rotations: linear in triangles and frames
  double mean_shift_cpu = 0;  // mean shift and modes
  std::size_t steps = 0;      // of all trajectories
  std::size_t bones = 0;      // significant modes: shows that the work was done
};

SmaTiming time_sma(const Sequence& sequence, double epsilon, int threads) {
  const auto cpu_seconds = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const double start = cpu_seconds();
  const sma::Triangles triangles = sma::triangle_rotations(sequence, threads);
  const double between = cpu_seconds();
  const sma::Cores cores = sma::find_cores(triangles, epsilon, threads, {});
  SmaTiming timing;
  timing.triangles = triangles.corners.size();
  timing.rotations_cpu = between - start;
  timing.mean_shift_cpu = cpu_seconds() - between;
  timing.steps = cores.steps;
  timing.bones = cores.bones();
  return timing;
}

/// What is measured.
struct Request {
  std::vector<std::filesystem::path> sequences;
  double epsilon = 0.05;
  std::size_t scaling = 0;  // triangles up to which a mesh is subdivided; 0: as it is
  bool smooth = false;      // subdivided meshes are smoothed
};

/// Where the vertices of a subdivided mesh come from: a vertex of the old mesh twice, or the two ends of an edge.
struct Subdivision {
  Mesh mesh;
  std::vector<std::pair<Index, Index>> parents;

  /// With `rings` every vertex is then moved half way to the mean of its neighbours.
  Points positions(const Eigen::Ref<const Points>& old, const Adjacency* rings) const {
    Points middle(3, static_cast<Eigen::Index>(parents.size()));
    for (std::size_t v = 0; v < parents.size(); ++v)
      middle.col(static_cast<Eigen::Index>(v)) = (old.col(parents[v].first) + old.col(parents[v].second)) / 2;
    if (rings == nullptr) return middle;
    Points out = middle;
    for (std::size_t v = 0; v < parents.size(); ++v) {
      Vector3 sum = Vector3::Zero();
      for (const Index w : (*rings)[v]) sum += middle.col(w);
      if (!(*rings)[v].empty())
        out.col(static_cast<Eigen::Index>(v)) =
            (middle.col(static_cast<Eigen::Index>(v)) + sum / static_cast<float>((*rings)[v].size())) / 2;
    }
    return out;
  }
};

/// Every triangle in four.
Subdivision subdivide(const Mesh& mesh) {
  Subdivision out;
  const std::vector<Index> corners = triangles_of(mesh);
  for (Index v = 0; v < mesh.vertex_count(); ++v) out.parents.emplace_back(v, v);
  std::map<std::pair<Index, Index>, Index> middle_of;
  const auto middle = [&](Index a, Index b) {
    const auto key = std::minmax(a, b);
    const auto [at, fresh] = middle_of.try_emplace(key, static_cast<Index>(out.parents.size()));
    if (fresh) out.parents.push_back(key);
    return at->second;
  };
  for (std::size_t c = 0; c < corners.size(); c += 3) {
    const Index a = corners[c];
    const Index b = corners[c + 1];
    const Index d = corners[c + 2];
    const Index ab = middle(a, b);
    const Index bd = middle(b, d);
    const Index da = middle(d, a);
    for (const Index corner : {a, ab, da, ab, b, bd, da, bd, d, ab, bd, da}) out.mesh.corners.push_back(corner);
  }
  out.mesh.face_sizes.assign(out.mesh.corners.size() / 3, 3);
  out.mesh.positions.resize(3, static_cast<Eigen::Index>(out.parents.size()));
  return out;
}

/// The sequence on a mesh of four times the triangles. The four turn alike, unless they are smoothed.
Sequence subdivided(const Sequence& sequence, bool smooth) {
  Subdivision division = subdivide(sequence.rest);
  const Adjacency adjacency = mesh_adjacency(division.mesh);
  const Adjacency* rings = smooth ? &adjacency : nullptr;
  Sequence out;
  out.name = sequence.name;
  out.times = sequence.times;
  out.rest = division.mesh;
  out.rest.positions = division.positions(sequence.rest.positions, rings);
  out.frames = Frames(sequence.frame_count(), division.parents.size());
  for (std::size_t f = 0; f < sequence.frame_count(); ++f)
    out.frames[f] = division.positions(sequence.frames[f], rings);
  return out;
}

/// Slope of log seconds over log triangles, by least squares.
double exponent(const std::vector<SmaTiming>& timings) {
  double n = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  for (const SmaTiming& timing : timings) {
    const double log_size = std::log(static_cast<double>(timing.triangles));
    const double log_time = std::log(timing.mean_shift_cpu);
    n += 1;
    x += log_size;
    y += log_time;
    xx += log_size * log_size;
    xy += log_size * log_time;
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

void measure(const Request& request, const std::filesystem::path& path) {
  Sequence sequence = read_sequence({path});
  std::vector<SmaTiming> timings;
  while (true) {
    timings.push_back(time_sma(sequence, request.epsilon, 1));
    const SmaTiming& t = timings.back();
    fmt::print("{}\t{}\t{}\t{:.2f}\t{:.1f}\t{}\t{}\n", sequence.name, t.triangles, sequence.frame_count(),
               t.mean_shift_cpu, t.mean_shift_cpu / t.rotations_cpu, t.steps, t.bones);
    if (4 * t.triangles > request.scaling) break;
    sequence = subdivided(sequence, request.smooth);
  }
  if (timings.size() > 1) fmt::print("{}\ttime grows as triangles^{:.2f}\n", sequence.name, exponent(timings));
}

}  // namespace
}  // namespace sinew

int main(int argc, char** argv) {
  CLI::App app("Mean shift of the sma solver, also on subdivided meshes");
  sinew::Request request;
  app.add_option("sequences", request.sequences, "Sequences to measure")->required();
  app.add_option("--epsilon", request.epsilon, "Rotation tolerance (0.05)")->check(CLI::Range(0.001, 2.0));
  app.add_option("--scaling", request.scaling, "Also on subdivided meshes of up to this many triangles")
      ->check(CLI::Range(0, 2000000));
  app.add_flag("--smooth", request.smooth, "Smooth the subdivided meshes, so that all triangles turn differently");
  CLI11_PARSE(app, argc, argv);
  try {
    fmt::print("sequence\ttriangles\tframes\tmean shift CPU s\tratio to rotations\tsteps\tmodes\n");
    for (const auto& path : request.sequences) sinew::measure(request, path);
  } catch (const sinew::Error& error) {
    fmt::print(stderr, "sma_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
