#include "sinew/core/rig.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/index.h"
#include "core/motion_check.h"
#include "core/refuse.h"
#include "core/timeline.h"
#include "sinew/core/bounds.h"

namespace sinew {
namespace {

constexpr double kRotationTolerance = 1e-5;
constexpr double kJointTolerance = 1e-4;  // of the rest diagonal

void check_weights(const SkinWeights& weights, std::size_t vertices, std::size_t bones) {
  const auto slots = static_cast<std::size_t>(weights.influences);
  if (weights.influences < 1) refuse("rig: weights have no influence slots");
  if (weights.values.size() != vertices * slots || weights.bones.size() != vertices * slots)
    refuse(fmt::format("rig: weights for {} vertices, the mesh has {}", weights.vertex_count(), vertices));
  for (std::size_t v = 0; v < vertices; ++v) {
    const float* value = weights.values.data() + v * slots;
    const Index* bone = weights.bones.data() + v * slots;
    double sum = 0;
    for (std::size_t k = 0; k < slots; ++k) {
      if (!(value[k] >= 0) || !std::isfinite(value[k]))
        refuse(fmt::format("rig: vertex {} has weight {}", v, value[k]));
      if (bone[k] >= bones) refuse(fmt::format("rig: vertex {} refers to bone {}, there are {}", v, bone[k], bones));
      if (!(value[k] > 0) && bone[k] != 0)
        refuse(fmt::format("rig: vertex {} has bone {} in an unused slot, expected bone 0", v, bone[k]));
      if (k > 0 && value[k] > value[k - 1]) refuse(fmt::format("rig: weights of vertex {} are not sorted", v));
      for (std::size_t j = 0; j < k && value[k] > 0; ++j)
        if (bone[j] == bone[k]) refuse(fmt::format("rig: vertex {} refers to bone {} twice", v, bone[k]));
      sum += value[k];
    }
    if (std::abs(sum - 1) > 1e-6 * std::max<double>(1, weights.influences))
      refuse(fmt::format("rig: weights of vertex {} sum to {}", v, sum));
  }
}

void check_motion(const Rig& rig) {
  const double diagonal = bounding_box_diagonal(rig.rest.positions);
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b) {
      const auto refuse_bone = [&](const char* what) {
        refuse(fmt::format("rig: frame {}, bone {} '{}'{}", f, b, rig.bones[b].name, what));
      };
      if (!rig.motion(f, b).allFinite()) refuse_bone(": transform is not finite");
      if (rig.transforms == Transforms::rigid && !is_rotation(rig.motion(f, b)))
        refuse_bone(": transform is not rigid");
      if (rig.jointed && !joint_holds(rig, f, b, diagonal)) refuse_bone(" leaves its joint");
    }
}

void check_bones(const std::vector<Bone>& bones) {
  for (std::size_t b = 0; b < bones.size(); ++b) {
    if (bones[b].parent < -1 || bones[b].parent >= static_cast<int>(b))
      refuse(fmt::format("rig: bone {} '{}' has parent {}, parents come first", b, bones[b].name, bones[b].parent));
    if (bones[b].parent >= 0 && bones[static_cast<std::size_t>(bones[b].parent)].helper)
      refuse(fmt::format("rig: bone {} '{}' hangs on a helper", b, bones[b].name));
    if (!bones[b].head.allFinite() || !bones[b].tail.allFinite())
      refuse(fmt::format("rig: bone {} '{}': its head or tail is not finite", b, bones[b].name));
  }
}

void check_corrections(const Corrections& c, std::size_t frames, Eigen::Index vertices) {
  if (c.coefficients.rows() != index(frames) || c.coefficients.cols() != index(c.rank()))
    refuse(fmt::format("rig: correction coefficients are {}×{}, expected {}×{}", c.coefficients.rows(),
                       c.coefficients.cols(), frames, c.rank()));
  if (!c.normal_offsets.empty() && c.normal_offsets.size() != c.rank())
    refuse(fmt::format("rig: {} normal corrections, expected {}", c.normal_offsets.size(), c.rank()));
  for (const auto* offsets : {&c.offsets, &c.normal_offsets})
    for (const Points& offset : *offsets)
      if (offset.cols() != vertices || !offset.allFinite())
        refuse("rig: a correction does not fit the mesh or is not finite");
  if (!c.coefficients.allFinite()) refuse("rig: a correction coefficient is not finite");
}

}  // namespace

bool is_rotation(const Affine& transform) {
  const Eigen::Matrix3d A = transform.leftCols<3>().cast<double>();
  return (A.transpose() * A - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff() <= kRotationTolerance &&
         A.determinant() > 0;
}

std::string fault_of(const std::vector<HelperDrive>& drives, const std::vector<Bone>& bones) {
  std::vector<bool> driven(bones.size(), false);
  for (const HelperDrive& drive : drives) {
    if (drive.bone >= bones.size() || !bones[drive.bone].helper || bones[drive.bone].parent < 0 || driven[drive.bone])
      return fmt::format("a drive is of bone {}, which is no helper or has one already", drive.bone);
    driven[drive.bone] = true;
    bool finite = drive.constant.allFinite();
    for (const HelperDrive::Input& input : drive.inputs) {
      if (input.joint >= bones.size() || bones[input.joint].parent < 0 || bones[input.joint].helper)
        return fmt::format("the drive of '{}' follows bone {}, which is no joint", bones[drive.bone].name, input.joint);
      finite = finite && input.by.allFinite();
    }
    if (!finite) return fmt::format("the drive of '{}' is not finite", bones[drive.bone].name);
  }
  return "";
}

bool joint_holds(const Rig& rig, std::size_t f, std::size_t b, double diagonal) {
  if (rig.bones[b].parent < 0 || rig.bones[b].helper) return true;
  const Eigen::Matrix<double, 3, 4> T = rig.motion(f, b).cast<double>();
  const Eigen::Matrix<double, 3, 4> P = rig.motion(f, static_cast<std::size_t>(rig.bones[b].parent)).cast<double>();
  const Eigen::Vector4d head = rig.bones[b].head.cast<double>().homogeneous();
  // Far from the origin the float matrices alone leave more than the tolerance.
  const double rounding = 4e-7 * (head.head<3>().norm() + T.col(3).norm() + P.col(3).norm());
  return (T * head - P * head).norm() <= kJointTolerance * diagonal + rounding;
}

int used_influences(const SkinWeights& weights) {
  const auto slots = static_cast<std::size_t>(weights.influences);
  int most = 0;
  for (std::size_t v = 0; v < weights.vertex_count(); ++v) {
    const auto row = weights.values.begin() + static_cast<std::ptrdiff_t>(v * slots);
    most =
        std::max(most, static_cast<int>(std::count_if(row, row + weights.influences, [](float w) { return w > 0; })));
  }
  return most;
}

SkinWeights pack_weights(
    const Eigen::Ref<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>& dense,
    int influences) {
  const auto vertices = static_cast<std::size_t>(dense.rows());
  if (influences == 0) {
    influences = 1;
    for (Eigen::Index v = 0; v < dense.rows(); ++v)
      influences = std::max(influences, static_cast<int>((dense.row(v).array() > 0).count()));
  }
  const auto slots = static_cast<std::size_t>(influences);
  SkinWeights out{influences, std::vector<Index>(vertices * slots, 0), std::vector<float>(vertices * slots, 0.0F)};
  std::vector<Index> order(static_cast<std::size_t>(dense.cols()));
  for (std::size_t v = 0; v < vertices; ++v) {
    const auto row = dense.row(index(v));
    std::iota(order.begin(), order.end(), Index{0});
    const std::size_t kept = std::min(slots, order.size());
    // Ties go to the lower bone, so that the result does not depend on the sort.
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                      [&](Index a, Index b) { return row[a] != row[b] ? row[a] > row[b] : a < b; });
    double sum = 0;
    for (std::size_t k = 0; k < kept; ++k) sum += std::max(0.0, row[order[k]]);
    if (!(sum > 0)) {
      out.values[v * slots] = 1;
      continue;
    }
    for (std::size_t k = 0; k < kept; ++k) {
      const auto value = static_cast<float>(std::max(0.0, row[order[k]]) / sum);
      if (!(value > 0)) break;
      out.bones[v * slots + k] = order[k];
      out.values[v * slots + k] = value;
    }
  }
  return out;
}

Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> unpack_weights(const SkinWeights& weights,
                                                                                     std::size_t bones) {
  Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> dense =
      Eigen::MatrixXf::Zero(index(weights.vertex_count()), index(bones));
  const auto slots = static_cast<std::size_t>(weights.influences);
  for (std::size_t i = 0; i < weights.values.size(); ++i)
    dense(index(i / slots), weights.bones[i]) += weights.values[i];
  return dense;
}

void Rig::check() const {
  rest.check("rig: rest mesh");
  if (bones.empty()) refuse("rig: no bones");
  if (motion.bone_count() != bones.size())
    refuse(fmt::format("rig: motion of {} bones, there are {}", motion.bone_count(), bones.size()));
  check_timeline("rig", times, clips, frame_count());
  check_bones(bones);
  if (const std::string fault = fault_of(drives, bones); !fault.empty()) refuse("rig: " + fault);
  check_weights(weights, vertex_count(), bone_count());
  check_motion(*this);
  if (two_layer) two_layer->check(vertex_count(), bone_count());
  if (corrections) check_corrections(*corrections, frame_count(), rest.positions.cols());
}

namespace {

using Affined = Eigen::Matrix<double, 3, 4>;

/// Transforms of the bones that the vertices refer to: the rig's own, or the virtual ones of the first layer.
std::vector<Affined> blended_bones(const Rig& rig, std::size_t frame) {
  std::vector<Affined> bones(rig.bone_count());
  for (std::size_t b = 0; b < bones.size(); ++b) bones[b] = rig.motion(frame, b).cast<double>();
  if (!rig.two_layer) return bones;
  const BlendRows& D = rig.two_layer->dictionary;
  const auto slots = static_cast<std::size_t>(D.slots);
  std::vector<Affined> virtual_bones(D.row_count(), Affined::Zero());
  for (std::size_t i = 0; i < D.values.size(); ++i)
    virtual_bones[i / slots] += static_cast<double>(D.values[i]) * bones[D.columns[i]];
  return virtual_bones;
}

/// A position or normal at rest plus its offsets times the coefficients of a frame.
Eigen::Vector3d corrected(const Rig& rig, std::size_t frame, const Vector3& rest, const std::vector<Points>& offsets,
                          Eigen::Index v) {
  Eigen::Vector3d p = rest.cast<double>();
  for (std::size_t r = 0; r < offsets.size(); ++r)
    p += static_cast<double>(rig.corrections->coefficients(index(frame), index(r))) * offsets[r].col(v).cast<double>();
  return p;
}

/// Calls `each(v, T)` with the blended transform of every vertex.
template <class Each>
void for_each_blend(const Rig& rig, std::size_t frame, const Each& each) {
  const std::vector<Affined> bones = blended_bones(rig, frame);
  const std::vector<Index>& bone = rig.two_layer ? rig.two_layer->coefficients.columns : rig.weights.bones;
  const std::vector<float>& value = rig.two_layer ? rig.two_layer->coefficients.values : rig.weights.values;
  const auto slots =
      static_cast<std::size_t>(rig.two_layer ? rig.two_layer->coefficients.slots : rig.weights.influences);
  for (std::size_t v = 0; v < rig.vertex_count(); ++v) {
    Affined T = Affined::Zero();
    for (std::size_t i = v * slots; i < (v + 1) * slots; ++i)
      if (value[i] != 0) T += static_cast<double>(value[i]) * bones[bone[i]];
    each(index(v), T);
  }
}

}  // namespace

void pose(const Rig& rig, std::size_t frame, Eigen::Ref<Points> out) {
  const std::vector<Points> none;
  const std::vector<Points>& offsets = rig.corrections ? rig.corrections->offsets : none;
  for_each_blend(rig, frame, [&](Eigen::Index v, const Affined& T) {
    const Eigen::Vector3d p = corrected(rig, frame, rig.rest.positions.col(v), offsets, v);
    out.col(v) = (T.leftCols<3>() * p + T.col(3)).cast<float>();
  });
}

void pose_normals(const Rig& rig, std::size_t frame, const Eigen::Ref<const Points>& rest, Eigen::Ref<Points> out) {
  const std::vector<Points> none;
  const std::vector<Points>& offsets = rig.corrections ? rig.corrections->normal_offsets : none;
  for_each_blend(rig, frame, [&](Eigen::Index v, const Affined& T) {
    const Eigen::Vector3d n = T.leftCols<3>() * corrected(rig, frame, rest.col(v), offsets, v);
    const double length = n.norm();
    out.col(v) = length > 0 ? Vector3((n / length).cast<float>()) : Vector3(Vector3::Zero());
  });
}

Rig select_frames(const Rig& rig, const std::vector<std::size_t>& frames) {
  Rig out = rig;
  out.motion = Motion(frames.size(), rig.bone_count());
  out.times.clear();
  for (std::size_t i = 0; i < frames.size(); ++i) {
    for (std::size_t b = 0; b < rig.bone_count(); ++b) out.motion(i, b) = rig.motion(frames[i], b);
    if (rig.corrections)
      out.corrections->coefficients.row(index(i)) = rig.corrections->coefficients.row(index(frames[i]));
    out.times.push_back(rig.times[frames[i]]);
  }
  if (rig.corrections) out.corrections->coefficients.conservativeResize(index(frames.size()), Eigen::NoChange);
  out.clips = cut_clips(rig.clips, frames);
  return out;
}

Sequence pose_all(const Rig& rig) {
  Sequence out{"rig", rig.rest, Frames(rig.frame_count(), rig.vertex_count()), rig.times, rig.clips};
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    PointsMap frame = out.frames[f];
    pose(rig, f, frame);
  }
  return out;
}

}  // namespace sinew
