#include "support/support.h"

#include "support/matchers.h"
#include "support/zoo.h"

namespace sinew {
namespace {

using test::HasConvexRows;
using test::IsConvexRow;
using test::IsRigid;
using ::testing::Not;

TEST(Zoo, EverySequenceKeepsItsInvariants) {
  for (const Sequence& sequence : test::zoo()) {
    SCOPED_TRACE(sequence.name);
    EXPECT_NO_THROW(sequence.check());
  }
}

TEST(Matchers, ARotationIsRigidAShearAndAReflectionAreNot) {
  Affine T = Motion::identity();
  T.leftCols<3>() = Eigen::AngleAxisf(0.7F, Vector3(0.6F, 0, 0.8F)).toRotationMatrix();
  T.col(3) = Vector3(3, -1, 2);
  EXPECT_THAT(T, IsRigid(1e-6));
  T(0, 1) += 0.01F;
  EXPECT_THAT(T, Not(IsRigid(1e-6)));
  T = Motion::identity();
  T(2, 2) = -1;
  EXPECT_THAT(T, Not(IsRigid(1e-6)));
}

TEST(Matchers, NameTheOffendingIndex) {
  ::testing::StringMatchResultListener listener;
  EXPECT_FALSE(::testing::ExplainMatchResult(IsConvexRow(1e-6), Eigen::Vector3d(0.5, 0.75, -0.25), &listener));
  EXPECT_EQ(listener.str(), "entry 2 is -0.25");
  EXPECT_THAT(Eigen::Vector3d(0.5, 0.25, 0.25), IsConvexRow(1e-9));
  EXPECT_THAT(Eigen::Vector3d(0.5, 0.25, 0.2), Not(IsConvexRow(1e-9)));
  SkinWeights weights{2, {0, 1, 1, 0}, {0.5F, 0.5F, 1, 0}};
  EXPECT_THAT(weights, HasConvexRows(2));
  ::testing::StringMatchResultListener rows;
  EXPECT_FALSE(::testing::ExplainMatchResult(HasConvexRows(1), weights, &rows));
  EXPECT_EQ(rows.str(), "vertex 0: 2 bones");
}

}  // namespace
}  // namespace sinew
