#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <cmath>
#include <map>
#include <numeric>

#include "sinew/math/parallel.h"
#include "sinew/math/rotation.h"
#include "solve/sma_parts.h"

// Bones from triangles [JamesTwigg2005 §4, appendix A].
//
//   z_j  rotations of triangle j over the frames, a point of 9F numbers
//   h    9Fε, the paper's bandwidth in the 1-norm

namespace sinew::sma {
namespace {

constexpr std::size_t kTrianglesPerChunk = 256;
constexpr double kSliver = 1e-7;     // twice the area over the longest edge squared below which there is no plane
constexpr double kKernel = 0.95;     // radius of the kernel in h; see docs/algorithms/sma.md, "The window"
constexpr double kPartShare = 0.05;  // of all triangles that a part needs to become a bone of its own
constexpr double kFlexFloor = 1e-6;  // pull of a flexible bone towards the rigid one, relative to the cores' spread

/// An orthonormal frame on a triangle, and its second and third corner in the plane.
struct TriangleFrame {
  Eigen::Matrix3d axes;    // first edge, in-plane normal of it, unit normal
  Eigen::Matrix2d corner;  // columns: corners 2 and 3 relative to corner 1
  double double_area = 0;
  bool flat = true;  // no area to speak of
};

template <class P>
TriangleFrame triangle_frame(const P& points, const std::array<Index, 3>& corners) {
  TriangleFrame frame;
  const Eigen::Vector3d origin = points.col(corners[0]).template cast<double>();
  const Eigen::Vector3d first = points.col(corners[1]).template cast<double>() - origin;
  const Eigen::Vector3d second = points.col(corners[2]).template cast<double>() - origin;
  const Eigen::Vector3d normal = first.cross(second);
  frame.double_area = normal.norm();
  const double longest = std::max({first.squaredNorm(), second.squaredNorm(), (second - first).squaredNorm()});
  frame.flat = !(frame.double_area > kSliver * longest);
  if (frame.flat) return frame;
  frame.axes.col(0) = first.normalized();
  frame.axes.col(2) = normal / frame.double_area;
  frame.axes.col(1) = frame.axes.col(2).cross(frame.axes.col(0));
  frame.corner << first.norm(), frame.axes.col(0).dot(second), 0, frame.axes.col(1).dot(second);
  return frame;
}

/// The rotation in the polar decomposition of the deformation gradient that takes `rest` to `posed` (§4.1). Normals go
/// to normals unstretched, so the gradient is a 2×2 map M in the planes, and its polar rotation has tangent
/// (M₁₀ − M₀₁) / (M₀₀ + M₁₁).
Eigen::Matrix3d rotation_between(const TriangleFrame& rest, const TriangleFrame& posed) {
  const Eigen::Matrix2d M = posed.corner * rest.corner.inverse();
  const Eigen::Vector2d turn = Eigen::Vector2d(M(0, 0) + M(1, 1), M(1, 0) - M(0, 1)).normalized();
  Eigen::Matrix3d R = Eigen::Matrix3d::Identity();
  R(0, 0) = R(1, 1) = turn[0];
  R(1, 0) = turn[1];
  R(0, 1) = -turn[1];
  return posed.axes * R * rest.axes.transpose();
}

/// Sums over the core triangles of one bone: areas, centroids and their products.
struct CoreMoments {
  double area = 0;
  Eigen::Vector3d rest = Eigen::Vector3d::Zero();       // Σ a c̄
  Eigen::Vector3d posed = Eigen::Vector3d::Zero();      // Σ a c
  Eigen::Matrix3d rest_rest = Eigen::Matrix3d::Zero();  // Σ a c̄ c̄ᵀ
  Eigen::Matrix3d posed_rest = Eigen::Matrix3d::Zero();
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Zero();  // Σ a R
};

/// Rigid: the mean rotation projected on SO(3), then the best translation (§4.3). Flexible: least squares for all
/// twelve numbers (appendix A), held to the rigid bone in directions that the cores do not span.
Affine bone_transform(const CoreMoments& m, Transforms transforms) {
  const Eigen::Vector3d rest = m.rest / m.area;
  const Eigen::Vector3d posed = m.posed / m.area;
  Eigen::Matrix3d A = closest_rotation(m.rotation / m.area);
  if (transforms == Transforms::affine) {
    Eigen::Matrix3d spread = m.rest_rest / m.area - rest * rest.transpose();
    Eigen::Matrix3d cross = m.posed_rest / m.area - posed * rest.transpose();
    const double pull = kFlexFloor * spread.trace();
    if (pull > 0) {
      spread.diagonal().array() += pull;
      cross += pull * A;
      A = spread.ldlt().solve(cross.transpose()).transpose();
    }
  }
  Affine out;
  out.leftCols<3>() = A.cast<float>();
  out.col(3) = (posed - A * rest).cast<float>();
  return out;
}

template <class P>
Eigen::Vector3d centroid(const P& points, const std::array<Index, 3>& corners) {
  return ((points.col(corners[0]) + points.col(corners[1]) + points.col(corners[2])).template cast<double>()) / 3;
}

std::vector<std::size_t> core_of(const Cores& cores, std::size_t b) {
  std::vector<std::size_t> core;
  for (std::size_t j = 0; j < cores.bone_of.size(); ++j) {
    if (cores.bone_of[j] == static_cast<int>(b)) core.push_back(j);
  }
  return core;
}

CoreMoments core_moments(const Sequence& sequence, const Triangles& triangles, const std::vector<std::size_t>& core,
                         std::size_t f) {
  CoreMoments m;
  for (const std::size_t j : core) {
    const double a = triangles.areas[j];
    const Eigen::Vector3d rest = centroid(sequence.rest.positions, triangles.corners[j]);
    const Eigen::Vector3d posed = centroid(sequence.frames[f], triangles.corners[j]);
    m.area += a;
    m.rest += a * rest;
    m.posed += a * posed;
    m.rest_rest += a * rest * rest.transpose();
    m.posed_rest += a * posed * rest.transpose();
    m.rotation += a * Eigen::Map<const Eigen::Matrix<float, 3, 3, Eigen::RowMajor>>(
                          &triangles.rotations(static_cast<Eigen::Index>(j), static_cast<Eigen::Index>(9 * f)))
                          .cast<double>();
  }
  return m;
}

/// The connected parts of a core, by falling area. Triangles that share a vertex are connected.
std::vector<std::vector<std::size_t>> connected_parts(const Triangles& triangles,
                                                      const std::vector<std::size_t>& core) {
  std::map<Index, std::size_t> root_of;  // vertex → position in `parent`
  std::vector<std::size_t> parent(core.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto find = [&](std::size_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (std::size_t i = 0; i < core.size(); ++i) {
    for (const Index v : triangles.corners[core[i]]) {
      const auto [at, fresh] = root_of.try_emplace(v, i);
      if (!fresh) parent[std::max(find(i), find(at->second))] = std::min(find(i), find(at->second));
    }
  }
  std::map<std::size_t, std::pair<double, std::vector<std::size_t>>> groups;
  for (std::size_t i = 0; i < core.size(); ++i) {
    auto& [area, group] = groups[find(i)];
    area -= triangles.areas[core[i]];
    group.push_back(core[i]);
  }
  std::vector<std::pair<double, std::vector<std::size_t>>> sorted;
  for (auto& [root, group] : groups) sorted.push_back(std::move(group));
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::vector<std::size_t>> out;
  for (auto& [area, group] : sorted) out.push_back(std::move(group));
  return out;
}

/// Mean squared distance of a part's centroids from where the rigid motion of a core puts them.
double misfit(const Sequence& sequence, const Triangles& triangles, const std::vector<Affine>& rigid,
              const std::vector<std::size_t>& part) {
  double sum = 0;
  double area = 0;
  for (std::size_t f = 0; f < rigid.size(); ++f) {
    for (const std::size_t j : part) {
      const Eigen::Vector3d rest = centroid(sequence.rest.positions, triangles.corners[j]);
      const Eigen::Vector3d posed = centroid(sequence.frames[f], triangles.corners[j]);
      const Eigen::Vector3d predicted = rigid[f].leftCols<3>().cast<double>() * rest + rigid[f].col(3).cast<double>();
      sum += triangles.areas[j] * (posed - predicted).squaredNorm();
      area += triangles.areas[j];
    }
  }
  return sum / area;
}

/// Cores that one rotation cluster falls into.
struct Parts {
  std::vector<std::vector<std::size_t>> cores;
};

/// Triangles that turn alike need not move alike. The largest connected part takes in the others that its rigid motion
/// carries along within the tolerance; of what is left the next largest does the same, as long as it is significant.
Parts split_core(const Sequence& sequence, const Triangles& triangles, const std::vector<std::size_t>& core,
                 double epsilon) {
  Parts out;
  std::vector<std::vector<std::size_t>> parts = connected_parts(triangles, core);
  const double significant = kPartShare * static_cast<double>(triangles.corners.size());
  while (!parts.empty()) {
    std::vector<std::size_t> main = parts.front();
    if (!out.cores.empty() && static_cast<double>(main.size()) < significant) break;
    std::vector<Affine> rigid;
    for (std::size_t f = 0; f < sequence.frame_count(); ++f)
      rigid.push_back(bone_transform(core_moments(sequence, triangles, main, f), Transforms::rigid));
    Eigen::AlignedBox3d box;
    for (const std::size_t j : main) box.extend(centroid(sequence.rest.positions, triangles.corners[j]));
    const double tolerance = epsilon * box.diagonal().norm();
    std::vector<std::vector<std::size_t>> left;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (misfit(sequence, triangles, rigid, parts[i]) <= tolerance * tolerance) {
        main.insert(main.end(), parts[i].begin(), parts[i].end());
      } else {
        left.push_back(std::move(parts[i]));
      }
    }
    std::sort(main.begin(), main.end());
    out.cores.push_back(std::move(main));
    parts = std::move(left);
  }
  return out;
}

}  // namespace

Triangles triangle_rotations(const Sequence& sequence, int threads) {
  const std::vector<Index> corners = triangles_of(sequence.rest);
  const std::size_t count = corners.size() / 3;
  const std::size_t frames = sequence.frame_count();
  PointRows rotations(static_cast<Eigen::Index>(count), static_cast<Eigen::Index>(9 * frames));
  std::vector<double> areas(count, 0);  // 0: degenerate
  const auto corners_of = [&](std::size_t j) {
    return std::array<Index, 3>{corners[3 * j], corners[3 * j + 1], corners[3 * j + 2]};
  };
  parallel_for(count, kTrianglesPerChunk, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) {
      const TriangleFrame rest = triangle_frame(sequence.rest.positions, corners_of(j));
      bool usable = !rest.flat;
      for (std::size_t f = 0; f < frames && usable; ++f) {
        const TriangleFrame posed = triangle_frame(sequence.frames[f], corners_of(j));
        usable = !posed.flat;
        if (!usable) break;
        Eigen::Map<Eigen::Matrix<float, 3, 3, Eigen::RowMajor>>(
            &rotations(static_cast<Eigen::Index>(j), static_cast<Eigen::Index>(9 * f))) =
            rotation_between(rest, posed).cast<float>();
      }
      if (usable) areas[j] = rest.double_area / 2;
    }
  });

  Triangles out;
  std::size_t kept = 0;
  for (std::size_t j = 0; j < count; ++j) {
    if (areas[j] <= 0) continue;
    if (kept != j) rotations.row(static_cast<Eigen::Index>(kept)) = rotations.row(static_cast<Eigen::Index>(j));
    ++kept;
    out.corners.push_back(corners_of(j));
    out.areas.push_back(areas[j]);
  }
  out.degenerate = count - kept;
  rotations.conservativeResize(static_cast<Eigen::Index>(kept), Eigen::NoChange);
  out.rotations = std::move(rotations);
  return out;
}

std::size_t significant_size(std::size_t triangles) {
  const auto n = static_cast<double>(triangles);
  return static_cast<std::size_t>(std::ceil(std::max(0.003 * n, std::min(50.0, 0.02 * n))));
}

Cores find_cores(const Triangles& triangles, double epsilon, int threads, const Progress& progress) {
  const double h = epsilon * static_cast<double>(triangles.rotations.cols());
  MeanShiftOptions shift;
  shift.bandwidth = kKernel * h;
  shift.period = 9;
  shift.threads = threads;
  const MeanShift shifted = mean_shift(triangles.rotations, shift, progress);
  ModeOptions modes;
  modes.bandwidth = h;
  modes.min_points = significant_size(triangles.corners.size());
  const Modes found = find_modes(shifted, modes);

  Cores cores;
  cores.epsilon = epsilon;
  cores.bone_of = found.mode_of;
  cores.steps = shifted.steps;
  cores.near_rigid_fraction =
      static_cast<double>(std::count_if(found.mode_of.begin(), found.mode_of.end(), [](int b) { return b >= 0; })) /
      static_cast<double>(std::max<std::size_t>(1, found.mode_of.size()));
  cores.sizes.assign(found.ends.size(), 0);
  for (const int b : cores.bone_of) {
    if (b >= 0) ++cores.sizes[static_cast<std::size_t>(b)];
  }
  return cores;
}

Cores separate_parts(const Sequence& sequence, const Triangles& triangles, const Cores& cores, int threads) {
  std::vector<Parts> parts(cores.bones());
  parallel_for(cores.bones(), 1, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      parts[b] = split_core(sequence, triangles, core_of(cores, b), cores.epsilon);
  });
  Cores out = cores;
  out.sizes.clear();
  std::fill(out.bone_of.begin(), out.bone_of.end(), -1);
  for (const Parts& part : parts) {
    for (const std::vector<std::size_t>& core : part.cores) {
      for (const std::size_t j : core) out.bone_of[j] = static_cast<int>(out.sizes.size());
      out.sizes.push_back(core.size());
    }
  }
  return out;
}

Motion fit_bones(const Sequence& sequence, const Triangles& triangles, const Cores& cores, Transforms transforms,
                 int threads) {
  Motion motion(sequence.frame_count(), cores.bones());
  std::vector<std::vector<std::size_t>> core(cores.bones());
  for (std::size_t b = 0; b < cores.bones(); ++b) core[b] = core_of(cores, b);
  parallel_for(sequence.frame_count(), 1, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t f = begin; f < end; ++f) {
      for (std::size_t b = 0; b < cores.bones(); ++b)
        motion(f, b) = bone_transform(core_moments(sequence, triangles, core[b], f), transforms);
    }
  });
  return motion;
}

}  // namespace sinew::sma
