#include "math/rotation.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <Eigen/SVD>
#include <random>

#include "math/rotation_text.h"

namespace sinew {
namespace {

Eigen::Matrix3d random_3x3(std::mt19937& random) {
  std::normal_distribution<double> normal;
  return Eigen::Matrix3d::NullaryExpr([&] { return normal(random); });
}

/// The best tr(Rᵀ H) over rotations, from the singular values.
double best_trace(const Eigen::Matrix3d& H) {
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(H);
  const Eigen::Vector3d s = svd.singularValues();
  return s[0] + s[1] + (H.determinant() < 0 ? -s[2] : s[2]);
}

void expect_optimal_rotation(const Eigen::Matrix3d& R, const Eigen::Matrix3d& H, double best) {
  EXPECT_LT((R.transpose() * R - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_GT(R.determinant(), 0.99);
  EXPECT_NEAR((R.transpose() * H).trace(), best, 1e-12 * H.norm()) << H;
}

TEST(ClosestRotation, IsOptimalForRandomMatricesOfAnyScale) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 5000; ++trial) {
    const double scale = std::pow(10.0, trial % 41 - 20);
    const Eigen::Matrix3d H = scale * random_3x3(random);
    expect_optimal_rotation(closest_rotation(H), H, best_trace(H));
  }
}

TEST(ClosestRotation, IsOptimalWhereSingularValuesVanishOrCoincide) {
  std::mt19937 random(12);
  const std::vector<Eigen::Vector3d> spectra = {
      {1, 0, 0},  {1, 1, 0},  {1, 1, 1},         {1, 1e-9, 0},           {1, 1e-9, -1e-9}, {2, 1, 1},
      {2, 1, -1}, {1, 1, -1}, {1, 1, -1 + 1e-9}, {1, 0.5, -0.5 + 1e-13}, {3, 2, 1e-12}};
  for (int trial = 0; trial < 300; ++trial) {
    const Eigen::Matrix3d U = closest_rotation(random_3x3(random));
    const Eigen::Matrix3d W = closest_rotation(random_3x3(random));
    for (const Eigen::Vector3d& s : spectra) {
      const Eigen::Matrix3d H = U * s.asDiagonal() * W.transpose();
      expect_optimal_rotation(closest_rotation(H), H, s.sum());
    }
  }
}

TEST(ClosestRotation, KeepsThePreviousOneWhereNothingIsKnown) {
  const Eigen::Matrix3d previous = Eigen::AngleAxisd(0.7, Eigen::Vector3d(1, 2, 3).normalized()).toRotationMatrix();
  EXPECT_TRUE(closest_rotation(Eigen::Matrix3d::Zero(), previous) == previous);
  // A single direction: the previous rotation about that direction stays.
  const Eigen::Vector3d p(0.2, -1, 0.5);
  const Eigen::Matrix3d H = (previous * p) * p.transpose();
  EXPECT_LT(rotation_angle(closest_rotation(H, previous), previous), 1e-6);
}

TEST(ClosestRotation, TheTextForGpusIsOptimalToo) {
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    Eigen::Matrix3d H = random_3x3(random);
    if (i % 3 == 0) H.col(2) = 1e-9 * H.col(1);
    if (i % 5 == 0) H.row(1).setZero();
    Eigen::Matrix3d R, near;
    rotation::closest(H.data(), R.data());
    expect_optimal_rotation(R, H, best_trace(H));
    const Eigen::Matrix3d nothing = Eigen::Matrix3d::Zero();
    rotation::closest(nothing.data(), R.data(), near.data());
    EXPECT_EQ(near, R);
  }
}

TEST(FitRigid, RecoversAMotionFromMoments) {
  std::mt19937 random(13);
  const Eigen::Matrix3d R = closest_rotation(random_3x3(random));
  const Eigen::Vector3d t(3, -2, 0.5);
  Eigen::Vector3d sum_p = Eigen::Vector3d::Zero(), sum_q = sum_p;
  Eigen::Matrix3d sum_qp = Eigen::Matrix3d::Zero();
  double sum_w = 0;
  for (int i = 0; i < 5; ++i) {
    const Eigen::Vector3d p = random_3x3(random).col(0);
    const Eigen::Vector3d q = R * p + t;
    const double w = 0.5 + i;
    sum_p += w * p, sum_q += w * q, sum_qp += w * q * p.transpose(), sum_w += w;
  }
  const RigidFit fit = fit_rigid(sum_p, sum_q, sum_qp, sum_w);
  EXPECT_LT((fit.R - R).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_LT((fit.t - t).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(RotationAngle, IsPreciseNearZeroAndPi) {
  const Eigen::Vector3d axis = Eigen::Vector3d(1, -2, 0.5).normalized();
  for (const double angle : {1e-9, 1e-4, 1.0, 3.14159}) {
    const Eigen::Matrix3d R = Eigen::AngleAxisd(angle, axis).toRotationMatrix();
    EXPECT_NEAR(rotation_angle(Eigen::Matrix3d::Identity(), R), angle, 1e-12);
  }
}

}  // namespace
}  // namespace sinew
