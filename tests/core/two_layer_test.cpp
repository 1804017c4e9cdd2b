#include "sinew/core/two_layer.h"

#include <Eigen/Geometry>
#include <limits>

#include "sinew/core/rig.h"
#include "support/support.h"

namespace sinew {
namespace {

// Two vertices over three virtual bones over two bones; the weights of the one-layer part differ on purpose.
Rig two_layer_rig() {
  Rig rig;
  rig.rest.positions.resize(3, 2);
  rig.rest.positions << 0, 1, 2, 0, 0.5F, -3;
  rig.bones = {{"a", -1, {0, 0, 0}, {1, 0, 0}}, {"b", -1, {1, 0, 0}, {2, 0, 0}}};
  rig.weights = {1, {0, 0}, {1, 1}};
  rig.motion = Motion(1, 2);
  rig.motion(0, 0).col(3) = Vector3(1, 2, 3);
  rig.motion(0, 1).leftCols<3>() = Eigen::AngleAxisf(1.1F, Vector3(0, 0.6F, 0.8F)).toRotationMatrix();
  rig.times = {0};
  rig.two_layer = TwoLayer{{2, {0, 1, 1, 0, 0, 1}, {0.25F, 0.75F, 1, 0, 1.5F, -0.5F}},
                           {2, {0, 2, 1, 0}, {0.5F, 0.5F, 1.25F, -0.25F}}};
  return rig;
}

TEST(TwoLayer, PosesByTheProductOfCoefficientsAndDictionary) {
  const Rig rig = two_layer_rig();
  rig.check();
  Points posed(3, 2);
  pose(rig, 0, posed);
  // Row 0 of A·D is (0.875, 0.125), row 1 is (-0.0625, 1.0625).
  const float w[2][2] = {{0.875F, 0.125F}, {-0.0625F, 1.0625F}};
  for (int v = 0; v < 2; ++v) {
    const Affine T = w[v][0] * rig.motion(0, 0) + w[v][1] * rig.motion(0, 1);
    const Vector3 expected = T.leftCols<3>() * rig.rest.positions.col(v) + T.col(3);
    EXPECT_LT((posed.col(v) - expected).norm(), 1e-6F) << v;
  }
}

TEST(TwoLayer, NamesTheFirstViolation) {
  Rig rig = two_layer_rig();
  rig.two_layer->dictionary.columns[2] = 2;
  test::expect_error(ErrorKind::input, "dictionary: row 1 refers to column 2, there are 2", [&] { rig.check(); });
  rig = two_layer_rig();
  rig.two_layer->coefficients.values[1] = 0.6F;
  test::expect_error(ErrorKind::input, "coefficients: row 0 sums to 1.1", [&] { rig.check(); });
  rig = two_layer_rig();
  rig.two_layer->coefficients.values[3] = std::numeric_limits<float>::quiet_NaN();
  test::expect_error(ErrorKind::input, "coefficients: row 1 holds nan", [&] { rig.check(); });
  rig = two_layer_rig();
  rig.two_layer->coefficients.columns.pop_back();
  test::expect_error(ErrorKind::input, "4 values and 3 indices, expected 2 rows of 2", [&] { rig.check(); });
}

}  // namespace
}  // namespace sinew
