#include "sinew/refine/reduce_weights.h"

#include "planted.h"
#include "sinew/evaluate/errors.h"
#include "support/support.h"

namespace sinew {
namespace {

using test::dense_tube;

Rig reduced(const Rig& rig, ReduceMethod method, int influences = 4, const Sequence* examples = nullptr) {
  ReduceOptions options;
  options.method = method;
  options.influences = influences;
  options.threads = 1;
  Rig out = rig;
  out.weights = reduce_weights(rig, examples, options);
  out.check();
  return out;
}

/// |L (W' − W)|² with the uniform Laplacian of the tube's quads.
double laplacian_change(const Rig& a, const Rig& b) {
  const Eigen::MatrixXf E = unpack_weights(a.weights, a.bone_count()) - unpack_weights(b.weights, b.bone_count());
  Eigen::MatrixXf mean = Eigen::MatrixXf::Zero(E.rows(), E.cols());
  Eigen::VectorXf degree = Eigen::VectorXf::Zero(E.rows());
  for (std::size_t c = 0; c < a.rest.corners.size(); ++c) {
    const Index i = a.rest.corners[c];
    const Index j = a.rest.corners[c / 4 * 4 + (c + 1) % 4];
    mean.row(i) += E.row(j);
    mean.row(j) += E.row(i);
    ++degree[i];
    ++degree[j];
  }
  return (E - (mean.array().colwise() / degree.array()).matrix()).squaredNorm();
}

TEST(ReduceWeights, LargestKeepsTheLargestAndScalesThem) {
  const Rig rig = dense_tube(10, 7, 2);
  const Rig four = reduced(rig, ReduceMethod::largest);
  for (std::size_t v = 0; v < rig.vertex_count(); ++v) {
    float kept = 0;
    for (std::size_t k = 0; k < 4; ++k) kept += rig.weights.values[v * 7 + k];
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_EQ(four.weights.bones[v * 4 + k], rig.weights.bones[v * 7 + k]);
      EXPECT_NEAR(four.weights.values[v * 4 + k], rig.weights.values[v * 7 + k] / kept, 1e-6);
    }
  }
}

TEST(ReduceWeights, SmoothMatchesTheLaplacianBetterThanLargest) {
  const Rig rig = dense_tube(30, 9, 2);
  EXPECT_LT(laplacian_change(reduced(rig, ReduceMethod::smooth), rig),
            0.8 * laplacian_change(reduced(rig, ReduceMethod::largest), rig));
}

TEST(ReduceWeights, GeometryFitsTheExamplesBestAndPoissonComesAfterIt) {
  const Rig rig = dense_tube(30, 9, 6);
  const Sequence examples = pose_all(rig);
  const double largest = evaluate(reduced(rig, ReduceMethod::largest), examples, 1).e_rms;
  const double geometry = evaluate(reduced(rig, ReduceMethod::geometry, 4, &examples), examples, 1).e_rms;
  const double poisson = evaluate(reduced(rig, ReduceMethod::poisson, 4, &examples), examples, 1).e_rms;
  EXPECT_LT(geometry, 0.9 * largest);
  EXPECT_GE(poisson, geometry);
  EXPECT_LT(poisson, largest);
}

TEST(ReduceWeights, GeometryWithoutExamplesTakesWhatTheRigPoses) {
  const Rig rig = dense_tube(12, 6, 4);
  const Sequence examples = pose_all(rig);
  EXPECT_EQ(reduced(rig, ReduceMethod::geometry).weights.values,
            reduced(rig, ReduceMethod::geometry, 4, &examples).weights.values);
}

TEST(ReduceWeights, NothingIsLostWhenThereAreEnoughSlots) {
  const Rig rig = dense_tube(12, 4, 5);
  const Sequence examples = pose_all(rig);
  for (const ReduceMethod method :
       {ReduceMethod::largest, ReduceMethod::smooth, ReduceMethod::geometry, ReduceMethod::poisson})
    EXPECT_LT(evaluate(reduced(rig, method, 4, &examples), examples, 1).e_rms, 1e-2) << static_cast<int>(method);
}

TEST(ReduceWeights, CorrectionsAreCountedOnce) {
  Rig rig = dense_tube(12, 4, 5);
  Corrections corrections;
  corrections.coefficients = Eigen::MatrixXf::Random(5, 1);
  corrections.offsets = {0.2F * Points::Random(3, rig.rest.positions.cols())};
  rig.corrections = corrections;
  const Sequence examples = pose_all(rig);
  for (const ReduceMethod method : {ReduceMethod::geometry, ReduceMethod::poisson})
    EXPECT_LT(evaluate(reduced(rig, method, 4, &examples), examples, 1).e_rms, 1e-2) << static_cast<int>(method);
}

TEST(ReduceWeights, OneInfluenceAndLooseVerticesAreAccepted) {
  Rig rig = dense_tube(12, 5, 3);
  rig.rest.face_sizes.resize(40);
  rig.rest.corners.resize(160);
  for (const ReduceMethod method :
       {ReduceMethod::largest, ReduceMethod::smooth, ReduceMethod::geometry, ReduceMethod::poisson})
    EXPECT_EQ(reduced(rig, method, 1).weights.influences, 1);
}

TEST(ReduceWeights, BadRequestsAreNamed) {
  const Rig rig = dense_tube(5, 3, 2);
  test::expect_error(ErrorKind::usage, "method 'best', expected largest", [] { reduce_method("best"); });
  test::expect_error(ErrorKind::usage, "0 influences", [&] { reduced(rig, ReduceMethod::largest, 0); });
  const Sequence examples = pose_all(dense_tube(6, 3, 2));
  test::expect_error(ErrorKind::input, "examples of 48 vertices",
                     [&] { reduced(rig, ReduceMethod::geometry, 2, &examples); });
}

}  // namespace
}  // namespace sinew
