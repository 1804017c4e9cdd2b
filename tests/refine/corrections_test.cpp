#include "sinew/refine/corrections.h"

#include <Eigen/Geometry>
#include <cmath>

#include "sinew/evaluate/errors.h"
#include "support/support.h"
#include "support/zoo.h"

namespace sinew {
namespace {

constexpr std::size_t kFrames = 9;

/// Frames that two affine bones do not reach, and the two bones.
struct Case {
  Sequence sequence;
  Rig rig;
};

Case wobbling_sheet() {
  Case out;
  Sequence& s = out.sequence;
  s.name = "sheet";
  s.rest = test::grid_mesh(12, 7);
  const Eigen::Index V = s.rest.positions.cols();
  s.frames = Frames(kFrames, static_cast<std::size_t>(V));
  s.times = uniform_times(kFrames);
  Rig& rig = out.rig;
  rig.rest = s.rest;
  rig.times = s.times;
  rig.bones.resize(2);
  rig.bones[0].name = "left";
  rig.bones[1].name = "right";
  rig.motion = Motion(kFrames, 2);
  rig.weights.influences = 2;
  const float length = s.rest.positions.row(0).maxCoeff();
  for (Eigen::Index v = 0; v < V; ++v) {
    const float share = s.rest.positions(0, v) / length;
    const bool right = share > 0.5F;
    const bool alone = share <= 0 || share >= 1;  // the other slot is then unused
    rig.weights.bones.insert(rig.weights.bones.end(), {right ? 1U : 0U, right || alone ? 0U : 1U});
    rig.weights.values.push_back(std::max(share, 1 - share));
    rig.weights.values.push_back(std::min(share, 1 - share));
  }
  for (std::size_t f = 0; f < kFrames; ++f) {
    const auto t = static_cast<float>(f);
    rig.motion(f, 1).leftCols<3>() = Eigen::AngleAxisf(0.25F * t, Vector3(0, 1, 0.3F).normalized()).toRotationMatrix();
    rig.motion(f, 1).col(3) = Vector3(0.1F * t, 0, 0.05F * t);
    Points posed(3, V);
    pose(rig, f, posed);
    for (Eigen::Index v = 0; v < V; ++v) {
      const Vector3 p = s.rest.positions.col(v);
      posed.col(v) +=
          0.2F * Vector3(std::sin(p.x() + t), std::cos(2 * p.y() - 0.7F * t), std::sin(p.x() * p.y() + t * t));
    }
    s.frames[f] = posed;
  }
  return out;
}

double error_at(const Case& c, int rank, int iterations = 20, CorrectionReport* out = nullptr) {
  CorrectionOptions options;
  options.rank = rank;
  options.iterations = iterations;
  options.threads = 1;
  CorrectionReport report;
  Rig rig = c.rig;
  Corrections corrections = fit_corrections(rig, c.sequence, options, report);
  if (corrections.rank() > 0) rig.corrections = std::move(corrections);
  rig.check();
  if (out != nullptr) *out = report;
  return evaluate(rig, c.sequence, 1).e_rms;
}

TEST(Corrections, EveryRankIsBetterThanTheOneBeforeAndFullRankIsExact) {
  const Case c = wobbling_sheet();
  const double uncorrected = error_at(c, 0);
  double last = uncorrected;
  for (const int rank : {1, 2, 4, 8}) {
    const double error = error_at(c, rank);
    EXPECT_LT(error, last) << "rank " << rank;
    last = error;
  }
  EXPECT_LT(error_at(c, static_cast<int>(kFrames)), 1e-4 * uncorrected);
}

/// The same frames over and over.
Case repeated(const Case& once, std::size_t times) {
  Case out = once;
  const std::size_t frames = kFrames * times;
  out.sequence.frames = Frames(frames, once.sequence.vertex_count());
  out.rig.motion = Motion(frames, once.rig.bone_count());
  for (std::size_t f = 0; f < frames; ++f) {
    out.sequence.frames[f] = once.sequence.frames[f % kFrames];
    for (std::size_t b = 0; b < once.rig.bone_count(); ++b) out.rig.motion(f, b) = once.rig.motion(f % kFrames, b);
  }
  out.sequence.times = out.rig.times = uniform_times(frames);
  return out;
}

TEST(Corrections, RandomisedSvdOfManyFramesFindsTheSameShapes) {
  // More than 400 frames go to the randomised SVD; repeating frames does not change the best shapes.
  const Case few = wobbling_sheet();
  const Case many = repeated(few, 50);
  for (const int rank : {1, 3, 5})
    EXPECT_NEAR(error_at(many, rank, 0), error_at(few, rank, 0), 1e-3 * error_at(few, 0));
}

TEST(Corrections, FittingInThePoseBeatsTheTruncatedSvdInTheRestPose) {
  const Case c = wobbling_sheet();
  CorrectionReport report;
  EXPECT_LT(error_at(c, 3, 20, &report), error_at(c, 3, 0));
  for (std::size_t i = 1; i < report.e_rms.size(); ++i) EXPECT_LE(report.e_rms[i], report.e_rms[i - 1] * (1 + 1e-9));
}

TEST(Corrections, FrameThatCollapsesAPartIsGuardedAndCounted) {
  Case c = wobbling_sheet();
  c.rig.motion(4, 1).leftCols<3>() = -c.rig.motion(4, 0).leftCols<3>();  // cancels where both bones weigh the same
  CorrectionReport report;
  const double before = error_at(c, 0);
  const double after = error_at(c, 4, 20, &report);
  EXPECT_GT(report.near_singular, 0U);
  EXPECT_TRUE(std::isfinite(after));
  EXPECT_LT(after, before);
}

TEST(Corrections, ExactRigGetsNoTargets) {
  Case c = wobbling_sheet();
  c.sequence.frames = pose_all(c.rig).frames;
  CorrectionOptions options;
  options.rank = 3;
  CorrectionReport report;
  const Corrections corrections = fit_corrections(c.rig, c.sequence, options, report);
  EXPECT_EQ(corrections.rank(), 0U);
}

TEST(Corrections, MaxErrorTakesTheSmallestRankThatReachesIt) {
  const Case c = wobbling_sheet();
  const double target = error_at(c, 4) * 1.01;
  CorrectionOptions options;
  options.max_error = target;
  CorrectionReport report;
  fit_corrections(c.rig, c.sequence, options, report);
  EXPECT_EQ(report.rank, 4U);
}

TEST(Corrections, NormalsOfTheCorrectedRestPoseFollowTheFrames) {
  const Case c = wobbling_sheet();
  CorrectionOptions options;
  options.rank = static_cast<int>(kFrames);
  CorrectionReport report;
  const Corrections corrections = fit_corrections(c.rig, c.sequence, options, report);
  ASSERT_EQ(corrections.normal_offsets.size(), corrections.rank());
  double largest = 0;
  for (const Points& offsets : corrections.normal_offsets)
    largest = std::max(largest, static_cast<double>(offsets.cwiseAbs().maxCoeff()));
  EXPECT_GT(largest, 1e-3);
}

TEST(Corrections, PlayedNormalsAreNeverWorseThanWithoutAndFollowTheFrames) {
  const Case c = wobbling_sheet();
  double before = evaluate(c.rig, c.sequence).played_degrees;
  const double without = before;
  for (const int rank : {1, 2, 4, static_cast<int>(kFrames)}) {
    CorrectionOptions options;
    options.rank = rank;
    CorrectionReport report;
    Rig rig = c.rig;
    rig.corrections = fit_corrections(c.rig, c.sequence, options, report);
    const double played = evaluate(rig, c.sequence).played_degrees;
    EXPECT_LE(played, without) << rank;
    EXPECT_LE(played, before * 1.05) << rank;
    before = played;
  }
  EXPECT_LT(before, 0.2 * without);
}

TEST(Corrections, SameBitsForOneAndThreeThreads) {
  const Case c = wobbling_sheet();
  CorrectionOptions options;
  options.rank = 3;
  CorrectionReport report;
  options.threads = 1;
  const Corrections one = fit_corrections(c.rig, c.sequence, options, report);
  options.threads = 3;
  const Corrections three = fit_corrections(c.rig, c.sequence, options, report);
  EXPECT_TRUE(one.coefficients == three.coefficients);
  for (std::size_t r = 0; r < one.rank(); ++r) EXPECT_TRUE(one.offsets[r] == three.offsets[r]);
}

TEST(Corrections, RefusesARigOfAnotherSequence) {
  Case c = wobbling_sheet();
  c.sequence = select_frames(c.sequence, 0, 5, 1);
  CorrectionReport report;
  test::expect_error(ErrorKind::input, "frames", [&] { fit_corrections(c.rig, c.sequence, {}, report); });
}

}  // namespace
}  // namespace sinew
