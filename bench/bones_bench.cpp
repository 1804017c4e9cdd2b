// The step of the bones by two ways, as the slides of Le & Deng 2012 compare them: bones one after another in closed
// form, and Levenberg-Marquardt over all bones of a frame at once. Weights stay; both begin at the motion of the
// clusters.
//   bones_bench SEQUENCE... [--bones B] [--rounds N]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <ctime>
#include <vector>

#include "sinew/core/error.h"
#include "sinew/io/io.h"
#include "solve/lbs/alternation.h"
#include "solve/lbs/motion_clusters.h"
#include "solve/lbs/problem.h"

namespace sinew {
using namespace lbs;
namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Eigen::Matrix3d cross(const Eigen::Vector3d& a) {
  return Eigen::Matrix3d{{0, -a.z(), a.y()}, {a.z(), 0, -a.x()}, {-a.y(), a.x(), 0}};
}

/// One frame: T (3×4B, [R | t] of each bone) against S and G = C + T₀ S, so that |D X − y|² is ⟨TS, T⟩ − 2⟨T, G⟩ +
/// const.
struct Frame {
  const Eigen::MatrixXd& S;
  Eigen::MatrixXd G;

  double value(const Eigen::MatrixXd& T) const {
    return ((T * S).array() * T.array()).sum() - 2 * (T.array() * G.array()).sum();
  }
};

/// Gauss-Newton system for R_b ← exp(ω_b) R_b, t_b ← t_b + δ_b: six unknowns a bone.
void normal_equations(const Frame& frame, const Eigen::MatrixXd& T, Eigen::MatrixXd& H, Eigen::VectorXd& gradient) {
  const Eigen::Index B = T.cols() / 4;
  const Eigen::MatrixXd residual = T * frame.S - frame.G;
  H.setZero(6 * B, 6 * B);
  gradient.resize(6 * B);
  for (Eigen::Index a = 0; a < B; ++a) {
    const Eigen::Matrix3d Ra = T.block<3, 3>(0, 4 * a);
    gradient.segment<3>(6 * a).setZero();
    for (int j = 0; j < 3; ++j) {
      gradient.segment<3>(6 * a) += Ra.col(j).cross(Eigen::Vector3d(residual.col(4 * a + j)));
    }
    gradient.segment<3>(6 * a + 3) = residual.col(4 * a + 3);
    for (Eigen::Index b = 0; b < B; ++b) {
      const Eigen::Matrix4d S = frame.S.block<4, 4>(4 * a, 4 * b);
      if (S(3, 3) == 0) continue;
      const Eigen::Matrix3d Rb = T.block<3, 3>(0, 4 * b);
      const Eigen::Matrix3d M = Ra * S.topLeftCorner<3, 3>() * Rb.transpose();
      H.block<3, 3>(6 * a, 6 * b) = M.trace() * Eigen::Matrix3d::Identity() - M.transpose();
      H.block<3, 3>(6 * a, 6 * b + 3) = cross(Ra * S.topRightCorner<3, 1>());
      H.block<3, 3>(6 * a + 3, 6 * b) = -cross(Rb * S.bottomLeftCorner<1, 3>().transpose());
      H.block<3, 3>(6 * a + 3, 6 * b + 3) = S(3, 3) * Eigen::Matrix3d::Identity();
    }
  }
}

Eigen::MatrixXd moved(const Eigen::MatrixXd& T, const Eigen::VectorXd& step) {
  Eigen::MatrixXd out = T;
  for (Eigen::Index b = 0; b < T.cols() / 4; ++b) {
    const Eigen::Vector3d turn = step.segment<3>(6 * b);
    const Eigen::AngleAxisd rotation(turn.norm(),
                                     turn.norm() > 0 ? Eigen::Vector3d(turn.normalized()) : Eigen::Vector3d::UnitX());
    out.block<3, 3>(0, 4 * b) = rotation.toRotationMatrix() * T.block<3, 3>(0, 4 * b);
    out.col(4 * b + 3) += step.segment<3>(6 * b + 3);
  }
  return out;
}

/// One accepted step in every frame; `damping` is a number per frame, relative to the diagonal.
void levenberg_marquardt(const Problem& problem, const WeightSums& sums, std::vector<double>& damping,
                         Eigen::MatrixXd& D) {
  const Eigen::Index B = D.cols() / 4;
  Eigen::MatrixXd H;
  Eigen::VectorXd gradient;
  for (std::size_t f = 0; f < problem.frame_count(); ++f) {
    const auto row = static_cast<Eigen::Index>(3 * f);
    const Eigen::MatrixXd common = problem.common().middleRows(row, 3).replicate(1, B);
    const Frame frame{sums.S, sums.C.middleRows(row, 3) + common * sums.S};
    const Eigen::MatrixXd T = D.middleRows(row, 3) + common;
    normal_equations(frame, T, H, gradient);
    const double before = frame.value(T);
    for (int attempt = 0; attempt < 10; ++attempt) {
      Eigen::MatrixXd damped = H;
      damped.diagonal() *= 1 + damping[f];
      damped.diagonal().array() += 1e-12 * H.diagonal().maxCoeff();  // bones that nothing follows
      const Eigen::MatrixXd next = moved(T, -damped.llt().solve(gradient));
      if (frame.value(next) < before) {
        D.middleRows(row, 3) = next - common;
        damping[f] *= 0.3;
        break;
      }
      damping[f] *= 5;
    }
  }
}

void measure(const std::filesystem::path& path, int bones, int rounds) {
  const Sequence sequence = read_sequence({path});
  const Problem problem(sequence, {0, 1, 1});
  const MotionClusters clusters = cluster_by_motion(problem, static_cast<std::size_t>(bones));
  FitState state;
  state.D = clusters.D;
  state.weights = weights_of(clusters, 4);
  RunOptions settle;  // a few passes, so that bones blend
  settle.iterations = 3;
  settle.update_bones = false;
  run(problem, settle, state);
  const auto e_rms = [&](const Eigen::MatrixXd& D) { return problem.e_rms(objective(problem, state.sums, D)); };

  BoneOptions one_by_one;
  one_by_one.sweeps = 1;
  std::vector<double> damping(problem.frame_count(), 1e-3);
  Eigen::MatrixXd ours = state.D;
  Eigen::MatrixXd theirs = state.D;
  double ours_seconds = 0;
  double theirs_seconds = 0;
  fmt::print("{}\t{}\t0\t0\t{:.4g}\t0\t{:.4g}\n", sequence.name, bones, e_rms(ours), e_rms(theirs));
  for (int round = 1; round <= rounds; ++round) {
    double start = cpu_seconds();
    update_bones(problem, state.sums, one_by_one, ours);
    ours_seconds += cpu_seconds() - start;
    start = cpu_seconds();
    levenberg_marquardt(problem, state.sums, damping, theirs);
    theirs_seconds += cpu_seconds() - start;
    fmt::print("{}\t{}\t{}\t{:.2f}\t{:.4g}\t{:.2f}\t{:.4g}\n", sequence.name, bones, round, 1e3 * ours_seconds,
               e_rms(ours), 1e3 * theirs_seconds, e_rms(theirs));
  }
}

}  // namespace
}  // namespace sinew

int main(int argc, char** argv) {
  CLI::App app("The step of the bones: one by one in closed form, and Levenberg-Marquardt over all of them");
  std::vector<std::filesystem::path> sequences;
  int bones = 20;
  int rounds = 20;
  app.add_option("sequences", sequences, "Sequences to measure")->required();
  app.add_option("--bones", bones, "Bones (20)")->check(CLI::Range(1, 256));
  app.add_option("--rounds", rounds, "Rounds of each (20)")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  try {
    fmt::print("sequence\tbones\tround\tone by one ms\tE_RMS\tLevenberg-Marquardt ms\tE_RMS\n");
    for (const auto& path : sequences) sinew::measure(path, bones, rounds);
  } catch (const sinew::Error& error) {
    fmt::print(stderr, "bones_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
