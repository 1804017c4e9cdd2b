#pragma once

#include <Eigen/Geometry>
#include <random>

#include "sinew/core/bounds.h"
#include "sinew/core/rig.h"

/// Rigs for the glTF tests: asymmetric, non-identity, with rest poses far from the origin.
namespace sinew::test {

/// A closed box of quads, subdivided `n` times along x: bent tube-like, V = 4·(n+1).
inline Mesh bar_mesh(int n) {
  Mesh mesh;
  mesh.positions.resize(3, 4 * (n + 1));
  for (int i = 0; i <= n; ++i)
    for (int j = 0; j < 4; ++j) {
      const float y = j == 0 || j == 3 ? -0.4F : 0.5F;
      const float z = j < 2 ? -0.3F : 0.35F + 0.01F * static_cast<float>(i);
      mesh.positions.col(4 * i + j) = Vector3(0.5F * static_cast<float>(i) + 3.0F, y + 1.0F, z - 2.0F);
    }
  const auto quad = [&](int a, int b, int c, int d) {
    mesh.face_sizes.push_back(4);
    for (const int v : {a, b, c, d}) mesh.corners.push_back(static_cast<Index>(v));
  };
  quad(0, 3, 2, 1);
  quad(4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < 4; ++j) {
      const int k = (j + 1) % 4;
      quad(4 * i + j, 4 * i + k, 4 * i + 4 + k, 4 * i + 4 + j);
    }
  return mesh;
}

/// B free bones with K random influences per vertex and F random frames.
inline Rig random_rig(int n, int bones, int influences, int frames, Transforms transforms, unsigned seed = 5) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> real(-1, 1);
  Rig rig;
  rig.rest = bar_mesh(n);
  rig.transforms = transforms;
  for (int b = 0; b < bones; ++b) {
    const Vector3 head(3.0F + 0.5F * static_cast<float>(n) * static_cast<float>(b) / static_cast<float>(bones),
                       1.0F + 0.1F * real(random), -2.0F);
    rig.bones.push_back({"bone " + std::to_string(b), -1, head, head + Vector3(0.3F, real(random), 0.1F)});
  }
  const auto V = static_cast<Eigen::Index>(rig.vertex_count());
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> dense(V, bones);
  for (Eigen::Index v = 0; v < V; ++v)
    for (Eigen::Index b = 0; b < bones; ++b) dense(v, b) = 0.05 + static_cast<double>(std::abs(real(random)));
  rig.weights = pack_weights(dense, influences);
  rig.motion = Motion(static_cast<std::size_t>(frames), static_cast<std::size_t>(bones));
  for (int f = 0; f < frames; ++f)
    for (int b = 0; b < bones; ++b) {
      const Vector3 axis = Vector3(real(random), real(random), real(random) + 0.01F).normalized();
      Eigen::Matrix3f A = Eigen::AngleAxisf(2.5F * real(random), axis).toRotationMatrix();
      if (transforms == Transforms::affine) {
        Eigen::Matrix3f shear = Eigen::Matrix3f::Identity();
        for (int i = 0; i < 9; ++i) shear(i / 3, i % 3) += 0.3F * real(random);
        A *= shear;
      }
      const Vector3 head = rig.bones[static_cast<std::size_t>(b)].head;
      Affine& T = rig.motion(static_cast<std::size_t>(f), static_cast<std::size_t>(b));
      T.leftCols<3>() = A;
      T.col(3) = head + Vector3(real(random), real(random), real(random)) - A * head;
    }
  rig.times = uniform_times(static_cast<std::size_t>(frames));
  return rig;
}

/// A chain of jointed bones: each turns about its own head, which its parent carries.
inline Rig chain_rig(int n, int bones, int frames, unsigned seed = 9) {
  Rig rig = random_rig(n, bones, 4, frames, Transforms::rigid, seed);
  rig.jointed = true;
  std::mt19937 random(seed + 1);
  std::uniform_real_distribution<float> real(-1, 1);
  for (int b = 0; b < bones; ++b) rig.bones[static_cast<std::size_t>(b)].parent = b == 3 ? 1 : b - 1;
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 1; b < rig.bone_count(); ++b) {
      const auto parent = static_cast<std::size_t>(rig.bones[b].parent);
      const Eigen::Matrix3d turn =
          Eigen::AngleAxisd(0.7 * static_cast<double>(real(random)), Eigen::Vector3d(0.36, 0.48, 0.8))
              .toRotationMatrix();
      Eigen::Affine3d local = Eigen::Affine3d::Identity();
      local.translate(rig.bones[b].head.cast<double>()).rotate(turn).translate(-rig.bones[b].head.cast<double>());
      Eigen::Affine3d above = Eigen::Affine3d::Identity();
      above.affine() = rig.motion(f, parent).cast<double>();
      rig.motion(f, b) = (above * local).affine().cast<float>();
    }
  return rig;
}

/// Largest distance between two rigs posed, over the diagonal of the first's rest.
inline double largest_difference(const Rig& a, const Rig& b) {
  const double diagonal =
      (a.rest.positions.rowwise().maxCoeff() - a.rest.positions.rowwise().minCoeff()).cast<double>().norm();
  double largest = 0;
  Points pa(3, a.rest.positions.cols());
  Points pb(3, b.rest.positions.cols());
  for (std::size_t f = 0; f < a.frame_count(); ++f) {
    pose(a, f, pa);
    pose(b, f, pb);
    largest = std::max(largest, (pa - pb).cast<double>().colwise().norm().maxCoeff() / diagonal);
  }
  return largest;
}

}  // namespace sinew::test
