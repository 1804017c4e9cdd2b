#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "sinew/runtime/sinew_runtime.h"

namespace {

/// Three bones: 0 is the root, 1 a joint on it, 2 a helper of the root.
struct Scene {
  std::array<float, 48> palette{};
  sinew_drive_input input{};
  sinew_drive drive{};

  /// The root turned by `root` about z and moved, the joint by `bend` about z beyond that, at the origin.
  Scene(float root, float bend) {
    input.joint = 1;
    input.parent = 0;
    drive.bone = 2;
    drive.parent = 0;
    drive.head[0] = 2;
    drive.head[1] = 0.5F;
    drive.inputs = 1;
    drive.input = &input;
    turn(0, root);
    turn(1, root + bend);
    palette[12] = 5;
    palette[13] = -1;
  }

  void turn(std::size_t bone, float angle) {
    float* const m = palette.data() + 16 * bone;
    m[0] = m[5] = std::cos(angle);
    m[1] = std::sin(angle);
    m[4] = -m[1];
    m[10] = m[15] = 1;
  }

  std::array<float, 3> helper_at(float x, float y) const {
    const float* const m = palette.data() + 32;
    return {m[0] * x + m[4] * y + m[12], m[1] * x + m[5] * y + m[13], m[2] * x + m[6] * y + m[14]};
  }
};

TEST(RuntimeDrive, MovesAHelperByTheTurnOfAJointAndWithItsParent) {
  const float root = 0.7F;
  for (const float bend : {0.0F, 1e-4F, 0.9F, -2.5F, 3.1F}) {
    Scene scene(root, bend);
    scene.drive.constant[1] = 0.25F;   // it rests higher than it was bound,
    scene.input.by[2] = 0.1F;          // slides along x
    scene.input.by[3 * 5 + 2] = 0.5F;  // and turns half as far
    ASSERT_EQ(sinew_drive_helpers(&scene.drive, 1, 3, scene.palette.data()), sinew_ok);
    // A point one unit along x from its head, as the parent sees it, and then where the parent takes it.
    const float x = 2 + 0.1F * bend + std::cos(0.5F * bend);
    const float y = 0.75F + std::sin(0.5F * bend);
    const auto there = scene.helper_at(3, 0.5F);
    EXPECT_NEAR(there[0], std::cos(root) * x - std::sin(root) * y + 5, 1e-5) << bend;
    EXPECT_NEAR(there[1], std::sin(root) * x + std::cos(root) * y - 1, 1e-5) << bend;
    EXPECT_NEAR(there[2], 0, 1e-6) << bend;
  }
}

TEST(RuntimeDrive, LeavesOtherBonesAsTheyAre) {
  Scene scene(0.3F, 0.4F);
  const auto before = scene.palette;
  ASSERT_EQ(sinew_drive_helpers(&scene.drive, 1, 3, scene.palette.data()), sinew_ok);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(scene.palette[i], before[i]);
}

TEST(RuntimeDrive, RefusesWhatIsMissingOrOutOfRange) {
  Scene scene(0, 0);
  EXPECT_EQ(sinew_drive_helpers(nullptr, 1, 3, scene.palette.data()), sinew_missing_buffer);
  EXPECT_EQ(sinew_drive_helpers(&scene.drive, 1, 3, nullptr), sinew_missing_buffer);
  EXPECT_EQ(sinew_drive_helpers(nullptr, 0, 3, nullptr), sinew_ok);
  EXPECT_EQ(sinew_drive_helpers(&scene.drive, 1, 2, scene.palette.data()), sinew_bad_index);
  scene.input.joint = 3;
  EXPECT_EQ(sinew_drive_helpers(&scene.drive, 1, 3, scene.palette.data()), sinew_bad_index);
  scene.drive.input = nullptr;
  EXPECT_EQ(sinew_drive_helpers(&scene.drive, 1, 3, scene.palette.data()), sinew_missing_buffer);
}

}  // namespace
