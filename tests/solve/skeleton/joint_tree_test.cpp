#include "solve/skeleton/joint_tree.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <random>

namespace sinew {
namespace {

using namespace skeleton;

/// A planted skeleton with random weights and motion, and the Gram products of its exact animation.
struct Planted {
  JointTree tree;
  JointPoses poses;
  Eigen::MatrixXd X;                // 4B×V
  Eigen::MatrixXd S;                // 4B×4B
  std::vector<Eigen::Matrix3Xd> C;  // F of 3×4B
  double energy = 0;                // Σ |V|²
};

Planted plant(int bones, int frames, double bend, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const auto vector = [&] { return Eigen::Vector3d(normal(random), normal(random), normal(random)); };
  Planted out;
  out.tree.joint.resize(3, bones);
  for (int b = 0; b < bones; ++b) {
    out.tree.parent.push_back(b == 0 ? -1 : static_cast<int>(random() % static_cast<unsigned>(b)));
    out.tree.joint.col(b) = vector();
  }
  const int vertices = 40 * bones;
  out.X.resize(4 * bones, vertices);
  for (int v = 0; v < vertices; ++v) {
    Eigen::VectorXd w = Eigen::VectorXd::Zero(bones);
    const int b = v % bones;
    w[b] = 0.7;
    w[out.tree.parent[b] < 0 ? b : out.tree.parent[b]] += 0.3;
    const Eigen::Vector3d u = vector() + out.tree.joint.col(b);
    for (int k = 0; k < bones; ++k) out.X.col(v).segment<4>(4 * k) = w[k] * u.homogeneous();
  }
  out.poses.root.resize(3, frames);
  for (int f = 0; f < frames; ++f) {
    Eigen::Matrix3Xd rotation(3, 3 * bones);
    for (int b = 0; b < bones; ++b) {
      const Eigen::Vector3d axis = vector().normalized();
      rotation.middleCols<3>(3 * b) = Eigen::AngleAxisd(bend * normal(random), axis).toRotationMatrix();
    }
    out.poses.rotation.push_back(rotation);
    out.poses.root.col(f) = vector();
  }
  out.S = out.X * out.X.transpose();
  for (const Eigen::Matrix3Xd& T : transforms_of(out.tree, out.poses)) {
    const Eigen::Matrix3Xd V = T * out.X;
    out.C.push_back(V * out.X.transpose());
    out.energy += V.squaredNorm();
  }
  return out;
}

double relative_error(const Planted& planted, const JointTree& tree, const JointPoses& poses) {
  double sum = planted.energy;
  const std::vector<Eigen::Matrix3Xd> T = transforms_of(tree, poses);
  for (std::size_t f = 0; f < T.size(); ++f) sum += gram_objective(T[f], planted.S, planted.C[f]);
  return sum / planted.energy;
}

TEST(JointTree, ChildrenStayOnTheirJoints) {
  const Planted planted = plant(7, 5, 1.0, 3);
  for (const Eigen::Matrix3Xd& T : transforms_of(planted.tree, planted.poses))
    for (int b = 1; b < 7; ++b) {
      const Eigen::Vector4d head = planted.tree.joint.col(b).homogeneous();
      const int p = planted.tree.parent[static_cast<std::size_t>(b)];
      EXPECT_LT((T.middleCols<4>(4 * b) * head - T.middleCols<4>(4 * p) * head).norm(), 1e-12) << "bone " << b;
    }
}

TEST(JointTree, RotationsOfAPlantedSkeletonAreFoundFromADistance) {
  const Planted planted = plant(9, 6, 0.4, 5);
  JointPoses poses = planted.poses;
  for (auto& rotation : poses.rotation)
    for (int b = 0; b < 9; ++b)
      rotation.middleCols<3>(3 * b) = Eigen::AngleAxisd(0.3, Eigen::Vector3d(b + 1, 2, -b).normalized()) *
                                      Eigen::Matrix3d(rotation.middleCols<3>(3 * b));
  poses.root.setZero();
  const double before = relative_error(planted, planted.tree, poses);
  update_rotations(planted.tree, planted.S, planted.C, 30, 1, poses);
  EXPECT_GT(before, 1e-2);
  EXPECT_LT(relative_error(planted, planted.tree, poses), 1e-12);
  for (const auto& rotation : poses.rotation)
    for (int b = 0; b < 9; ++b) {
      const Eigen::Matrix3d R = rotation.middleCols<3>(3 * b);
      EXPECT_LT((R.transpose() * R - Eigen::Matrix3d::Identity()).norm(), 1e-12);
    }
}

TEST(JointTree, JointsOfAPlantedSkeletonAreFoundExactlyFromItsRotations) {
  const Planted planted = plant(8, 12, 0.8, 7);
  JointTree tree = planted.tree;
  tree.joint.rightCols(7).setConstant(0.25);
  JointPoses poses = planted.poses;
  poses.root.setZero();
  update_joints(planted.S, planted.C, tree.joint, 0, tree, poses);
  EXPECT_LT(relative_error(planted, tree, poses), 1e-12);
  EXPECT_LT((tree.joint - planted.tree.joint).norm(), 1e-5);
  EXPECT_LT((poses.root - planted.poses.root).norm(), 1e-5);
}

TEST(JointTree, AHingeTakesThePointOfItsAxisNearestTheAnchor) {
  Planted planted = plant(2, 9, 0, 11);
  const Eigen::Vector3d axis = Eigen::Vector3d(1, -2, 0.5).normalized();
  for (std::size_t f = 0; f < 9; ++f)
    planted.poses.rotation[f].middleCols<3>(3) =
        Eigen::AngleAxisd(0.2 * static_cast<double>(f), axis).toRotationMatrix();
  const std::vector<Eigen::Matrix3Xd> T = transforms_of(planted.tree, planted.poses);
  for (std::size_t f = 0; f < 9; ++f) planted.C[f] = T[f] * planted.S;
  JointTree tree = planted.tree;
  Eigen::Matrix3Xd anchor = tree.joint;
  anchor.col(1) += 3 * axis + 0.01 * axis.unitOrthogonal();
  update_joints(planted.S, planted.C, anchor, 1e-4, tree, planted.poses);
  EXPECT_NEAR((tree.joint.col(1) - planted.tree.joint.col(1)).dot(axis), 3, 1e-3);
  EXPECT_LT((tree.joint.col(1) - planted.tree.joint.col(1)).cross(axis).norm(), 1e-2);
}

TEST(JointTree, UpdatesNeverRaiseTheErrorOfAModelThatDoesNotFit) {
  Planted planted = plant(6, 5, 0.9, 13);
  for (Eigen::Matrix3Xd& C : planted.C) C += 0.3 * Eigen::Matrix3Xd::Random(3, C.cols()) * std::sqrt(planted.S.trace());
  JointTree tree = planted.tree;
  JointPoses poses = planted.poses;
  double error = relative_error(planted, tree, poses);
  for (int round = 0; round < 5; ++round) {
    update_rotations(tree, planted.S, planted.C, 3, 2, poses);
    const double rotated = relative_error(planted, tree, poses);
    EXPECT_LE(rotated, error + 1e-12);
    update_joints(planted.S, planted.C, tree.joint, 0, tree, poses);
    error = relative_error(planted, tree, poses);
    EXPECT_LE(error, rotated + 1e-9);
  }
}

}  // namespace
}  // namespace sinew
