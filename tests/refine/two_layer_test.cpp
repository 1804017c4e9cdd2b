#include "sinew/refine/two_layer.h"

#include "planted.h"
#include "sinew/evaluate/errors.h"
#include "support/support.h"

namespace sinew {
namespace {

using test::dense_tube;

double rms_change(const Rig& rig, const SkinWeights& weights) {
  const auto d = (unpack_weights(rig.weights, rig.bone_count()) - unpack_weights(weights, rig.bone_count())).eval();
  return std::sqrt(d.cast<double>().squaredNorm() / static_cast<double>(d.size()));
}

SkinWeights four_largest(const Rig& rig) {
  return pack_weights(unpack_weights(rig.weights, rig.bone_count()).cast<double>(), 4);
}

TwoLayerOptions one_thread() {
  TwoLayerOptions options;
  options.threads = 1;
  return options;
}

TEST(CompressTwoLayer, StaysWithinItsBudgetAndBeatsTheLargestWeightsByFar) {
  const Rig rig = dense_tube(60, 12, 5);
  TwoLayerReport report;
  const TwoLayer model = *compress_two_layer(rig, nullptr, one_thread(), report).two_layer;
  model.check(rig.vertex_count(), rig.bone_count());
  EXPECT_LE(report.blends_per_vertex, 4 + 1e-9);
  EXPECT_EQ(model.coefficients.slots, 2);
  EXPECT_NEAR(report.weight_error, two_layer_weight_error(rig, model), 1e-12);
  EXPECT_LT(report.weight_error, 0.1 * rms_change(rig, four_largest(rig)));
}

TEST(CompressTwoLayer, RecoversAPlantedFactorisation) {
  // Each vertex is on the segment between two of five planted atoms that its ring uses.
  Rig rig = dense_tube(40, 6, 2);
  Eigen::Matrix<double, 5, 6> D;
  D << 0.7, 0.1, 0.1, 0.05, 0.03, 0.02, 0.1, 0.6, 0.1, 0.1, 0.05, 0.05, 0.02, 0.08, 0.7, 0.1, 0.05, 0.05, 0.05, 0.05,
      0.1, 0.6, 0.1, 0.1, 0.02, 0.03, 0.05, 0.1, 0.2, 0.6;
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> W(rig.vertex_count(), 6);
  for (int v = 0; v < W.rows(); ++v) {
    const double place = 3.999 * v / static_cast<double>(W.rows());
    const int first = static_cast<int>(place);
    W.row(v) = (1 - (place - first)) * D.row(first) + (place - first) * D.row(first + 1);
  }
  rig.weights = pack_weights(W);
  TwoLayerOptions options = one_thread();
  options.virtual_bones = 5;
  options.max_iterations = 300;
  options.tolerance = 1e-9;
  TwoLayerReport report;
  compress_two_layer(rig, nullptr, options, report);
  EXPECT_LT(report.weight_error, 1e-3);
}

TEST(CompressTwoLayer, WithExamplesTheyAreReproducedBetterThanWithout) {
  Rig rig = dense_tube(60, 12, 8);
  Sequence examples = pose_all(rig);
  for (std::size_t f = 0; f < examples.frame_count(); ++f)  // something that the rig cannot do exactly
    examples.frames[f].row(1).array() += 0.02F * (4 * examples.rest.positions.row(0).array()).sin();
  TwoLayerReport report;
  const Rig without = compress_two_layer(rig, nullptr, one_thread(), report);
  const Rig with = compress_two_layer(rig, &examples, one_thread(), report);
  EXPECT_LE(report.blends_per_vertex, 4 + 1e-9);
  const double dense = evaluate(rig, examples, 1).e_rms;
  const double e_with = evaluate(with, examples, 1).e_rms;
  EXPECT_LE(e_with, evaluate(without, examples, 1).e_rms);
  EXPECT_LE(e_with, 1.1 * dense);
}

TEST(CompressTwoLayer, StopsAtTheErrorAskedFor) {
  const Rig rig = dense_tube(60, 12, 3);
  TwoLayerOptions options = one_thread();
  options.max_error = 5e-3;
  TwoLayerReport loose;
  compress_two_layer(rig, nullptr, options, loose);
  EXPECT_LE(loose.weight_error, 5e-3 * (1 + 1e-6));
  options.max_error = 1e-3;
  TwoLayerReport tight;
  compress_two_layer(rig, nullptr, options, tight);
  EXPECT_LE(tight.weight_error, 1e-3 * (1 + 1e-6));
  EXPECT_GT(tight.virtual_bones, loose.virtual_bones);
}

TEST(CompressTwoLayer, MoreVirtualBonesPerVertexLowerTheErrorForTheSameDictionary) {
  const Rig rig = dense_tube(60, 12, 3);
  TwoLayerOptions options = one_thread();
  options.virtual_bones = 20;
  double last = 1;
  for (int q = 2; q <= 4; ++q) {
    options.virtual_per_vertex = q;
    TwoLayerReport report;
    const TwoLayer model = *compress_two_layer(rig, nullptr, options, report).two_layer;
    model.check(rig.vertex_count(), rig.bone_count());
    EXPECT_LT(report.weight_error, last) << q;
    last = report.weight_error;
  }
}

TEST(CompressTwoLayer, WithExamplesTheMotionOfFreeAffineBonesIsFittedUnlessItIsToBeKept) {
  Rig rig = dense_tube(40, 12, 5);
  rig.transforms = Transforms::affine;
  Sequence examples = pose_all(rig);
  for (std::size_t f = 0; f < examples.frame_count(); ++f)
    examples.frames[f].row(1).array() += 0.02F * (4 * examples.rest.positions.row(0).array()).sin();
  const auto moved_by = [&rig](const Rig& other) {
    float largest = 0;
    for (std::size_t f = 0; f < rig.frame_count(); ++f)
      for (std::size_t b = 0; b < rig.bone_count(); ++b)
        largest = std::max(largest, (rig.motion(f, b) - other.motion(f, b)).cwiseAbs().maxCoeff());
    return largest;
  };
  TwoLayerOptions options = one_thread();
  TwoLayerReport report;
  const Rig fitted = compress_two_layer(rig, &examples, options, report);
  for (std::size_t i = 1; i < report.history.size(); ++i)
    if (i + 5 > report.history.size()) {
      EXPECT_LE(report.history[i], report.history[i - 1] + 1e-12) << i;
    }
  options.keep_motion = true;
  const Rig kept = compress_two_layer(rig, &examples, options, report);
  EXPECT_GT(moved_by(fitted), 1e-4F);
  EXPECT_EQ(moved_by(kept), 0.0F);
  EXPECT_LT(evaluate(fitted, examples, 1).e_rms, evaluate(kept, examples, 1).e_rms);
  rig.transforms = Transforms::rigid;
  options.keep_motion = false;
  EXPECT_EQ(moved_by(compress_two_layer(rig, &examples, options, report)), 0.0F);
}

TEST(CompressTwoLayer, SameBitsForOneTwoAndSevenThreads) {
  const Rig rig = dense_tube(150, 10, 4);  // several chunks
  const Sequence examples = pose_all(rig);
  for (const Sequence* wanted : {static_cast<const Sequence*>(nullptr), &examples}) {
    TwoLayerOptions options = one_thread();
    TwoLayerReport report;
    const TwoLayer one = *compress_two_layer(rig, wanted, options, report).two_layer;
    for (const int threads : {2, 7}) {
      options.threads = threads;
      const TwoLayer other = *compress_two_layer(rig, wanted, options, report).two_layer;
      EXPECT_EQ(one.dictionary.values, other.dictionary.values) << threads;
      EXPECT_EQ(one.coefficients.values, other.coefficients.values) << threads;
      EXPECT_EQ(one.coefficients.columns, other.coefficients.columns) << threads;
    }
  }
}

TEST(CompressTwoLayer, LooseVerticesAndSeparatePartsAreReached) {
  Rig rig = dense_tube(30, 8, 3);
  rig.rest.face_sizes.resize(80);  // the rings after these have no faces left
  rig.rest.corners.resize(320);
  TwoLayerReport report;
  const TwoLayer model = *compress_two_layer(rig, nullptr, one_thread(), report).two_layer;
  model.check(rig.vertex_count(), rig.bone_count());
  EXPECT_LT(report.weight_error, 0.25 * rms_change(rig, four_largest(rig)));
}

TEST(CompressTwoLayer, TinyRigsAreAccepted) {
  for (const int rings : {2, 3}) {
    const Rig rig = dense_tube(rings, 2, 1);
    TwoLayerReport report;
    const TwoLayer model = *compress_two_layer(rig, nullptr, one_thread(), report).two_layer;
    model.check(rig.vertex_count(), rig.bone_count());
    EXPECT_LT(report.weight_error, 1e-5);  // two bones: the two first atoms span everything
  }
}

TEST(CompressTwoLayer, OptionsOutsideTheirRangesAreRefused) {
  const Rig rig = dense_tube(5, 3, 2);
  TwoLayerReport report;
  TwoLayerOptions options;
  options.virtual_per_vertex = 5;
  test::expect_error(ErrorKind::usage, "5 virtual bones per vertex",
                     [&] { compress_two_layer(rig, nullptr, options, report); });
  options = {};
  options.blends_per_vertex = 2;
  test::expect_error(ErrorKind::usage, "2 blends per vertex",
                     [&] { compress_two_layer(rig, nullptr, options, report); });
  Sequence examples = pose_all(dense_tube(5, 3, 3));
  test::expect_error(ErrorKind::input, "in 3 frames, the rig has 40 in 2",
                     [&] { compress_two_layer(rig, &examples, {}, report); });
}

TEST(CompressTwoLayer, StopsWhenAsked) {
  const Rig rig = dense_tube(60, 12, 3);
  TwoLayerReport report;
  const TwoLayer model =
      *compress_two_layer(rig, nullptr, one_thread(), report, [](std::string_view, double) { return false; }).two_layer;
  EXPECT_TRUE(report.cancelled);
  model.check(rig.vertex_count(), rig.bone_count());
}

}  // namespace
}  // namespace sinew
