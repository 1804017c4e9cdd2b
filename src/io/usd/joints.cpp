#include "io/usd/joints.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "sinew/core/error.h"

namespace sinew::usd {
namespace {

constexpr double kShear = 2e-5;  // of a joint's longest axis; axes nearer to square than this count as square

/// Axes that all frames of a bone scale along, as well as any do: Jacobi rotations that make all AᵀA as diagonal as
/// they can be at once.
Eigen::Matrix3d common_axes(const Rig& rig, std::size_t bone) {
  std::vector<Eigen::Matrix3d> squares;
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    const Eigen::Matrix3d A = rig.motion(f, bone).leftCols<3>().cast<double>();
    squares.emplace_back(A.transpose() * A);
  }
  Eigen::Matrix3d V = Eigen::Matrix3d::Identity();
  for (int sweep = 0; sweep < 50; ++sweep) {
    double largest = 0;
    for (int i = 0; i < 2; ++i)
      for (int j = i + 1; j < 3; ++j) {
        double on = 0;
        double off = 0;
        for (const Eigen::Matrix3d& S : squares) {
          const double difference = S(i, i) - S(j, j);
          const double product = 2 * S(i, j);
          on += difference * difference - product * product;
          off += 2 * difference * product;
        }
        const double angle = 0.5 * std::atan2(off, on + std::hypot(on, off));
        if (!(std::abs(angle) > 1e-9)) continue;
        largest = std::max(largest, std::abs(angle));
        const Eigen::JacobiRotation<double> turn(std::cos(angle), -std::sin(angle));
        V.applyOnTheRight(i, j, turn);
        for (Eigen::Matrix3d& S : squares) {
          S.applyOnTheRight(i, j, turn);
          S.applyOnTheLeft(i, j, turn.adjoint());
        }
      }
    if (largest < 1e-9) break;
  }
  return V;
}

/// How far two columns are from square: what dropping it would move a point at distance one, relative to the longest
/// column.
double shear_of(const Eigen::Matrix3d& B) {
  const Eigen::Vector3d lengths = B.colwise().norm();
  double largest = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = i + 1; j < 3; ++j) {
      const double longer = std::max(lengths[i], lengths[j]);
      if (longer > 0) largest = std::max(largest, std::abs(B.col(i).dot(B.col(j))) / (longer * lengths.maxCoeff()));
    }
  return largest;
}

/// B = R · diag(s) for square columns. Directions of columns that vanish follow `previous`; a reflection is one
/// negative s.
struct ScaledRotation {
  Eigen::Matrix3d R = Eigen::Matrix3d::Identity();
  Eigen::Vector3d s = Eigen::Vector3d::Ones();
};

ScaledRotation scaled_rotation(const Eigen::Matrix3d& B, const Eigen::Matrix3d& previous) {
  std::array<int, 3> order{0, 1, 2};
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return B.col(a).norm() > B.col(b).norm(); });
  const double size = B.col(order[0]).norm();
  ScaledRotation out;
  if (!(size > 0)) return {previous, Eigen::Vector3d::Zero()};
  out.R.col(order[0]) = B.col(order[0]) / size;
  Eigen::Vector3d second = B.col(order[1]).norm() > 1e-6 * size ? B.col(order[1]) : previous.col(order[1]);
  second -= out.R.col(order[0]) * out.R.col(order[0]).dot(second);
  if (second.norm() < 1e-9 * size) second = out.R.col(order[0]).unitOrthogonal();
  out.R.col(order[1]) = second.normalized();
  out.R.col(order[2]) = out.R.col((order[2] + 1) % 3).cross(out.R.col((order[2] + 2) % 3));
  for (int i = 0; i < 3; ++i) out.s[i] = out.R.col(i).dot(B.col(i));
  return out;
}

template <class Vector>
void push(std::vector<float>& out, const Vector& values) {
  for (Eigen::Index i = 0; i < values.size(); ++i) out.push_back(static_cast<float>(values[i]));
}

/// Appends the frame of a joint that moves by `local`; returns what a player makes of the numbers written.
Eigen::Affine3d append_frame(const Eigen::Affine3d& local, Eigen::Matrix3d& previous, gltf::BoneTracks& out) {
  const ScaledRotation parts = scaled_rotation(local.linear(), previous);
  previous = parts.R;
  Eigen::Quaterniond q(parts.R);
  const std::size_t n = out.rotation.size();
  if (n > 0 && q.dot(Eigen::Quaternionf(&out.rotation[n - 4]).cast<double>()) < 0) q.coeffs() = -q.coeffs();
  push(out.rotation, q.coeffs());
  push(out.translation, local.translation());
  // Readers take matrices apart, which one without extent forbids: the smallest normal half float stands for it.
  const Eigen::Vector3d scale = parts.s.unaryExpr([](double s) { return std::abs(s) < 0x1p-14 ? 0x1p-14 : s; })
                                    .cast<Eigen::half>()
                                    .cast<double>();
  push(out.scale, scale);
  Eigen::Affine3d written = Eigen::Affine3d::Identity();
  const Eigen::Quaterniond rounded = Eigen::Quaternionf(&out.rotation[n]).cast<double>().normalized();
  written.linear() = rounded.toRotationMatrix() * scale.asDiagonal();
  written.translation() = local.translation().cast<float>().cast<double>();
  return written;
}

/// Tracks of bones that scale; a child relative to its parent as written. Nothing where a joint shears; `worst` says
/// which and by how much.
struct Shear {
  std::size_t bone = 0;
  std::size_t frame = 0;
  double amount = 0;
};

std::optional<std::vector<gltf::BoneTracks>> scaled_tracks(const Rig& rig, const Joints& joints, Shear& worst) {
  const std::size_t bones = rig.bone_count();
  std::vector<gltf::BoneTracks> out(bones);
  std::vector<Eigen::Matrix3d> previous(bones, Eigen::Matrix3d::Identity());
  std::vector<Eigen::Affine3d> written(bones);
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < bones; ++b) {
      Eigen::Affine3d local = Eigen::Affine3d::Identity();
      local.affine() = rig.motion(f, b).cast<double>();
      local.translate(rig.bones[b].head.cast<double>());
      local.linear() *= joints.axes[b];
      const int parent = joints.hierarchy ? rig.bones[b].parent : -1;
      if (parent >= 0) local = written[static_cast<std::size_t>(parent)].inverse() * local;
      const double shear = shear_of(local.linear());
      if (shear > worst.amount) worst = {b, f, shear};
      written[b] = append_frame(local, previous[b], out[b]);
      if (parent >= 0) written[b] = written[static_cast<std::size_t>(parent)] * written[b];
    }
  if (worst.amount > kShear) return std::nullopt;
  return out;
}

}  // namespace

Joints joints_of(const Rig& rig, const std::string& name) {
  Joints out;
  out.hierarchy = gltf::has_hierarchy(rig);
  if (rig.transforms == Transforms::rigid) {
    out.axes.assign(rig.bone_count(), Eigen::Matrix3d::Identity());
    out.tracks = gltf::bone_tracks(rig, out.hierarchy);
    return out;
  }
  for (std::size_t b = 0; b < rig.bone_count(); ++b) out.axes.push_back(common_axes(rig, b));
  Shear worst;
  std::optional<std::vector<gltf::BoneTracks>> tracks = scaled_tracks(rig, out, worst);
  if (!tracks && out.hierarchy) {  // a scaled parent shears a child that turns: as roots they need not
    out.hierarchy = false;
    worst = {};
    tracks = scaled_tracks(rig, out, worst);
  }
  if (!tracks)
    throw Error(
        ErrorKind::output,
        fmt::format("{}: bone '{}' shears in frame {} (by {:.2g} of its length), and joints of USD turn and "
                    "scale but do not shear; use rigid bones (--transforms rigid), or write .glb, which holds it",
                    name, rig.bones[worst.bone].name, worst.frame, worst.amount));
  out.tracks = std::move(*tracks);
  return out;
}

}  // namespace sinew::usd
