#include "sinew/rework/transfer.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/index.h"
#include "math/parallel.h"
#include "math/smooth_fill.h"
#include "math/surface_tree.h"
#include "rework/surface.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"
#include "sinew/refine/reduce_weights.h"

/// [Abdrashitov 2023]: Robust Skin Weights Transfer via Weight Inpainting.
///
/// A vertex is matched where its closest point on the rig's surface is near and faces the same way; its row of the
/// field, weights beside the offsets of corrections, is read there between the corners of the triangle. Rows of the
/// other vertices are filled in (math/smooth_fill).
namespace sinew {
namespace {

using Field = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;  // V×(B + 3R)

void check_options(const Rig& rig, const TransferOptions& options) {
  if (!(options.distance > 0)) throw Error(ErrorKind::usage, "transfer: the distance must be above 0");
  if (!(options.degrees >= 0 && options.degrees <= 180))
    throw Error(ErrorKind::usage, fmt::format("transfer: {} degrees, expected 0 to 180", options.degrees));
  if (options.influences < 0) throw Error(ErrorKind::usage, "transfer: the number of influences is negative");
  rig.check();
}

Field field_of(const Rig& rig) {
  const auto bones = index(rig.bone_count());
  const auto rank = index(rig.corrections ? rig.corrections->rank() : 0);
  Field out(index(rig.vertex_count()), bones + 3 * rank);
  out.leftCols(bones) = unpack_weights(rig.weights, rig.bone_count()).cast<double>();
  for (Eigen::Index r = 0; r < rank; ++r)
    out.middleCols(bones + 3 * r, 3) = rig.corrections->offsets[static_cast<std::size_t>(r)].transpose().cast<double>();
  return out;
}

/// Where the vertices of the mesh are on the rig's surface.
struct Matches {
  std::vector<SurfaceTree::Place> place;  // V
  std::vector<double> distance;           // V
  std::vector<bool> agrees;               // V: near, and facing the same way
};

Matches match(const SurfaceTree& tree, const Mesh& body, const Mesh& mesh, const TransferOptions& options) {
  const std::size_t vertices = mesh.vertex_count();
  const std::vector<Index> triangles = triangles_of(body);
  const Eigen::Matrix3Xd body_normals = unit_normals(body.positions.cast<double>(), triangles);
  const Eigen::Matrix3Xd normals = unit_normals(mesh.positions.cast<double>(), triangles_of(mesh));
  const double limit = options.distance * bounding_box_diagonal(body.positions);
  const double least_cosine = std::cos(options.degrees * std::numbers::pi / 180) - 1e-12;
  Matches out{std::vector<SurfaceTree::Place>(vertices), std::vector<double>(vertices), std::vector<bool>(vertices)};
  std::vector<std::uint8_t> agrees(vertices);
  parallel_for(vertices, 256, options.threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      const Eigen::Vector3d x = mesh.positions.col(index(v)).cast<double>();
      out.place[v] = tree.closest(x);
      out.distance[v] = (out.place[v].point - x).norm();
      Eigen::Vector3d there = Eigen::Vector3d::Zero();
      for (int i = 0; i < 3; ++i)
        there += out.place[v].weights[i] * body_normals.col(triangles[3 * out.place[v].triangle + at(i)]);
      const Eigen::Vector3d here = normals.col(index(v));
      const bool directed = here.squaredNorm() > 0 && there.squaredNorm() > 0;
      agrees[v] = out.distance[v] <= limit && (!directed || here.dot(there.normalized()) >= least_cosine) ? 1 : 0;
    }
  });
  for (std::size_t v = 0; v < vertices; ++v) out.agrees[v] = agrees[v] != 0;
  return out;
}

/// Vertices that are matched; components without one take what is nearest.
std::vector<bool> matched_vertices(const Matches& matches, const Components& components, TransferReport& report) {
  std::vector<bool> any(components.count, false);
  for (std::size_t v = 0; v < matches.agrees.size(); ++v)
    if (matches.agrees[v]) any[components.label[v]] = true;
  std::vector<bool> out = matches.agrees;
  for (std::size_t v = 0; v < out.size(); ++v) {
    if (out[v]) {
      ++report.matched;
    } else if (any[components.label[v]]) {
      ++report.filled;
    } else {
      ++report.unreached;
      out[v] = true;
    }
  }
  return out;
}

/// Rows of the field at the matched vertices, filled in at the others.
Eigen::MatrixXd carried_field(const Rig& rig, const Mesh& mesh, const Matches& matches,
                              const std::vector<bool>& known) {
  const Field field = field_of(rig);
  const std::vector<Index> triangles = triangles_of(rig.rest);
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(index(mesh.vertex_count()), field.cols());
  for (std::size_t v = 0; v < known.size(); ++v) {
    if (!known[v]) continue;
    const SurfaceTree::Place& place = matches.place[v];
    for (int i = 0; i < 3; ++i) {
      const Index corner = triangles[3 * place.triangle + at(i)];
      if (place.weights[i] > 0) out.row(index(v)) += place.weights[i] * field.row(corner);
    }
  }
  return smooth_fill(mesh.positions.cast<double>(), triangles_of(mesh), known, std::move(out));
}

/// Smooth solves leave the simplex a little: negative weights become none, and what is left sums to one.
SkinWeights convex_rows(const Eigen::MatrixXd& field, std::size_t bones) {
  Field weights = field.leftCols(index(bones)).cwiseMax(0);
  weights = (weights.array() < 1e-4).select(0, weights);
  return pack_weights(weights);
}

Corrections carried_corrections(const Corrections& from, const Eigen::MatrixXd& field, std::size_t bones) {
  Corrections out;
  out.coefficients = from.coefficients;
  for (std::size_t r = 0; r < from.rank(); ++r)
    out.offsets.emplace_back(field.middleCols(index(bones + 3 * r), 3).transpose().cast<float>());
  return out;
}

}  // namespace

Rig transfer(const Rig& rig, const Mesh& mesh, const TransferOptions& options, TransferReport& report,
             const Progress& progress) {
  check_options(rig, options);
  mesh.check("the mesh that takes the weights");
  report = {};
  report.vertices = mesh.vertex_count();
  const auto go_on = [&](std::string_view step, double fraction) {
    if (!tell(progress, step, fraction)) throw Error(ErrorKind::interrupted, "transfer: stopped");
  };
  go_on("matching", 0);
  const SurfaceTree tree(rig.rest.positions.cast<double>(), triangles_of(rig.rest));
  if (tree.empty()) throw Error(ErrorKind::input, "transfer: the rig's mesh has no triangle with an area");
  const Matches matches = match(tree, rig.rest, mesh, options);
  const double diagonal = bounding_box_diagonal(rig.rest.positions);
  const auto [nearest, farthest] = std::minmax_element(matches.distance.begin(), matches.distance.end());
  report.farthest_percent = 100 * *farthest / diagonal;
  if (*nearest > options.distance * diagonal)
    throw Error(
        ErrorKind::input,
        fmt::format("transfer: the mesh is not where the rig's rest pose is: its nearest vertex is {:.3g} away, "
                    "{:.3g} % of the rig's diagonal",
                    *nearest, 100 * *nearest / diagonal));
  const std::vector<bool> known = matched_vertices(matches, connected_components(mesh_adjacency(mesh)), report);
  go_on("filling in", 0.3);
  const Eigen::MatrixXd field = carried_field(rig, mesh, matches, known);
  go_on("weights", 0.7);

  Rig out = rig;
  out.rest = mesh;
  out.two_layer.reset();
  out.weights = convex_rows(field, rig.bone_count());
  if (rig.corrections) out.corrections = carried_corrections(*rig.corrections, field, rig.bone_count());
  const int most = options.influences > 0 ? options.influences : std::max(1, used_influences(rig.weights));
  if (used_influences(out.weights) > most) {
    ReduceOptions reduce;
    reduce.influences = most;
    reduce.threads = options.threads;
    out.weights = reduce_weights(out, nullptr, reduce, progress);
  }
  return out;
}

}  // namespace sinew
