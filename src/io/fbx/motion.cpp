#include "io/fbx/motion.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "io/gltf/write_motion.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"

namespace sinew::fbx {
namespace {

constexpr double kDegree = std::numbers::pi / 180;
constexpr double kShearTolerance = 1e-5;  // cosine between two axes that count as orthogonal
constexpr double kEvenTolerance = 1e-5;   // relative difference of stretches that count as equal
constexpr double kParentStretch = 1e-3;   // a parent that shrinks further cannot hold children
constexpr double kRestTolerance = 1e-6;   // of the rest diagonal: a joint this near to its place is put there

constexpr double kLeastScale = 1e-6;  // readers take matrices apart, and a rotation cannot be told from no size at all

/// A scale as it is written.
float written_scale(double s) {
  return static_cast<float>(std::abs(s) < kLeastScale ? std::copysign(kLeastScale, s) : s);
}

double off_axis(const Eigen::Matrix3d& A, const Eigen::Matrix3d& V) {
  const Eigen::Matrix3d B = A * V;
  double largest = 0;
  const double size = B.colwise().norm().maxCoeff();
  for (int i = 0; i < 2; ++i)
    for (int j = i + 1; j < 3; ++j)
      if (size > 0) largest = std::max(largest, std::abs(B.col(i).dot(B.col(j))) / (size * size));
  return largest;
}

Eigen::Matrix3d linear_of(const Rig& rig, std::size_t f, std::size_t b) {
  return rig.motion(f, b).leftCols<3>().cast<double>();
}

/// First frame in which the axes V of the rest pose do not stay orthogonal.
std::optional<std::size_t> first_sheared(const Rig& rig, std::size_t b, const Eigen::Matrix3d& V) {
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    if (off_axis(linear_of(rig, f, b), V) > kShearTolerance) return f;
  return std::nullopt;
}

/// Axes of the rest pose along which a bone stretches in every frame, or nothing when it shears. Where such axes are,
/// all AᵀA have them as eigenvectors, and so has a sum whose weights no symmetry can cancel.
std::optional<Eigen::Matrix3d> stretch_axes(const Rig& rig, std::size_t b) {
  if (!first_sheared(rig, b, Eigen::Matrix3d::Identity())) return Eigen::Matrix3d::Identity();
  Eigen::Matrix3d sum = Eigen::Matrix3d::Zero();
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    const Eigen::Matrix3d A = linear_of(rig, f, b);
    const double size = A.squaredNorm();
    if (size > 0) sum += (1 + std::fmod(static_cast<double>(f) * std::numbers::phi, 1.0)) * A.transpose() * A / size;
  }
  Eigen::Matrix3d V = Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d>(sum).eigenvectors();
  if (V.determinant() < 0) V.col(0) *= -1;
  if (first_sheared(rig, b, V)) return std::nullopt;
  return V;
}

/// How each bone is written.
struct Form {
  std::vector<std::optional<Eigen::Matrix3d>> axes;  // nothing: two nodes
  bool hierarchy = false;
};

bool holds_children_evenly(const Rig& rig, std::size_t b) {
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    const Eigen::Vector3d s = linear_of(rig, f, b).colwise().norm();
    if (s.maxCoeff() - s.minCoeff() > kEvenTolerance * s.maxCoeff() || !(s.minCoeff() > kParentStretch)) return false;
    if (linear_of(rig, f, b).determinant() < 0) return false;
  }
  return true;
}

Form form_of(const Rig& rig, bool bake_shear) {
  Form form;
  form.hierarchy = rig.jointed;
  for (std::size_t b = 0; b < rig.bone_count(); ++b) {
    form.axes.push_back(rig.transforms == Transforms::rigid ? Eigen::Matrix3d::Identity() : stretch_axes(rig, b));
    if (form.axes.back()) continue;
    if (!bake_shear)
      throw Error(ErrorKind::output,
                  fmt::format("bone {} '{}' shears in frame {}: bones of an FBX file turn, move and scale. Solve with "
                              "--transforms rigid, or write it as a pair of nodes with --bake-shear",
                              b, rig.bones[b].name, *first_sheared(rig, b, Eigen::Matrix3d::Identity())));
    form.hierarchy = false;
  }
  if (!form.hierarchy || rig.transforms == Transforms::rigid) return form;
  for (const Bone& bone : rig.bones)
    if (bone.parent >= 0 && !holds_children_evenly(rig, static_cast<std::size_t>(bone.parent))) form.hierarchy = false;
  return form;
}

/// Translation, rotation and scale of one node in one frame, in float as written.
struct Local {
  Eigen::Matrix<float, 3, 3> columns;

  Eigen::Affine3d matrix() const {
    Eigen::Affine3d out = Eigen::Affine3d::Identity();
    out.linear() =
        rotation_of(columns.col(1).cast<double>()) * Eigen::Matrix3d(columns.col(2).cast<double>().asDiagonal());
    out.translation() = columns.col(0).cast<double>();
    return out;
  }
};

/// A matrix whose columns are orthogonal, as far as it is; the rotation follows `previous`.
Local local_of(const Eigen::Affine3d& m, bool rigid, const Eigen::Vector3d& previous) {
  const gltf::Stretch d = gltf::decompose(m.linear(), {});
  const Eigen::Matrix3d R = d.U * d.V.transpose();
  Local out;
  out.columns.col(0) = m.translation().cast<float>();
  out.columns.col(1) = euler_degrees(R, previous).cast<float>();
  out.columns.col(2).setOnes();
  for (int i = 0; i < 3 && !rigid; ++i) out.columns(i, 2) = written_scale(R.col(i).dot(m.linear().col(i)));
  return out;
}

void append(const Local& local, MotionNode& node) {
  for (int i = 0; i < 3; ++i) {
    node.translation.push_back(local.columns(i, 0));
    node.rotation.push_back(local.columns(i, 1));
    node.scale.push_back(local.columns(i, 2));
  }
}

/// Tracks of a bone that is one node. Relative to the node above as written, so that rounding does not add up.
void add_single(const Rig& rig, std::size_t b, const std::vector<std::vector<Eigen::Affine3d>>& written,
                const std::vector<bool>& starts, const MotionNodes& all, MotionNode& node,
                std::vector<Eigen::Affine3d>& own) {
  const bool rigid = rig.transforms == Transforms::rigid;
  const bool held = node.parent >= 0;
  const auto above = static_cast<std::size_t>(held ? node.parent : 0);
  const Eigen::Affine3d rest = held ? all.nodes[above].bind.inverse() * node.bind : node.bind;
  node.rest = local_of(rest, true, Eigen::Vector3d::Zero()).columns;
  const double near = kRestTolerance * bounding_box_diagonal(rig.rest.positions);
  Eigen::Vector3d previous = node.rest.col(1).cast<double>();
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    if (starts[f]) previous = node.rest.col(1).cast<double>();
    Eigen::Affine3d m = Eigen::Affine3d::Identity();
    m.affine() = rig.motion(f, b).cast<double>();
    m = m * node.bind;
    if (held) m = written[above][f].inverse() * m;
    if (held && (m.translation() - rest.translation()).norm() <= near) m.translation() = rest.translation();
    const Local local = local_of(m, rigid, previous);
    previous = local.columns.col(1).cast<double>();
    append(local, node);
    own.push_back(held ? written[above][f] * local.matrix() : local.matrix());
  }
}

/// Tracks of a bone that shears: translation · U · s on the outer node, Vᵀ on the inner one.
void add_pair(const Rig& rig, std::size_t b, const std::vector<bool>& starts, MotionNode& outer, MotionNode& inner) {
  outer.rest << outer.bind.translation().cast<float>(), Vector3::Zero(), Vector3::Ones();
  inner.rest << Vector3::Zero(), Vector3::Zero(), Vector3::Ones();
  gltf::Stretch d;
  Eigen::Vector3d turn = Eigen::Vector3d::Zero();
  Eigen::Vector3d back = Eigen::Vector3d::Zero();
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    if (starts[f]) turn = back = Eigen::Vector3d::Zero();
    d = gltf::decompose(linear_of(rig, f, b), d);
    turn = euler_degrees(d.U, turn);
    back = euler_degrees(d.V.transpose(), back);
    const Eigen::Vector3d t = rig.motion(f, b).cast<double>() * outer.bind.translation().homogeneous();
    Local local;
    local.columns << t.cast<float>(), turn.cast<float>(), d.s.unaryExpr(&written_scale);
    append(local, outer);
    local.columns << Vector3::Zero(), back.cast<float>(), Vector3::Ones();
    append(local, inner);
  }
}

}  // namespace

Eigen::Matrix3d rotation_of(const Eigen::Vector3d& degrees) {
  const Eigen::Vector3d r = degrees * kDegree;
  return (Eigen::AngleAxisd(r.z(), Eigen::Vector3d::UnitZ()) * Eigen::AngleAxisd(r.y(), Eigen::Vector3d::UnitY()) *
          Eigen::AngleAxisd(r.x(), Eigen::Vector3d::UnitX()))
      .toRotationMatrix();
}

Eigen::Vector3d euler_degrees(const Eigen::Matrix3d& R, const Eigen::Vector3d& previous) {
  // Where y is a quarter turn, x and z are about one axis: x stays.
  const bool locked = std::hypot(R(2, 1), R(2, 2)) < 1e-6;
  const double x = locked ? previous.x() * kDegree : std::atan2(R(2, 1), R(2, 2));
  const Eigen::Matrix3d rest = R * Eigen::AngleAxisd(-x, Eigen::Vector3d::UnitX()).toRotationMatrix();
  const Eigen::Vector3d first =
      Eigen::Vector3d(x, std::atan2(-rest(2, 0), rest(2, 2)), std::atan2(-rest(0, 1), rest(1, 1))) / kDegree;
  const Eigen::Vector3d second(first.x() + 180, 180 - first.y(), first.z() + 180);  // the same rotation
  const auto nearest = [&](Eigen::Vector3d angles) {
    for (int i = 0; i < 3; ++i) angles[i] -= 360 * std::round((angles[i] - previous[i]) / 360);
    return angles;
  };
  const Eigen::Vector3d a = nearest(first);
  const Eigen::Vector3d c = nearest(second);
  return (a - previous).lpNorm<1>() <= (c - previous).lpNorm<1>() ? a : c;
}

MotionNodes motion_nodes(const Rig& rig, const std::vector<Clip>& clips, bool bake_shear) {
  const Form form = form_of(rig, bake_shear);
  std::vector<bool> starts(rig.frame_count(), false);
  for (const Clip& clip : clips)
    if (clip.frames > 0) starts[clip.first_frame] = true;
  MotionNodes out;
  out.hierarchy = form.hierarchy;
  std::vector<std::vector<Eigen::Affine3d>> written;  // per node and frame, in the world
  for (std::size_t b = 0; b < rig.bone_count(); ++b) {
    MotionNode node;
    node.name = rig.bones[b].name;
    node.bind.translate(rig.bones[b].head.cast<double>());
    if (form.hierarchy && rig.bones[b].parent >= 0)
      node.parent = static_cast<int>(out.of_bone[static_cast<std::size_t>(rig.bones[b].parent)]);
    if (!form.axes[b]) {
      MotionNode inner = node;
      inner.parent = static_cast<int>(out.nodes.size());
      node.name += "_stretch";
      add_pair(rig, b, starts, node, inner);
      out.nodes.push_back(std::move(node));
      out.of_bone.push_back(out.nodes.size());
      out.nodes.push_back(std::move(inner));
      written.resize(out.nodes.size());
      continue;
    }
    node.bind.rotate(*form.axes[b]);
    written.emplace_back();
    add_single(rig, b, written, starts, out, node, written.back());
    out.of_bone.push_back(out.nodes.size());
    out.nodes.push_back(std::move(node));
  }
  for (MotionNode& node : out.nodes)
    if (std::all_of(node.scale.begin(), node.scale.end(), [](float s) { return s == 1; })) node.scale.clear();
  return out;
}

}  // namespace sinew::fbx
