#include "io/gltf/write_motion.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>

#include "sinew/core/bounds.h"
#include "sinew/core/error.h"

namespace sinew::gltf {
namespace {

constexpr double kVanishing = 1e-8;        // of the largest stretch: below what floats tell, its direction is noise
constexpr double kParentCondition = 1e-3;  // smallest over largest stretch of a parent that may hold children
constexpr double kRestTolerance = 1e-6;    // of the rest diagonal: a joint this near to its place is put there

/// Unit columns along those of B, completed to a rotation or reflection where columns vanish.
Eigen::Matrix3d directions(const Eigen::Matrix3d& B, const Eigen::Matrix3d& previous) {
  const double largest = B.colwise().norm().maxCoeff();
  Eigen::Matrix3d U = Eigen::Matrix3d::Zero();
  std::array<int, 3> order{0, 1, 2};
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return B.col(a).norm() > B.col(b).norm(); });
  for (int i = 0; i < 3; ++i) {
    const int c = order[static_cast<std::size_t>(i)];
    Eigen::Vector3d u = B.col(c);
    if (!(u.norm() > kVanishing * largest) || largest == 0) {
      u = previous.col(c) - U * (U.transpose() * previous.col(c));
      if (u.norm() < 1e-6)  // the previous direction is taken: any that is free
        u = i < 2 ? Eigen::Vector3d(U.col(order[0]).unitOrthogonal())
                  : Eigen::Vector3d(U.col(order[0]).cross(U.col(order[1])));
    }
    U.col(c) = u.normalized();
  }
  return U;
}

Eigen::Quaterniond on_the_side_of(const Eigen::Matrix3d& R, const Eigen::Quaterniond& previous) {
  Eigen::Quaterniond q(R);
  q.normalize();
  if (q.dot(previous) < 0) q.coeffs() = -q.coeffs();
  return q;
}

/// One bone while the frames go by.
struct BoneState {
  Stretch stretch;
  Eigen::Quaterniond rotation = Eigen::Quaterniond::Identity();
  Eigen::Quaterniond inner = Eigen::Quaterniond::Identity();
};

template <class Vector>
void push(std::vector<float>& out, const Vector& values) {
  for (Eigen::Index i = 0; i < values.size(); ++i) out.push_back(static_cast<float>(values[i]));
}

Eigen::Quaterniond last_quaternion(const std::vector<float>& track) {
  const std::size_t n = track.size();
  return Eigen::Quaterniond(track[n - 1], track[n - 4], track[n - 3], track[n - 2]).normalized();
}

/// Appends the frame of a bone whose node moves by `local`, and returns what a player makes of the numbers written.
Eigen::Affine3d append_frame(const Eigen::Affine3d& local, bool rigid, double noise, BoneState& state,
                             BoneTracks& out) {
  state.stretch = decompose(local.linear(), state.stretch, noise);
  const Stretch& d = state.stretch;
  const Eigen::Matrix3d turn = rigid ? Eigen::Matrix3d(d.U * d.V.transpose()) : d.U;
  state.rotation = on_the_side_of(turn, state.rotation);
  push(out.translation, local.translation());
  push(out.rotation, state.rotation.coeffs());
  Eigen::Affine3d written = Eigen::Affine3d::Identity();
  written.linear() = last_quaternion(out.rotation).toRotationMatrix();
  if (!rigid) {
    state.inner = on_the_side_of(d.V.transpose(), state.inner);
    push(out.scale, d.s);
    push(out.inner, state.inner.coeffs());
    written.linear() *= d.s.cast<float>().cast<double>().asDiagonal() * last_quaternion(out.inner).toRotationMatrix();
  }
  written.translation() = local.translation().cast<float>().cast<double>();
  return written;
}

}  // namespace

Stretch decompose(const Eigen::Matrix3d& A, const Stretch& previous, double noise) {
  Stretch out;
  out.V = previous.V;
  Eigen::Matrix3d B = A * out.V;
  for (int sweep = 0; sweep < 30; ++sweep) {
    bool turned = false;
    for (int i = 0; i < 2; ++i)
      for (int j = i + 1; j < 3; ++j) {
        const double alpha = B.col(i).squaredNorm();
        const double beta = B.col(j).squaredNorm();
        const double gamma = B.col(i).dot(B.col(j));
        if (std::abs(gamma) <= noise * std::sqrt(alpha * beta)) continue;  // near enough to orthogonal
        turned = true;
        const double zeta = (beta - alpha) / (2 * gamma);
        const double t = std::copysign(1 / (std::abs(zeta) + std::sqrt(1 + zeta * zeta)), zeta);
        const double c = 1 / std::sqrt(1 + t * t);
        const Eigen::JacobiRotation<double> turn(c, c * t);
        B.applyOnTheRight(i, j, turn);
        out.V.applyOnTheRight(i, j, turn);
      }
    if (!turned) break;
  }
  out.U = directions(B, previous.U);
  for (int i = 0; i < 3; ++i) out.s[i] = out.U.col(i).dot(B.col(i));
  if (out.U.determinant() < 0) {
    int flipped = 0;
    out.s.cwiseAbs().minCoeff(&flipped);
    for (int i = 0; i < 3; ++i)
      if (previous.s[i] < 0) flipped = i;
    out.U.col(flipped) *= -1;
    out.s[flipped] *= -1;
  }
  return out;
}

std::vector<Clip> clips_of(const Rig& rig) {
  if (rig.clips.empty()) return {{"motion", 0, rig.frame_count()}};
  std::size_t frame = 0;
  for (const Clip& clip : rig.clips) {
    if (clip.first_frame != frame || clip.frames == 0)
      throw Error(ErrorKind::input, fmt::format("rig: clip '{}' has {} frames from {}, expected at least one from {}",
                                                clip.name, clip.frames, clip.first_frame, frame));
    frame += clip.frames;
  }
  if (frame != rig.frame_count())
    throw Error(ErrorKind::input, fmt::format("rig: clips hold {} frames, there are {}", frame, rig.frame_count()));
  return rig.clips;
}

bool has_hierarchy(const Rig& rig) {
  std::vector<bool> holds(rig.bone_count(), false);
  for (const Bone& bone : rig.bones)
    if (bone.parent >= 0) holds[static_cast<std::size_t>(bone.parent)] = true;
  if (std::find(holds.begin(), holds.end(), true) == holds.end()) return false;
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b) {
      if (!holds[b] || rig.transforms == Transforms::rigid) continue;
      const Eigen::Vector3d s = decompose(rig.motion(f, b).leftCols<3>().cast<double>(), {}).s.cwiseAbs();
      if (!(s.minCoeff() > kParentCondition * s.maxCoeff())) return false;
    }
  return true;
}

Vector3 rest_translation(const Rig& rig, std::size_t bone, bool hierarchy) {
  const int parent = rig.bones[bone].parent;
  if (!hierarchy || parent < 0) return rig.bones[bone].head;
  return rig.bones[bone].head - rig.bones[static_cast<std::size_t>(parent)].head;
}

std::vector<BoneTracks> bone_tracks(const Rig& rig, bool hierarchy, double noise) {
  const std::size_t bones = rig.bone_count();
  const bool rigid = rig.transforms == Transforms::rigid;
  const double near = kRestTolerance * bounding_box_diagonal(rig.rest.positions);
  std::vector<BoneTracks> out(bones);
  std::vector<BoneState> states(bones);
  std::vector<Eigen::Affine3d> written(bones);
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < bones; ++b) {
      Eigen::Affine3d local = Eigen::Affine3d::Identity();
      local.affine() = rig.motion(f, b).cast<double>();
      local.translate(rig.bones[b].head.cast<double>());
      const int parent = hierarchy ? rig.bones[b].parent : -1;
      if (parent >= 0) local = written[static_cast<std::size_t>(parent)].inverse() * local;
      const Eigen::Vector3d rest = rest_translation(rig, b, hierarchy).cast<double>();
      if (parent >= 0 && (local.translation() - rest).norm() <= near) local.translation() = rest;
      written[b] = append_frame(local, rigid, noise, states[b], out[b]);
      if (parent >= 0) written[b] = written[static_cast<std::size_t>(parent)] * written[b];
    }
  return out;
}

}  // namespace sinew::gltf
