#include "sinew/io/bvh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "io/gltf/gltf_rigs.h"
#include "support/support.h"

namespace sinew {
namespace {

TEST(WriteBvh, AChainIsOneHierarchyWithALinePerFrame) {
  const Rig rig = test::chain_rig(6, 5, 4);
  const std::string text = format_bvh(rig);
  EXPECT_TRUE(text.starts_with("HIERARCHY\nROOT bone_0\n{\n\tOFFSET 0 0 0\n\tCHANNELS 6 Xposition"));
  EXPECT_THAT(text, testing::HasSubstr("MOTION\nFrames: 4\nFrame Time: 0.0333"));
  const std::string motion = text.substr(text.find("Frame Time"));
  EXPECT_EQ(std::count(motion.begin(), motion.end(), '\n'), 5);
  EXPECT_EQ(std::count(text.begin(), text.end(), '{'), 5 + 2);  // two bones end in a site
}

TEST(WriteBvh, RigsWithoutASkeletonAreRefused) {
  test::expect_error(ErrorKind::output, "no skeleton",
                     [] { format_bvh(test::random_rig(4, 3, 2, 3, Transforms::rigid)); });
}

TEST(WriteBvh, RigsWithoutFramesAreRefused) {
  test::expect_error(ErrorKind::output, "without frames", [] { format_bvh(test::chain_rig(6, 5, 0)); });
}

}  // namespace
}  // namespace sinew
