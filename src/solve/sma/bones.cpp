#include "solve/sma/bones.h"

#include "math/decompositions.h"
#include "math/parallel.h"
#include "math/rotation.h"

// Bones from their core triangles [JamesTwigg2005 §4.3, §4.4, appendix A].

namespace sinew::sma {
namespace {

constexpr double kFlexFloor = 1e-6;  // pull of a flexible bone towards the rigid one, relative to the cores' spread

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
      A = solve_symmetric(spread, Eigen::Matrix3d(cross.transpose())).transpose();
    }
  }
  Affine out;
  out.leftCols<3>() = A.cast<float>();
  out.col(3) = (posed - A * rest).cast<float>();
  return out;
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

}  // namespace

Affine core_transform(const Sequence& sequence, const Triangles& triangles, const std::vector<std::size_t>& core,
                      std::size_t f, Transforms transforms) {
  return bone_transform(core_moments(sequence, triangles, core, f), transforms);
}

Motion fit_bones(const Sequence& sequence, const Triangles& triangles, const Cores& cores, Transforms transforms,
                 int threads) {
  Motion motion(sequence.frame_count(), cores.bones());
  std::vector<std::vector<std::size_t>> core(cores.bones());
  for (std::size_t b = 0; b < cores.bones(); ++b) core[b] = core_of(cores, b);
  parallel_for(sequence.frame_count(), 1, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t f = begin; f < end; ++f) {
      for (std::size_t b = 0; b < cores.bones(); ++b)
        motion(f, b) = core_transform(sequence, triangles, core[b], f, transforms);
    }
  });
  return motion;
}

}  // namespace sinew::sma
