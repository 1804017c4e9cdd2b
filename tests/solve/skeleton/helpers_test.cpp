#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <array>
#include <cmath>

#include "sinew/core/error.h"
#include "sinew/evaluate/errors.h"
#include "sinew/evaluate/inside.h"
#include "sinew/io/gltf.h"
#include "sinew/runtime/sinew_runtime.h"
#include "sinew/solve/skeleton.h"
#include "support/support.h"

namespace sinew {
namespace {

constexpr float kBulge = 0.4F;  // way of the bulge for each radian of the bend

/// A bar along x, bent at x = 4 about z, whose upper side bulges before the bend in proportion to it.
Sequence bulging_bar() {
  constexpr Index kAround = 8;
  constexpr Index kRings = 33;
  Sequence out;
  out.name = "bulging bar";
  out.rest.positions.resize(3, kRings * kAround);
  for (Index i = 0; i < kRings * kAround; ++i) {
    const float angle = 0.1F + 6.2831853F * static_cast<float>(i % kAround) / kAround;
    out.rest.positions.col(i) =
        Vector3(0.25F * static_cast<float>(i / kAround), 0.6F * std::cos(angle), 0.5F * std::sin(angle));
  }
  for (Index r = 0; r + 1 < kRings; ++r)
    for (Index a = 0; a < kAround; ++a) {
      const Index b = (a + 1) % kAround;
      const Index base = r * kAround;
      const Index next = base + kAround;
      out.rest.corners.insert(out.rest.corners.end(), {base + a, base + b, next + a, base + b, next + b, next + a});
    }
  out.rest.face_sizes.assign(out.rest.corners.size() / 3, 3);
  constexpr std::size_t kFrames = 30;
  out.times = uniform_times(kFrames);
  out.frames = Frames(kFrames, out.rest.vertex_count());
  for (std::size_t f = 0; f < kFrames; ++f) {
    const float bend = 0.6F + 0.6F * std::sin(0.7F * static_cast<float>(f));
    for (Eigen::Index v = 0; v < out.rest.positions.cols(); ++v) {
      Vector3 p = out.rest.positions.col(v);
      const float near = std::max(0.0F, 1 - std::abs(p.x() - 2)) * (p.y() > 0 ? 1.0F : 0.0F);
      p.y() += kBulge * bend * std::min(1.0F, 2 * near);
      const float w = std::clamp(p.x() - 3.5F, 0.0F, 1.0F);
      const Vector3 centre(4, 0, 0);
      const Vector3 turned = centre + Eigen::AngleAxisf(bend, Vector3::UnitZ()) * (p - centre);
      out.frames[f].col(v) = (1 - w) * p + w * turned;
    }
  }
  return out;
}

SkeletonOptions two_bones() {
  SkeletonOptions options;
  options.clusters = 8;
  options.max_bones = 2;
  options.moves = 0;
  options.strict_iterations = 20;
  options.threads = 1;
  return options;
}

Rig with_helpers(const Sequence& sequence, FitReport& report) {
  SkeletonOptions options = two_bones();
  options.helpers = 2;
  options.drive_helpers = true;
  return solve_skeleton(sequence, options, report);
}

/// The rig with its helpers where the runtime puts them.
Rig driven(Rig rig) {
  std::vector<std::vector<sinew_drive_input>> inputs;
  std::vector<sinew_drive> drives;
  inputs.reserve(rig.drives.size());
  for (const HelperDrive& drive : rig.drives) {
    inputs.emplace_back();
    for (const HelperDrive::Input& input : drive.inputs) {
      inputs.back().push_back({input.joint, static_cast<std::uint32_t>(rig.bones[input.joint].parent), {}});
      for (Eigen::Index i = 0; i < 18; ++i) inputs.back().back().by[i] = input.by(i / 3, i % 3);
    }
    sinew_drive out{
        drive.bone,          static_cast<std::uint32_t>(rig.bones[drive.bone].parent), {}, {}, inputs.back().size(),
        inputs.back().data()};
    for (Eigen::Index i = 0; i < 3; ++i) out.head[i] = rig.bones[drive.bone].head[i];
    for (Eigen::Index i = 0; i < 6; ++i) out.constant[i] = drive.constant[i];
    drives.push_back(out);
  }
  std::vector<float> palette(16 * rig.bone_count());
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    for (std::size_t b = 0; b < rig.bone_count(); ++b)
      sinew_make_palette(rig.motion(f, b).data(), 1, palette.data() + 16 * b);
    EXPECT_EQ(sinew_drive_helpers(drives.data(), drives.size(), rig.bone_count(), palette.data()), sinew_ok);
    for (const HelperDrive& drive : rig.drives)
      for (Eigen::Index i = 0; i < 12; ++i)
        rig.motion(f, drive.bone)(i % 3, i / 3) =
            palette[16 * drive.bone + static_cast<std::size_t>(4 * (i / 3) + i % 3)];
  }
  return rig;
}

TEST(Helpers, FollowWhatASkeletonCannotAndAreDrivenByItsJoint) {
  const Sequence sequence = bulging_bar();
  FitReport report;
  const double alone = evaluate(solve_skeleton(sequence, two_bones(), report), sequence, 1).e_rms;
  const Rig rig = with_helpers(sequence, report);
  rig.check();
  EXPECT_TRUE(rig.jointed);
  ASSERT_EQ(rig.bone_count(), 4U);
  EXPECT_EQ(report.bones, 4);
  EXPECT_EQ(rig.bones[2].name, "helper_1");
  EXPECT_TRUE(rig.bones[2].helper);
  EXPECT_LT(rig.bones[2].parent, 2);
  const double free = evaluate(rig, sequence, 1).e_rms;
  EXPECT_LT(free, 0.4 * alone);
  ASSERT_EQ(rig.drives.size(), 2U);
  ASSERT_EQ(rig.drives[0].inputs.size(), 1U);
  EXPECT_EQ(rig.drives[0].inputs[0].joint, 1U);
  EXPECT_NE(report.remark.find("in frames left out"), std::string::npos) << report.remark;
  EXPECT_LT(evaluate(driven(rig), sequence, 1).e_rms, 0.5 * alone) << report.remark << " alone " << alone;
  EXPECT_EQ(inside_at_rest(rig).joints, 1) << "helpers are no joints";
}

TEST(Helpers, AreReadBackFromAGlbWithTheirDrives) {
  const Sequence sequence = bulging_bar();
  FitReport report;
  const Rig rig = with_helpers(sequence, report);
  const Rig read = parse_gltf_rig(glb_bytes(rig, {}), {}, {}, "bar.glb");
  EXPECT_TRUE(read.jointed);
  ASSERT_EQ(read.bone_count(), rig.bone_count());
  ASSERT_EQ(read.drives.size(), rig.drives.size());
  for (std::size_t b = 0; b < rig.bone_count(); ++b) {
    EXPECT_EQ(read.bones[b].helper, rig.bones[b].helper);
    EXPECT_EQ(read.bones[b].parent, rig.bones[b].parent);
  }
  for (std::size_t d = 0; d < rig.drives.size(); ++d) {
    EXPECT_EQ(read.drives[d].bone, rig.drives[d].bone);
    EXPECT_EQ(read.drives[d].constant, rig.drives[d].constant);
    ASSERT_EQ(read.drives[d].inputs.size(), rig.drives[d].inputs.size());
    for (std::size_t i = 0; i < rig.drives[d].inputs.size(); ++i)
      EXPECT_EQ(read.drives[d].inputs[i].by, rig.drives[d].inputs[i].by);
  }
  EXPECT_NEAR(evaluate(read, sequence, 1).e_rms, evaluate(rig, sequence, 1).e_rms, 1e-3);
}

TEST(Helpers, SameBitsForOneTwoAndSevenThreads) {
  const Sequence sequence = bulging_bar();
  SkeletonOptions options = two_bones();
  options.helpers = 2;
  options.drive_helpers = true;
  FitReport report;
  const Rig one = solve_skeleton(sequence, options, report);
  for (const int threads : {2, 7}) {
    options.threads = threads;
    const Rig other = solve_skeleton(sequence, options, report);
    EXPECT_EQ(other.weights.values, one.weights.values);
    for (std::size_t b = 0; b < one.bone_count(); ++b) EXPECT_EQ(other.motion(5, b), one.motion(5, b)) << b;
    for (std::size_t d = 0; d < one.drives.size(); ++d) EXPECT_EQ(other.drives[d].constant, one.drives[d].constant);
  }
}

TEST(Helpers, DrivesThatFitNoBoneAreRefused) {
  FitReport report;
  Rig rig = with_helpers(bulging_bar(), report);
  const auto refused = [&](const char* sentence) {
    test::expect_error(ErrorKind::input, sentence, [&] { rig.check(); });
  };
  const std::vector<HelperDrive> good = rig.drives;
  rig.drives[0].bone = 1;
  refused("no helper");
  rig.drives = good;
  rig.drives[0].inputs[0].joint = 0;
  refused("no joint");
  rig.drives = good;
  rig.drives[1].constant[2] = std::numeric_limits<float>::infinity();
  refused("not finite");
  rig.drives = good;
  rig.bones[1].parent = -1;
  rig.bones[3].parent = 2;
  refused("hangs on a helper");
}

TEST(Helpers, AreRefusedWhereNoneIsAddedOrTooMany) {
  const Sequence sequence = bulging_bar();
  FitReport report;
  SkeletonOptions options = two_bones();
  options.drive_helpers = true;
  test::expect_error(ErrorKind::usage, "none is added", [&] { solve_skeleton(sequence, options, report); });
  options.helpers = 2000;
  test::expect_error(ErrorKind::usage, "2000 helper bones", [&] { solve_skeleton(sequence, options, report); });
}

}  // namespace
}  // namespace sinew
