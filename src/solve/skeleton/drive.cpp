#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/index.h"
#include "math/decompositions.h"
#include "sinew/core/bounds.h"
#include "sinew/evaluate/errors.h"
#include "solve/skeleton/helpers.h"

// A helper h on bone p moves, as p sees it, by a rotation vector q and by δ, the way of its head: y = (δ, q). The
// joints turn by rotation vectors r_j against their parents. The drive is y = c + Σ_j C_j r_j over few joints j, in
// least squares over the frames; lengths and turns are weighed by how far a turn takes what the helper moves.
namespace sinew::skeleton {
namespace {

constexpr int kMostJoints = 4;       // that drive one helper
constexpr double kJointPays = 0.97;  // of the error in frames left out, to which another joint must bring it
constexpr std::size_t kFolds = 5;    // runs of frames, each left out once
constexpr double kRidge = 1e-3;      // of a joint's own square, that its coefficients are held by
constexpr double kUnturned = 1e-4;   // radians: a joint that never turns more drives nothing

Eigen::Vector3d turn_of(const Affine& above, const Affine& own) {
  const Eigen::Matrix3d R = above.leftCols<3>().cast<double>().transpose() * own.leftCols<3>().cast<double>();
  const Eigen::AngleAxisd turn(R);
  return turn.angle() * turn.axis();
}

/// Rotation vectors of a joint in all frames, F×3.
Eigen::MatrixXd turns(const Rig& rig, std::size_t joint) {
  Eigen::MatrixXd out(index(rig.frame_count()), 3);
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    out.row(index(f)) = turn_of(rig.motion(f, at(rig.bones[joint].parent)), rig.motion(f, joint)).transpose();
  return out;
}

/// y of a helper in all frames, F×6.
Eigen::MatrixXd moves(const Rig& rig, std::size_t helper) {
  const std::size_t p = at(rig.bones[helper].parent);
  const Eigen::Vector4d head = rig.bones[helper].head.cast<double>().homogeneous();
  Eigen::MatrixXd out(index(rig.frame_count()), 6);
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    const Eigen::Matrix<double, 3, 4> P = rig.motion(f, p).cast<double>();
    const Eigen::Vector3d there =
        P.leftCols<3>().transpose() * (rig.motion(f, helper).cast<double>() * head - P.col(3));
    out.row(index(f)).head<3>() = (there - head.head<3>()).transpose();
    out.row(index(f)).tail<3>() = turn_of(rig.motion(f, p), rig.motion(f, helper)).transpose();
  }
  return out;
}

/// Least squares of y on 1 and the turns of some joints, over the frames that are wanted. Rows of the result: the
/// constant, then three for each joint.
Eigen::MatrixXd fit(const Eigen::MatrixXd& y, const Eigen::MatrixXd& x, const std::vector<bool>& wanted) {
  Eigen::MatrixXd N = Eigen::MatrixXd::Zero(x.cols(), x.cols());
  Eigen::MatrixXd b = Eigen::MatrixXd::Zero(x.cols(), y.cols());
  for (Eigen::Index f = 0; f < x.rows(); ++f) {
    if (!wanted[static_cast<std::size_t>(f)]) continue;
    N += x.row(f).transpose() * x.row(f);
    b += x.row(f).transpose() * y.row(f);
  }
  for (Eigen::Index i = 1; i < N.rows(); ++i)
    N(i, i) += kRidge * N.block<3, 3>(1 + 3 * ((i - 1) / 3), 1 + 3 * ((i - 1) / 3)).trace() / 3 + 1e-9;
  N(0, 0) += 1e-12;
  return Cholesky(N).solve(b);
}

std::vector<bool> fold(std::size_t frames, std::size_t left_out) {
  std::vector<bool> out(frames, true);
  for (std::size_t f = 0; f < frames; ++f) out[f] = left_out >= kFolds || f * kFolds / frames != left_out;
  return out;
}

/// What frames look like to a drive that was fitted to the others, F×6.
Eigen::MatrixXd predicted_unseen(const Eigen::MatrixXd& y, const Eigen::MatrixXd& x) {
  const auto frames = static_cast<std::size_t>(x.rows());
  Eigen::MatrixXd out(y.rows(), y.cols());
  for (std::size_t k = 0; k < kFolds; ++k) {
    const std::vector<bool> seen = fold(frames, k);
    const Eigen::MatrixXd C = fit(y, x, seen);
    for (std::size_t f = 0; f < frames; ++f)
      if (!seen[f]) out.row(index(f)) = x.row(index(f)) * C;
  }
  return out;
}

Affine placed(const Rig& rig, std::size_t f, std::size_t helper, const Eigen::VectorXd& y) {
  const Eigen::Matrix<double, 3, 4> P = rig.motion(f, at(rig.bones[helper].parent)).cast<double>();
  const Eigen::Vector3d head = rig.bones[helper].head.cast<double>();
  const Eigen::Vector3d q = y.tail<3>();
  const Eigen::Matrix3d Q =
      q.norm() > 0 ? Eigen::AngleAxisd(q.norm(), q.normalized()).toRotationMatrix() : Eigen::Matrix3d::Identity();
  Eigen::Matrix<double, 3, 4> local;
  local << Q, head + y.head<3>() - Q * head;
  Eigen::Matrix<double, 3, 4> out = P.leftCols<3>() * local;
  out.col(3) += P.col(3);
  return out.cast<float>();
}

/// Chosen one after the other: the joint that lowers the error in unseen frames most, while one pays.
struct Choice {
  std::vector<std::size_t> joints;
  Eigen::MatrixXd x;  // F×(1 + 3 joints)
};

Choice choose(const Eigen::MatrixXd& y, const std::vector<std::size_t>& joints,
              const std::vector<Eigen::MatrixXd>& turned) {
  Choice best{{}, Eigen::MatrixXd::Ones(y.rows(), 1)};
  const auto error = [&](const Eigen::MatrixXd& x) { return (predicted_unseen(y, x) - y).squaredNorm(); };
  double least = error(best.x);
  for (int n = 0; n < kMostJoints; ++n) {
    std::size_t taken = joints.size();
    double lowest = kJointPays * kJointPays * least;
    for (std::size_t i = 0; i < joints.size(); ++i) {
      if (std::find(best.joints.begin(), best.joints.end(), joints[i]) != best.joints.end()) continue;
      Eigen::MatrixXd x(y.rows(), best.x.cols() + 3);
      x << best.x, turned[i];
      if (const double e = error(x); e < lowest) {
        lowest = e;
        taken = i;
      }
    }
    if (taken == joints.size()) break;
    Eigen::MatrixXd x(y.rows(), best.x.cols() + 3);
    x << best.x, turned[taken];
    best.x = x;
    best.joints.push_back(joints[taken]);
    least = lowest;
  }
  return best;
}

}  // namespace

std::string sentence_about(const DriveErrors& errors) {
  return fmt::format(
      "helpers driven by joints: E_RMS {:.3g}, {:.3g} in frames left out ({:.3g} where they move freely)",
      errors.fitted, errors.left_out, errors.free);
}

DriveErrors drive_helpers(const Sequence& sequence, Rig& rig, int threads) {
  std::vector<std::size_t> joints;
  std::vector<Eigen::MatrixXd> turned;
  for (std::size_t b = 0; b < rig.bone_count(); ++b) {
    if (rig.bones[b].parent < 0 || rig.bones[b].helper) continue;
    Eigen::MatrixXd r = turns(rig, b);
    if (r.rowwise().norm().maxCoeff() < kUnturned) continue;
    joints.push_back(b);
    turned.push_back(std::move(r));
  }
  DriveErrors errors;
  errors.free = evaluate(rig, sequence, threads).e_rms;
  Rig seen = rig;
  Rig unseen = rig;
  rig.drives.clear();
  for (std::size_t h = 0; h < rig.bone_count(); ++h) {
    if (!rig.bones[h].helper) continue;
    Eigen::Matrix<double, 6, 1> scale = Eigen::Matrix<double, 6, 1>::Ones();
    scale.tail<3>().setConstant(std::max(reach(rig, h), 1e-9));
    const Eigen::MatrixXd y = moves(rig, h) * scale.asDiagonal();
    const Choice choice = choose(y, joints, turned);
    const Eigen::MatrixXd C = fit(y, choice.x, fold(rig.frame_count(), kFolds)) * scale.cwiseInverse().asDiagonal();
    const Eigen::MatrixXd other = predicted_unseen(y, choice.x) * scale.cwiseInverse().asDiagonal();
    HelperDrive drive{static_cast<Index>(h), C.row(0).transpose().cast<float>(), {}};
    for (std::size_t i = 0; i < choice.joints.size(); ++i)
      drive.inputs.push_back(
          {static_cast<Index>(choice.joints[i]), C.middleRows<3>(1 + 3 * index(i)).transpose().cast<float>()});
    rig.drives.push_back(drive);
    const Eigen::MatrixXd own = choice.x * C;
    for (std::size_t f = 0; f < rig.frame_count(); ++f) {
      seen.motion(f, h) = placed(rig, f, h, own.row(index(f)).transpose());
      unseen.motion(f, h) = placed(rig, f, h, other.row(index(f)).transpose());
    }
  }
  errors.fitted = evaluate(seen, sequence, threads).e_rms;
  errors.left_out = evaluate(unseen, sequence, threads).e_rms;
  return errors;
}

}  // namespace sinew::skeleton
