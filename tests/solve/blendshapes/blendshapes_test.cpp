#include "sinew/solve/blendshapes.h"

#include <gtest/gtest.h>

#include "solve/blendshapes/sparse_map.h"
#include "support/patch_face.h"
#include "support/support.h"

namespace sinew {
namespace {

using test::expect_error;
using test::patch_face;

BlendshapeOptions four_bones(double sparsity) {
  BlendshapeOptions options;
  options.bones = 4;
  options.influences = 4;
  options.sparsity = sparsity;
  options.transforms = Transforms::rigid;
  options.threads = 2;
  return options;
}

double shape_error(const SliderRig& found, const Blendshapes& face) {
  return evaluate_sliders(found.rig, found.map, face, Eigen::MatrixXf::Identity(5, 5), 1).e_rms;
}

TEST(SolveBlendshapes, FindsPlantedPatchesAndTheirPairs) {
  const Blendshapes face = patch_face();
  for (const Transforms transforms : {Transforms::rigid, Transforms::affine}) {
    FitReport report;
    BlendshapeOptions options = four_bones(0.7);  // 6 of 20 pairs stay, as many as there are
    options.transforms = transforms;
    const SliderRig found = solve_blendshapes(face, options, report);
    found.rig.check();
    found.map.check(found.rig.bone_count());
    EXPECT_EQ(found.map.entries.size(), 6U);
    EXPECT_LT(shape_error(found, face), 0.05);
    EXPECT_TRUE(found.rig.rest.shapes.empty());
    EXPECT_EQ(found.rig.frame_count(), 6U);
  }
}

TEST(SolveBlendshapes, FewerPairsThanAreNeededCostAccuracyAndAreKept) {
  const Blendshapes face = patch_face();
  FitReport report;
  const SliderRig enough = solve_blendshapes(face, four_bones(0.7), report);
  const SliderRig few = solve_blendshapes(face, four_bones(0.8), report);
  EXPECT_LE(few.map.entries.size(), 4U);
  EXPECT_GT(shape_error(few, face), 10 * shape_error(enough, face));
  EXPECT_GT(shape_error(few, face), few.full_map_e_rms);
  EXPECT_LT(few.dense_e_rms, 0.05);
}

TEST(SolveBlendshapes, AffineBonesBetweenShapesAreNoWorseThanAtThem) {
  const Blendshapes face = patch_face();
  FitReport report;
  BlendshapeOptions options = four_bones(0.8);
  options.transforms = Transforms::affine;
  const SliderRig found = solve_blendshapes(face, options, report);
  const Eigen::MatrixXf whole = Eigen::MatrixXf::Identity(5, 5);
  const double at = evaluate_sliders(found.rig, found.map, face, whole, 1).e_rms;
  const double half = evaluate_sliders(found.rig, found.map, face, 0.5F * whole, 1).e_rms;
  EXPECT_NEAR(half, 0.5 * at, 1e-3 * at);
}

TEST(SolveBlendshapes, SizeAndPlaceOfTheFaceDoNotMatter) {
  FitReport report;
  const Blendshapes face = patch_face();
  const Blendshapes large = patch_face(16, Vector3(40, -8, 4));
  const double a = shape_error(solve_blendshapes(face, four_bones(0.8), report), face);
  const double b = shape_error(solve_blendshapes(large, four_bones(0.8), report), large);
  EXPECT_NEAR(a, b, 0.01 * a);
}

TEST(SolveBlendshapes, SameBitsForOneAndThreeThreads) {
  FitReport report;
  BlendshapeOptions options = four_bones(0.7);
  const Blendshapes face = patch_face();
  options.threads = 1;
  const SliderRig one = solve_blendshapes(face, options, report);
  options.threads = 3;
  const SliderRig three = solve_blendshapes(face, options, report);
  EXPECT_EQ(one.rig.weights.values, three.rig.weights.values);
  ASSERT_EQ(one.map.entries.size(), three.map.entries.size());
  for (std::size_t i = 0; i < one.map.entries.size(); ++i) EXPECT_EQ(one.map.entries[i].by, three.map.entries[i].by);
}

TEST(SolveBlendshapes, AskedToStopGivesAMapThatCanBeUsed) {
  FitReport report;
  const SliderRig found =
      solve_blendshapes(patch_face(), four_bones(0.7), report, [](std::string_view, double) { return false; });
  EXPECT_EQ(report.termination, Termination::cancelled);
  found.rig.check();
  EXPECT_LE(found.map.entries.size(), 6U);
}

TEST(SolveBlendshapes, RefusesOptionsOutOfRangeAndSlidersOfAnother) {
  const auto refused = [](const std::string& part, const std::function<void(BlendshapeOptions&)>& set) {
    BlendshapeOptions options;
    set(options);
    FitReport report;
    expect_error(ErrorKind::usage, part, [&] { solve_blendshapes(patch_face(), options, report); });
  };
  refused("0 bones", [](BlendshapeOptions& o) { o.bones = 0; });
  refused("9 influences", [](BlendshapeOptions& o) { o.influences = 9; });
  refused("sparsity 1", [](BlendshapeOptions& o) { o.sparsity = 1; });
  FitReport report;
  const SliderRig found = solve_blendshapes(patch_face(), four_bones(0.7), report);
  Blendshapes other = patch_face();
  other.rest.shapes[0].name = "another";
  expect_error(ErrorKind::input, "not the sliders of the rig",
               [&] { evaluate_sliders(found.rig, found.map, other, Eigen::MatrixXf::Identity(5, 5)); });
}

// --- The half-step of the map.

/// Sums of random vertices over two bones that follow three sliders; slider 2 moves nothing.
blendshapes::MapSums random_sums() {
  std::srand(5);
  blendshapes::MapSums sums;
  const Eigen::MatrixXd x = Eigen::MatrixXd::Random(12, 60);
  Eigen::MatrixXd E = Eigen::MatrixXd::Random(9, 12);
  E.bottomRows(3).setZero();
  E.block<3, 4>(0, 4).setZero();
  const Eigen::MatrixXd z = E * x;
  sums.S = x * x.transpose();
  sums.C = z * x.transpose();
  sums.centers = Eigen::Matrix3Xd::Zero(3, 3);
  sums.total = z.squaredNorm();
  return sums;
}

std::vector<std::vector<bool>> planted_support() {
  return {{true, false, true}, {true, true, true}, {false, false, false}};
}

TEST(SparseMap, ProximalStepsFindThePlantedPairs) {
  EXPECT_EQ(blendshapes::proximal_support(random_sums(), Transforms::affine, 5), planted_support());
}

TEST(SparseMap, ExchangesMendASupportAndTheRefitIsExactThere) {
  const blendshapes::MapSums sums = random_sums();
  std::vector<std::vector<bool>> support{{true, true, false}, {true, true, false}, {false, false, true}};
  blendshapes::exchange_pairs(sums, Transforms::affine, support);
  EXPECT_EQ(support, planted_support());
  blendshapes::SparseMap map{Eigen::MatrixXd::Zero(9, 12), support};
  EXPECT_EQ(map.size(), 5U);
  EXPECT_NEAR(blendshapes::objective(sums, map.E), sums.total, 1e-9);
  blendshapes::refit(sums, Transforms::affine, map);
  EXPECT_LT(blendshapes::objective(sums, map.E), 1e-6 * sums.total);
  EXPECT_TRUE((map.E.block<3, 4>(0, 4).isZero(0)));
}

}  // namespace
}  // namespace sinew
