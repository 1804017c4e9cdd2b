/// What docs/algorithms/rework.md says about real sequences: rework_bench lod|transfer SEQUENCE..., or
/// rework_bench bounds VERTICES.
/// Each sequence is solved first: SSDR, 30 rigid bones, 4 influences.
#include <fmt/format.h>
#include <meshoptimizer.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <random>

#include "sinew/evaluate/errors.h"
#include "sinew/evaluate/surface_distance.h"
#include "sinew/io/io.h"
#include "sinew/make/character.h"
#include "sinew/rework/bounds.h"
#include "sinew/rework/edit_rest.h"
#include "sinew/rework/lod.h"
#include "sinew/rework/transfer.h"
#include "sinew/solve/ssdr.h"

namespace {

using namespace sinew;

Rig solved(const Sequence& sequence) {
  SsdrOptions options;
  options.bones = 30;
  options.quality = Quality::fast;
  options.threads = 1;
  FitReport report;
  return solve_ssdr(sequence, options, report);
}

/// A mesh of these triangles over the vertices they use; `kept` are those.
Mesh mesh_of(const Mesh& from, const std::vector<Index>& triangles, std::vector<Index>& kept) {
  std::vector<int> number(from.vertex_count(), -1);
  for (const Index v : triangles) number[v] = 0;
  kept.clear();
  for (Index v = 0; v < number.size(); ++v)
    if (number[v] == 0) {
      number[v] = static_cast<int>(kept.size());
      kept.push_back(v);
    }
  Mesh out;
  out.positions.resize(3, static_cast<Eigen::Index>(kept.size()));
  for (std::size_t i = 0; i < kept.size(); ++i)
    out.positions.col(static_cast<Eigen::Index>(i)) = from.positions.col(kept[i]);
  for (const Index v : triangles) out.corners.push_back(static_cast<Index>(number[v]));
  out.face_sizes.assign(triangles.size() / 3, 3);
  return out;
}

/// What meshoptimizer makes of the rest pose.
std::vector<Index> meshoptimizer_triangles(const Mesh& mesh, std::size_t triangles) {
  const std::vector<Index> all = triangles_of(mesh);
  std::vector<Index> out(all.size());
  out.resize(meshopt_simplify(out.data(), all.data(), all.size(), mesh.positions.data(), mesh.vertex_count(),
                              3 * sizeof(float), 3 * triangles, 1e9F, 0, nullptr));
  return out;
}

void lod(const std::string& name, const Sequence& sequence) {
  const Rig rig = solved(sequence);
  const std::size_t all = triangles_of(rig.rest).size() / 3;
  for (const std::size_t divisor : {4, 8, 16}) {
    LodOptions options;
    options.triangles = all / divisor;
    options.threads = 1;
    LodReport report;
    const LodLevel ours = simplify(rig, options, report).front();
    options.frames = 0;
    TransferReport carried;
    const Rig fitted = transfer(rig, simplify(rig, options, report).front().rig.rest, {}, carried);
    options.fit = false;
    const LodLevel still = simplify(rig, options, report).front();
    const Rig again = transfer(rig, still.rig.rest, {}, carried);
    std::vector<Index> kept;
    const Mesh other = mesh_of(rig.rest, meshoptimizer_triangles(rig.rest, options.triangles), kept);
    const Rig theirs = transfer(rig, other, {}, carried);
    const SurfaceDistance a = surface_distance(rig, ours.rig);
    const SurfaceDistance b = surface_distance(rig, again);
    const SurfaceDistance c = surface_distance(rig, theirs);
    const SurfaceDistance d = surface_distance(rig, fitted);
    fmt::print(
        "{:16} {:6} -> {:6} {:6} {:6}: mean {:.4f}  rest alone {:.4f} ({:.3f})  fitted to it {:.4f} ({:.3f}) "
        " meshoptimizer {:.4f} ({:.3f}); max {:.3f} {:.3f} {:.3f}\n",
        name, all, ours.triangles, still.triangles, other.face_count(), a.mean(), b.mean(), a.mean() / b.mean(),
        d.mean(), a.mean() / d.mean(), c.mean(), a.mean() / c.mean(), a.max(), b.max(), c.max());
    std::fflush(stdout);
  }
}

/// A sequence over another mesh whose vertices are points of the triangles of this one.
struct Remeshed {
  Mesh mesh;
  std::vector<std::array<std::pair<Index, float>, 2>> from;  // each the middle of two, or one twice
};

Remeshed subdivided(const Mesh& mesh) {
  Remeshed out;
  const std::vector<Index> triangles = triangles_of(mesh);
  std::map<std::pair<Index, Index>, Index> middles;
  for (Index v = 0; v < mesh.vertex_count(); ++v) out.from.push_back({std::pair{v, 0.5F}, {v, 0.5F}});
  const auto middle = [&](Index a, Index b) {
    const auto [entry, fresh] = middles.try_emplace(std::minmax(a, b), static_cast<Index>(out.from.size()));
    if (fresh) out.from.push_back({std::pair{a, 0.5F}, {b, 0.5F}});
    return entry->second;
  };
  for (std::size_t t = 0; t < triangles.size(); t += 3) {
    const Index a = triangles[t], b = triangles[t + 1], c = triangles[t + 2];
    const Index ab = middle(a, b), bc = middle(b, c), ca = middle(c, a);
    for (const Index v : {a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca}) out.mesh.corners.push_back(v);
  }
  return out;
}

/// Middles of the triangles, joined around what were vertices: nothing of the old mesh is left but its shape.
Remeshed decimated(const Mesh& mesh, std::size_t triangles) {
  Remeshed out;
  std::vector<Index> kept;
  const Mesh small = mesh_of(mesh, meshoptimizer_triangles(mesh, triangles), kept);
  out.mesh.corners = small.corners;
  for (const Index v : kept) out.from.push_back({std::pair{v, 0.5F}, {v, 0.5F}});
  return out;
}

/// The middles of some edges are vertices, and no vertex of the old mesh is: every corner moves along an edge.
Remeshed shifted(const Mesh& mesh) {
  Remeshed out;
  const std::vector<Index> triangles = triangles_of(mesh);
  std::vector<Index> next(mesh.vertex_count());
  for (Index v = 0; v < next.size(); ++v) next[v] = v;
  for (std::size_t t = 0; t < triangles.size(); t += 3)
    for (std::size_t i = 0; i < 3; ++i) next[triangles[t + i]] = triangles[t + (i + 1) % 3];
  for (Index v = 0; v < next.size(); ++v) out.from.push_back({std::pair{v, 0.65F}, {next[v], 0.35F}});
  out.mesh.corners = triangles;
  return out;
}

Sequence carried(const Sequence& sequence, const Remeshed& other) {
  Sequence out;
  out.name = sequence.name;
  out.rest = other.mesh;
  out.rest.face_sizes.assign(other.mesh.corners.size() / 3, 3);
  out.times = sequence.times;
  out.frames = Frames(sequence.frame_count(), other.from.size());
  const auto place = [&](const auto& points, std::size_t v) {
    return Vector3(other.from[v][0].second * points.col(other.from[v][0].first) +
                   other.from[v][1].second * points.col(other.from[v][1].first));
  };
  out.rest.positions.resize(3, static_cast<Eigen::Index>(other.from.size()));
  for (std::size_t v = 0; v < other.from.size(); ++v) {
    out.rest.positions.col(static_cast<Eigen::Index>(v)) = place(sequence.rest.positions, v);
    for (std::size_t f = 0; f < sequence.frame_count(); ++f)
      out.frames[f].col(static_cast<Eigen::Index>(v)) = place(std::as_const(sequence.frames)[f], v);
  }
  return out;
}

void bodies(const std::string& name, const Sequence& sequence) {
  const Rig rig = solved(sequence);
  const std::size_t all = triangles_of(sequence.rest).size() / 3;
  const std::array<std::pair<const char*, Remeshed>, 3> others{
      std::pair{"decimated", decimated(sequence.rest, all / 4)},
      {"subdivided", subdivided(sequence.rest)},
      {"re-triangulated", shifted(sequence.rest)}};
  for (const auto& [kind, other] : others) {
    const Sequence target = carried(sequence, other);
    TransferReport report;
    const Rig given = transfer(rig, target.rest, {}, report);
    const double ours = evaluate(given, target).e_rms;
    const double direct = evaluate(solved(target), target).e_rms;
    fmt::print("{:16} {:16} {:6} vertices: E_RMS {:.3f}, solved directly {:.3f} ({:.3f}); filled in {:.2f} %\n", name,
               kind, report.vertices, ours, direct, ours / direct, 100 * report.filled_share());
    std::fflush(stdout);
  }
}

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Making the boxes that queries meet, against posing all vertices and refitting a tree over them.
void bounds(int vertices) {
  CharacterOptions options;
  options.vertices = vertices;
  const Rig rig = make_character(options).truth;
  const BoundsTree tree = build_bounds_tree(rig);
  const sinew_tree view = tree.view();
  const RuntimeModel memory = runtime_model(rig);
  std::vector<float> boxes(6 * tree.nodes.size());
  std::vector<std::uint32_t> stamps(tree.nodes.size());
  std::vector<float> posed(3 * rig.vertex_count());
  sinew_tree_pose pose{&view, &memory.model, nullptr, nullptr, boxes.data(), stamps.data(), 0};
  const std::size_t frames = rig.frame_count();
  const auto palette = [&](std::size_t f) { return memory.palettes.data() + 16 * rig.bone_count() * f; };

  double start = cpu_seconds();
  constexpr int kRefits = 20;
  double skinned = 0;
  for (int i = 0; i < kRefits; ++i) {
    const double before = cpu_seconds();
    const sinew_poses poses{
        1, palette(static_cast<std::size_t>(i) % frames), 0, nullptr, {posed.data(), 12, 0}, {nullptr, 12, 0}, nullptr};
    sinew_skin(&memory.model, &poses);
    skinned += cpu_seconds() - before;
    for (std::size_t n = tree.nodes.size(); n-- > 0;) {  // children come after their parents
      float* const box = boxes.data() + 6 * n;
      const sinew_tree_node& node = tree.nodes[n];
      if (node.right != 0) {
        const float* const a = boxes.data() + 6 * (n + 1);
        const float* const b = boxes.data() + 6 * node.right;
        for (int k = 0; k < 3; ++k) {
          box[k] = std::min(a[k], b[k]);
          box[3 + k] = std::max(a[3 + k], b[3 + k]);
        }
        continue;
      }
      std::fill_n(box, 3, 1e30F);
      std::fill_n(box + 3, 3, -1e30F);
      for (std::size_t c = 3 * node.first_triangle; c < 3 * (node.first_triangle + node.triangles); ++c)
        for (std::size_t k = 0; k < 3; ++k) {
          box[k] = std::min(box[k], posed[3 * tree.corners[c] + k]);
          box[3 + k] = std::max(box[3 + k], posed[3 * tree.corners[c] + k]);
        }
    }
  }
  const double refit = (cpu_seconds() - start) / kRefits;

  constexpr int kQueries = 20000;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1.2F, 1.2F);
  for (const bool rays : {true, false}) {
    std::size_t nodes = 0;
    int hits = 0;
    const auto run = [&](bool again) {  // each query once, or twice: the second time its boxes are there
      hits = 0;
      random.seed(3);
      start = cpu_seconds();
      for (int q = 0; q < kQueries; ++q) {
        pose.palette = palette(static_cast<std::size_t>(q) % frames);
        sinew_tree_begin(&pose);
        const float from[3] = {uniform(random), 1 + uniform(random), uniform(random)};
        const float along[3] = {-from[0], 0.8F - from[1], -from[2]};
        sinew_tree_hit hit;
        if (again) rays ? sinew_tree_ray(&pose, from, along, 10, &hit) : sinew_tree_nearest(&pose, from, 10, &hit);
        hits += rays ? sinew_tree_ray(&pose, from, along, 10, &hit) : sinew_tree_nearest(&pose, from, 10, &hit);
      }
      return (cpu_seconds() - start) / kQueries;
    };
    const double query = run(false);
    const double boxes_made = 2 * query - run(true);
    for (int q = 0; q < 200; ++q) {  // how many nodes such a query meets
      pose.palette = palette(static_cast<std::size_t>(q) % frames);
      sinew_tree_begin(&pose);
      const float from[3] = {uniform(random), 1 + uniform(random), uniform(random)};
      const float along[3] = {-from[0], 0.8F - from[1], -from[2]};
      sinew_tree_hit hit;
      rays ? sinew_tree_ray(&pose, from, along, 10, &hit) : sinew_tree_nearest(&pose, from, 10, &hit);
      nodes += static_cast<std::size_t>(std::count(stamps.begin(), stamps.end(), pose.stamp));
    }
    fmt::print(
        "{} vertices, {} nodes: {} {:.1f} us in a new pose, {:.1f} us of that for the boxes of {} nodes, {} of {} hit; "
        "posing all {:.1f} us, refitting {:.1f} us: {:.0f} times the query, {:.0f} times its boxes\n",
        rig.vertex_count(), tree.nodes.size(), rays ? "ray" : "nearest point", 1e6 * query, 1e6 * boxes_made,
        nodes / 200, hits, kQueries, 1e6 * skinned / kRefits, 1e6 * (refit - skinned / kRefits), refit / query,
        refit / boxes_made);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* folder = std::getenv("SINEW_DATA");
  const std::filesystem::path data = folder != nullptr ? folder : "../shared/data";
  if (argc == 3 && std::strcmp(argv[1], "bounds") == 0) {
    bounds(std::atoi(argv[2]));
    return 0;
  }
  for (int i = 2; i < argc; ++i) {
    const Sequence sequence = read_sequence({data / "sequences" / argv[i]});
    if (std::strcmp(argv[1], "lod") == 0) lod(argv[i], sequence);
    if (std::strcmp(argv[1], "transfer") == 0) bodies(argv[i], sequence);
  }
}
