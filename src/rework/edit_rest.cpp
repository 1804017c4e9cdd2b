#include "sinew/rework/edit_rest.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/index.h"
#include "math/adjacency.h"
#include "math/decompositions.h"
#include "math/surface_tree.h"
#include "rework/surface.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"

/// p, p' a point at rest before and after the edit, d = p' − p; A, t the linear part and translation of a bone.
///
/// Vertices carry d in the frame of their bones: x = Σ w (A p' + t). What bones have in common must then stay so: with
/// j the joint of bones a and b, A_a j' + t'_a − A_b j' − t'_b = A_a j + t_a − A_b j − t_b. That fixes the translations
/// of a hierarchy from the root down; of free bones, whose joints are the middles of what they blend, in the mean.
namespace sinew {
namespace {

/// Points of the surface before and after the edit, and how the vertices follow the bones.
struct Moves {
  Eigen::Matrix3Xd from;
  Eigen::Matrix3Xd by;      // d
  Eigen::MatrixXf weights;  // V×B
};

void check_options(const EditOptions& options) {
  if (!(options.follow >= 0 && options.follow <= 1))
    throw Error(ErrorKind::usage, fmt::format("edit: joints follow by {}, expected 0 to 1", options.follow));
  if (!(options.reach > 0)) throw Error(ErrorKind::usage, "edit: the reach of joints must be above 0");
}

/// How a point in the neighbourhood of others moves with them: the affine map nearest to no map at all that explains
/// their moves, weighted by `share` and by how near they are.
Eigen::Vector3d moved(const Moves& moves, const Eigen::VectorXf& share, const Eigen::Vector3d& x, double reach) {
  const Eigen::RowVectorXd squared = (moves.from.colwise() - x).colwise().squaredNorm();
  double nearest = std::numeric_limits<double>::infinity();
  for (Eigen::Index v = 0; v < squared.size(); ++v)
    if (share[v] > 0) nearest = std::min(nearest, squared[v]);
  if (!std::isfinite(nearest)) return Eigen::Vector3d::Zero();
  const double size = std::max(reach * reach, 4 * nearest);
  const Eigen::RowVectorXd weight = share.transpose().cast<double>().array() * (-squared.array() / size).exp();
  const double total = weight.sum();
  if (!(total > 0)) return Eigen::Vector3d::Zero();
  const Eigen::Vector3d middle = moves.from * weight.transpose() / total;
  const Eigen::Vector3d mean = moves.by * weight.transpose() / total;
  const Eigen::Matrix3Xd around = moves.from.colwise() - middle;
  const Eigen::Matrix3Xd weighted = around.array().rowwise() * weight.array();
  Eigen::Matrix3d spread = weighted * around.transpose();
  const Eigen::Matrix3d shear = (moves.by.colwise() - mean) * weighted.transpose();
  spread += (1e-6 * spread.trace() + 1e-30) * Eigen::Matrix3d::Identity();
  const Eigen::Matrix3d map = solve_symmetric(spread, Eigen::Matrix3d(shear.transpose())).transpose();
  return mean + map * (x - middle);
}

/// Heads and tails after the edit; returns how far heads moved.
Eigen::Matrix3Xd move_bones(const Moves& moves, const EditOptions& options, double diagonal, Rig& rig) {
  Eigen::Matrix3Xd out = Eigen::Matrix3Xd::Zero(3, index(rig.bone_count()));
  const double reach = options.reach * diagonal;
  for (std::size_t b = 0; b < rig.bone_count(); ++b) {
    Bone& bone = rig.bones[b];
    const Eigen::VectorXf own = moves.weights.col(index(b));
    Eigen::VectorXf around = own;
    if (bone.parent >= 0) around += moves.weights.col(bone.parent);
    out.col(index(b)) = options.follow * moved(moves, around, bone.head.cast<double>(), reach);
    const Eigen::Vector3d tail = options.follow * moved(moves, own, bone.tail.cast<double>(), reach);
    bone.head += out.col(index(b)).cast<float>();
    bone.tail += tail.cast<float>();
  }
  return out;
}

Eigen::Matrix3d linear_part(const Rig& rig, std::size_t f, std::size_t b) {
  return rig.motion(f, b).leftCols<3>().cast<double>();
}

/// t'_b = t_b + (t'_p − t_p) + (A_p − A_b) d of its head; the parent of a root is the world.
void move_hierarchy(const Eigen::Matrix3Xd& heads, Rig& rig) {
  if (heads.isZero(0)) return;
  std::vector<Eigen::Vector3d> change(rig.bone_count());
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b) {
      const int parent = rig.bones[b].parent;
      Eigen::Matrix3d above = Eigen::Matrix3d::Identity();
      change[b].setZero();
      if (parent >= 0) {
        above = linear_part(rig, f, at(parent));
        change[b] = change[at(parent)];
      }
      change[b] += (above - linear_part(rig, f, b)) * heads.col(index(b));
      rig.motion(f, b).col(3) = (rig.motion(f, b).col(3).cast<double>() + change[b]).cast<float>();
    }
}

/// What two bones blend: how much, and how its middle moves.
struct Seam {
  std::size_t a, b;
  double weight;
  Eigen::Vector3d by;
};

std::vector<Seam> seams_of(const Rig& rig, const Moves& moves, double follow) {
  std::map<std::pair<Index, Index>, std::pair<double, Eigen::Vector3d>> sums;
  const auto slots = at(rig.weights.influences);
  for (std::size_t v = 0; v < rig.vertex_count(); ++v)
    for (std::size_t i = 0; i < slots; ++i)
      for (std::size_t k = i + 1; k < slots; ++k) {
        const double weight = static_cast<double>(rig.weights.values[v * slots + i]) *
                              static_cast<double>(rig.weights.values[v * slots + k]);
        if (!(weight > 0)) continue;
        const auto pair = std::minmax(rig.weights.bones[v * slots + i], rig.weights.bones[v * slots + k]);
        auto& sum = sums.try_emplace({pair.first, pair.second}, 0.0, Eigen::Vector3d::Zero()).first->second;
        sum.first += weight;
        sum.second += weight * moves.by.col(index(v));
      }
  std::vector<Seam> out;
  for (const auto& [pair, sum] : sums)
    out.push_back({pair.first, pair.second, sum.first, follow * sum.second / sum.first});
  return out;
}

/// Translations of free bones: min Σ m_ab |δ_a − δ_b − (A_b − A_a) d_ab|² + ε Σ m_b |δ_b − (I − A_b) d_b|².
void move_free_bones(const Moves& moves, const EditOptions& options, Rig& rig) {
  constexpr double kHeld = 1e-6;  // ε: how the whole moves where nothing else says
  if (moves.by.isZero(0) || options.follow == 0) return;
  const std::vector<Seam> seams = seams_of(rig, moves, options.follow);
  const auto bones = index(rig.bone_count());
  Eigen::MatrixXd system = Eigen::MatrixXd::Zero(bones, bones);
  const Eigen::VectorXd mass = moves.weights.cast<double>().colwise().sum().transpose().cwiseMax(1e-9);
  const Eigen::Matrix3Xd middles =
      options.follow * (moves.by * moves.weights.cast<double>()) * mass.cwiseInverse().asDiagonal();
  for (const Seam& seam : seams) {
    const auto a = index(seam.a);
    const auto b = index(seam.b);
    system(a, a) += seam.weight;
    system(b, b) += seam.weight;
    system(a, b) -= seam.weight;
    system(b, a) -= seam.weight;
  }
  system.diagonal() += kHeld * mass;
  const Cholesky factor(system);
  Eigen::MatrixXd right(bones, 3);
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    for (Eigen::Index b = 0; b < bones; ++b)
      right.row(b) = kHeld * mass[b] *
                     ((Eigen::Matrix3d::Identity() - linear_part(rig, f, static_cast<std::size_t>(b))) * middles.col(b))
                         .transpose();
    for (const Seam& seam : seams) {
      const Eigen::RowVector3d gap =
          seam.weight * ((linear_part(rig, f, seam.b) - linear_part(rig, f, seam.a)) * seam.by).transpose();
      right.row(index(seam.a)) += gap;
      right.row(index(seam.b)) -= gap;
    }
    const Eigen::MatrixXd change = factor.solve(right);
    for (std::size_t b = 0; b < rig.bone_count(); ++b)
      rig.motion(f, b).col(3) =
          (rig.motion(f, b).col(3).cast<double>() + change.row(index(b)).transpose()).cast<float>();
  }
}

/// Normals that the mesh came with turn as the surface does.
void turn_normals(const Eigen::Matrix3Xd& before, const Eigen::Matrix3Xd& after, Mesh& mesh) {
  if (mesh.normals.empty() || before == after) return;
  CornerAttribute<3> turned{mesh.normals.name, {}, {}};
  std::map<std::pair<Index, Index>, Index> known;  // vertex and value before: value after
  for (std::size_t c = 0; c < mesh.corners.size(); ++c) {
    const Index v = mesh.corners[c];
    const auto [entry, fresh] =
        known.try_emplace({v, mesh.normals.indices[c]}, static_cast<Index>(turned.values.size() / 3));
    turned.indices.push_back(entry->second);
    if (!fresh) continue;
    const Eigen::Vector3d n =
        Eigen::Map<const Vector3>(mesh.normals.values.data() + 3 * std::size_t{mesh.normals.indices[c]}).cast<double>();
    const bool directed = before.col(v).squaredNorm() > 0 && after.col(v).squaredNorm() > 0;
    const bool turns = directed && before.col(v) != after.col(v);
    const Vector3 out = (turns ? Eigen::Quaterniond::FromTwoVectors(before.col(v), after.col(v)) * n : n).cast<float>();
    turned.values.insert(turned.values.end(), {out.x(), out.y(), out.z()});
  }
  mesh.normals = std::move(turned);
}

Eigen::VectorXd vertex_areas(const Eigen::Matrix3Xd& positions, const std::vector<Index>& triangles) {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(positions.cols());
  for (std::size_t t = 0; t + 2 < triangles.size(); t += 3) {
    const Eigen::Vector3d a = positions.col(triangles[t]);
    const double area = (positions.col(triangles[t + 1]) - a).cross(positions.col(triangles[t + 2]) - a).norm();
    for (std::size_t i = 0; i < 3; ++i) out[triangles[t + i]] += area;
  }
  return out;
}

void rescale_corrections(const Eigen::Matrix3Xd& before, const Eigen::Matrix3Xd& after, Rig& rig) {
  const std::vector<Index> triangles = triangles_of(rig.rest);
  const Eigen::VectorXd old_area = vertex_areas(before, triangles);
  const Eigen::VectorXd new_area = vertex_areas(after, triangles);
  Eigen::RowVectorXf factor = Eigen::RowVectorXf::Ones(before.cols());
  for (Eigen::Index v = 0; v < factor.size(); ++v)
    if (old_area[v] > 0) factor[v] = static_cast<float>(std::sqrt(new_area[v] / old_area[v]));
  for (Points& offset : rig.corrections->offsets) offset.array().rowwise() *= factor.array();
}

using Edge = std::pair<Index, Index>;

std::set<Edge> edges_of(const Mesh& mesh) {
  std::set<Edge> out;
  const Adjacency adjacency = mesh_adjacency(mesh);
  for (std::size_t v = 0; v < adjacency.vertex_count(); ++v)
    for (const Index u : adjacency[v])
      if (v < u) out.emplace(static_cast<Index>(v), u);
  return out;
}

/// The rig with the edited positions, where the faces are the same, and how its points moved.
Moves take_positions(const Mesh& edited, const EditOptions& options, Rig& rig) {
  Moves out;
  out.from = rig.rest.positions.cast<double>();
  const Eigen::Matrix3Xd to = edited.positions.cast<double>();
  out.by = to - out.from;
  out.weights = unpack_weights(rig.weights, rig.bone_count());
  const std::vector<Index> triangles = triangles_of(rig.rest);
  rig.rest.positions = edited.positions;
  turn_normals(unit_normals(out.from, triangles), unit_normals(to, triangles), rig.rest);
  if (rig.corrections && options.corrections == CorrectionRule::rescale) rescale_corrections(out.from, to, rig);
  return out;
}

/// The rig on a mesh with other faces, and how its points moved against the surface that was.
Moves take_mesh(const Mesh& edited, const EditOptions& options, EditReport& report, const Progress& progress,
                Rig& rig) {
  const SurfaceTree before(rig.rest.positions.cast<double>(), triangles_of(rig.rest));
  rig = transfer(rig, edited, options.transfer, report.transfer, progress);
  Moves out;
  out.from.resize(3, edited.positions.cols());
  for (Eigen::Index v = 0; v < out.from.cols(); ++v)
    out.from.col(v) = before.nearest(edited.positions.col(v).cast<double>());
  out.by = edited.positions.cast<double>() - out.from;
  out.weights = unpack_weights(rig.weights, rig.bone_count());
  return out;
}

}  // namespace

bool same_faces(const Mesh& a, const Mesh& b) {
  if (a.vertex_count() != b.vertex_count()) return false;
  if (a.face_sizes == b.face_sizes && a.corners == b.corners) return true;
  const std::set<Edge> one = edges_of(a);
  const std::set<Edge> other = edges_of(b);
  return std::includes(one.begin(), one.end(), other.begin(), other.end()) ||
         std::includes(other.begin(), other.end(), one.begin(), one.end());
}

Rig edit_rest(const Rig& rig, const Mesh& edited, const EditOptions& options, EditReport& report,
              const Progress& progress) {
  check_options(options);
  rig.check();
  edited.check("the edited rest pose");
  report = {};
  report.same_faces = same_faces(rig.rest, edited);
  if (!tell(progress, "editing", 0)) throw Error(ErrorKind::interrupted, "edit: stopped");
  const double diagonal = bounding_box_diagonal(rig.rest.positions);
  Rig out = rig;
  if (options.corrections == CorrectionRule::drop) out.corrections.reset();
  const Moves moves =
      report.same_faces ? take_positions(edited, options, out) : take_mesh(edited, options, report, progress, out);
  if (moves.by.cols() > 0)
    report.moved_percent = 100 * moves.by.colwise().norm().maxCoeff() / std::max(diagonal, 1e-300);
  const Eigen::Matrix3Xd heads = move_bones(moves, options, diagonal, out);
  if (heads.cols() > 0) report.joints_percent = 100 * heads.colwise().norm().maxCoeff() / std::max(diagonal, 1e-300);
  if (out.jointed)
    move_hierarchy(heads, out);
  else
    move_free_bones(moves, options, out);
  return out;
}

}  // namespace sinew
