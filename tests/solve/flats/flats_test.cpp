#include "sinew/solve/flats.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>

#include "math/decompositions.h"
#include "math/minimum_volume_simplex.h"
#include "sinew/core/bounds.h"
#include "sinew/evaluate/errors.h"
#include "sinew/io/io.h"
#include "support/matchers.h"
#include "support/support.h"
#include "support/zoo.h"

namespace sinew {
namespace {

/// A grid bent into a trough that three affine bones move with smooth weights.
Sequence blended(std::size_t frames) {
  Mesh mesh = test::grid_mesh(17, 9);
  for (Eigen::Index v = 0; v < mesh.positions.cols(); ++v)
    mesh.positions(2, v) = 1.5F * std::cos(0.7F * mesh.positions(1, v)) + 0.3F * std::sin(mesh.positions(0, v));
  Sequence sequence = test::bend("blended", std::move(mesh), frames);
  for (std::size_t f = 0; f < frames; ++f) {
    const auto t = static_cast<float>(f + 1);
    for (Eigen::Index v = 0; v < sequence.rest.positions.cols(); ++v) {
      const Vector3 p = sequence.rest.positions.col(v);
      const float a = std::clamp((p.x() - 2) / 5, 0.0F, 1.0F);
      const float b = std::clamp((p.x() - 8) / 5, 0.0F, 1.0F);
      const auto bone = [&](float k) {
        return Vector3(Eigen::AngleAxisf(0.3F * std::sin(t * (k + 1)), Vector3(0.6F, 0, 0.8F)) * p +
                       Vector3(0.2F * t, k, 0.1F * t * k));
      };
      sequence.frames[f].col(v) = (1 - a) * bone(0) + a * (1 - b) * bone(1) + a * b * bone(2);
    }
  }
  return sequence;
}

FlatsOptions options_of(int bones) {
  FlatsOptions options;
  options.bones = bones;
  options.threads = 1;
  return options;
}

double error_of(const Sequence& sequence, const FlatsOptions& options) {
  FitReport report;
  const Rig rig = solve_flats(sequence, options, report);
  rig.check();
  return evaluate(rig, sequence, 1).e_rms;
}

bool same_bits(const Rig& a, const Rig& b) {
  if (a.weights.values != b.weights.values || a.weights.bones != b.weights.bones) return false;
  for (std::size_t f = 0; f < a.frame_count(); ++f)
    for (std::size_t j = 0; j < a.bone_count(); ++j)
      if (a.motion(f, j) != b.motion(f, j)) return false;
  return a.bone_count() == b.bone_count();
}

TEST(Flats, ABlendOfThreeBonesIsRecoveredToRoundOff) {
  FlatsOptions options = options_of(3);
  options.max_starts = 20;
  options.start_work = 1e10;
  EXPECT_LT(error_of(blended(6), options), 1e-3);
}

TEST(Flats, WeightsAreConvexAndTheRequestedBonesComeOut) {
  FitReport report;
  const Sequence sequence = test::bend("bent", blended(5).rest, 5);
  const Rig rig = solve_flats(sequence, options_of(6), report);
  rig.check();
  EXPECT_EQ(rig.bone_count(), 6U);
  EXPECT_EQ(report.bones, 6);
  EXPECT_TRUE(report.remark.empty()) << report.remark;
  EXPECT_EQ(rig.transforms, Transforms::affine);
}

TEST(Flats, OneBoneIsTheBestSingleAffineMap) {
  const Sequence sequence = test::bend("bent", blended(4).rest, 4);
  const auto V = static_cast<Eigen::Index>(sequence.vertex_count());
  Eigen::MatrixXd rest(V, 4);
  rest.leftCols(3) = sequence.rest.positions.transpose().cast<double>();
  rest.col(3).setOnes();
  double squares = 0;
  for (std::size_t f = 0; f < 4; ++f) {
    const Eigen::MatrixXd y = sequence.frames[f].transpose().cast<double>();
    const Eigen::MatrixXd map = (rest.transpose() * rest).inverse() * (rest.transpose() * y);
    squares += (y - rest * map).squaredNorm();
  }
  const double radius = smallest_enclosing_sphere(sequence.rest.positions).radius;
  const double best = e_rms_of(squares, sequence.vertex_count(), 4, radius);
  EXPECT_NEAR(error_of(sequence, options_of(1)), best, 1e-4 * best);
}

TEST(Flats, MoreBonesNeverHurtAndGaussNewtonBeatsTheAlternation) {
  const Sequence sequence = test::bend("bent", blended(8).rest, 8);
  double before = error_of(sequence, options_of(1));
  for (const int bones : {2, 4, 7}) {
    const double error = error_of(sequence, options_of(bones));
    EXPECT_LT(error, before) << bones;
    before = error;
    FlatsOptions alternating = options_of(bones);
    alternating.solver = FlatSolver::alternating;
    EXPECT_LE(error, error_of(sequence, alternating) * 1.001) << bones;
  }
}

TEST(Flats, EveryMeshOfTheZooComesOutAsAValidRig) {
  for (const Sequence& sequence : test::zoo()) {
    SCOPED_TRACE(sequence.name);
    const double one = error_of(sequence, options_of(1));
    for (const int bones : {3, 9}) {
      FitReport report;
      const Rig rig = solve_flats(sequence, options_of(bones), report);
      rig.check();
      EXPECT_LE(evaluate(rig, sequence, 1).e_rms, 1.05 * one + 1e-3) << bones;
      EXPECT_EQ(report.bones, static_cast<int>(rig.bone_count()));
      if (report.bones < bones) {
        EXPECT_FALSE(report.remark.empty());
      }
    }
  }
}

TEST(Flats, FewerCoordinatesThanBonesAreReproducedExactly) {
  // One frame: three coordinates per vertex, nine bones.
  const Sequence sequence = test::bend("one frame", blended(1).rest, 1);
  EXPECT_LT(error_of(sequence, options_of(9)), 1e-2);
}

TEST(Flats, SameBitsForOneTwoAndSevenThreads) {
  const Sequence sequence = test::bend("bent", blended(6).rest, 6);
  FlatsOptions options = options_of(5);
  options.max_starts = 4;
  options.start_work = 1e9;
  FitReport report;
  const Rig one = solve_flats(sequence, options, report);
  for (const int threads : {2, 7}) {
    options.threads = threads;
    EXPECT_TRUE(same_bits(one, solve_flats(sequence, options, report))) << threads;
  }
}

TEST(Flats, TheSmallestNumberOfBonesForAnErrorIsFound) {
  const Sequence sequence = test::bend("bent", blended(8).rest, 8);
  FlatsOptions options = options_of(20);
  options.max_error = 0.7 * error_of(sequence, options_of(3));
  FitReport report;
  const Rig rig = solve_flats(sequence, options, report);
  EXPECT_GT(rig.bone_count(), 3U);
  EXPECT_LE(evaluate(rig, sequence, 1).e_rms, 1.05 * options.max_error + 1e-4);
  EXPECT_GT(error_of(sequence, options_of(static_cast<int>(rig.bone_count()) - 1)), 0.98 * options.max_error);
  EXPECT_GE(report.search.size(), 3U);
}

TEST(Flats, SparseWeightsHoldNoMoreThanTheInfluencesAskedFor) {
  const Sequence sequence = test::bend("bent", blended(6).rest, 6);
  FlatsOptions options = options_of(7);
  options.influences = 2;
  FitReport report;
  const Rig rig = solve_flats(sequence, options, report);
  rig.check();
  EXPECT_EQ(rig.weights.influences, 2);
  EXPECT_LT(evaluate(rig, sequence, 1).e_rms, error_of(sequence, options_of(1)));
}

TEST(Flats, MovingTheRestPoseAsWellLowersTheError) {
  const Sequence sequence = test::bend("bent", blended(8).rest, 8);
  FlatsOptions options = options_of(3);
  const double fixed = error_of(sequence, options);
  options.optimize_rest = true;
  EXPECT_LT(error_of(sequence, options), fixed);
}

TEST(Flats, OptionsOutOfRangeAreRefused) {
  const Sequence sequence = blended(2);
  FitReport report;
  test::expect_error(ErrorKind::usage, "bones", [&] { solve_flats(sequence, options_of(0), report); });
  FlatsOptions options = options_of(2);
  options.quantile = 0;
  test::expect_error(ErrorKind::usage, "quantile", [&] { solve_flats(sequence, options, report); });
}

// ---- Real sequences ----

Sequence real(const std::string& name) {
  return read_sequence({test::data_folder() / "sequences" / name});
}

/// The numbers of an .npy file, last index fastest; `columns` of a matrix that is stored column by column.
std::vector<double> read_npy(const std::filesystem::path& path, std::size_t columns) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto header = static_cast<std::size_t>(static_cast<unsigned char>(bytes.at(8))) +
                      256 * static_cast<std::size_t>(static_cast<unsigned char>(bytes.at(9)));
  const bool wide = bytes.find("<f8") != std::string::npos;
  const std::size_t size = wide ? 8 : 4;
  std::vector<double> numbers((bytes.size() - 10 - header) / size);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    float narrow = 0;
    std::memcpy(wide ? static_cast<void*>(&numbers[i]) : static_cast<void*>(&narrow), &bytes[10 + header + size * i],
                size);
    if (!wide) numbers[i] = narrow;
  }
  if (bytes.find("'fortran_order': True") == std::string::npos) return numbers;
  std::vector<double> rows(numbers.size());
  const std::size_t height = numbers.size() / columns;
  for (std::size_t i = 0; i < numbers.size(); ++i) rows[i % height * columns + i / height] = numbers[i];
  return rows;
}

/// Mean absolute difference of weights (V×B row-major) under the best matching of bones; few bones: all permutations.
double weight_error(const std::vector<double>& a, const std::vector<double>& b, std::size_t bones) {
  std::vector<std::size_t> order(bones);
  std::iota(order.begin(), order.end(), 0);
  double best = 1e300;
  do {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i / bones * bones + order[i % bones]]);
    best = std::min(best, sum / static_cast<double>(a.size()));
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(Flats, ExactModelsAreReachedFromEverySeed) {
  SINEW_NEEDS_DATA();
  const auto truth = read_npy(test::data_folder() / "sequences" / "cylinder" / "truth_weights.npy", 4);
  for (const char* name : {"cylinder", "cube"}) {
    const Sequence sequence = real(name);
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(testing::Message() << name << ", seed " << seed);
      FlatsOptions options = options_of(4);
      options.max_starts = 400;
      options.start_work = 1e12;
      options.seed = seed;
      FitReport report;
      const Rig rig = solve_flats(sequence, options, report);
      EXPECT_LE(evaluate(rig, sequence, 1).e_rms, 0.002);
      if (std::string(name) != "cylinder") continue;
      const auto dense = unpack_weights(rig.weights, 4);
      const std::vector<double> weights(dense.data(), dense.data() + dense.size());
      EXPECT_LE(weight_error(weights, truth, 4), 1e-3);
    }
  }
}

// [Liu2020, Table 3]: the paper's evaluation divides by half the diagonal of the rest pose's bounding box.
TEST(Flats, TheAlternationReproducesThePublishedErrors) {
  SINEW_NEEDS_DATA();
  const struct {
    const char* name;
    int bones;
    double published;
  } rows[] = {{"cat-poses", 10, 5.51},   {"cat-poses", 15, 3.02},   {"cat-poses", 20, 1.32}, {"cat-poses", 25, 0.47},
              {"horse-poses", 10, 4.89}, {"horse-poses", 20, 1.11}, {"pcow", 10, 5.98},      {"pcow", 24, 2.25}};
  for (const auto& row : rows) {
    const Sequence sequence = real(row.name);
    FlatsOptions options = options_of(row.bones);
    options.solver = FlatSolver::alternating;
    FitReport report;
    solve_flats(sequence, options, report);
    ASSERT_FALSE(report.iterations.empty());
    const auto& rest = sequence.rest.positions;
    const double diagonal = (rest.rowwise().maxCoeff() - rest.rowwise().minCoeff()).norm();
    const double unit = smallest_enclosing_sphere(rest).radius / (diagonal / 2);
    EXPECT_NEAR(unit * report.iterations.back().e_rms, row.published, 0.1 * row.published)
        << row.name << " " << row.bones;
  }
}

// [Liu2020, Table 5]: from true per-vertex transforms the simplex gives back the true weights.
TEST(Flats, TheSimplexAroundTrueTransformsHasTheTrueWeights) {
  SINEW_NEEDS_DATA();
  const auto folder = test::data_folder() / "sequences" / "cylinder";
  const auto truth = read_npy(folder / "truth_weights.npy", 4);
  const auto transforms = read_npy(folder / "truth_transforms.npy", 4);  // F×B×3×4
  const Eigen::Index B = 4;
  const auto V = static_cast<Eigen::Index>(truth.size()) / B;
  const Eigen::Index size = static_cast<Eigen::Index>(transforms.size()) / B;
  Eigen::MatrixXd corners(size, B);
  for (Eigen::Index b = 0; b < B; ++b)
    for (Eigen::Index i = 0; i < size; ++i)
      corners(i, b) = transforms[static_cast<std::size_t>((i / 12) * B * 12 + b * 12 + i % 12)];
  Eigen::MatrixXd maps = corners * Eigen::Map<const Eigen::MatrixXd>(truth.data(), B, V);
  maps = maps.colwise() - Eigen::VectorXd(maps.rowwise().mean());
  const SymmetricEigen eigen = symmetric_eigen(Eigen::MatrixXd(maps * maps.transpose()));
  const EnclosingSimplex simplex = minimum_volume_simplex(eigen.vectors.rightCols(3).transpose() * maps, {});
  const std::vector<double> weights(simplex.weights.data(), simplex.weights.data() + simplex.weights.size());
  EXPECT_LE(weight_error(weights, truth, 4), 2.1e-5);
}

}  // namespace
}  // namespace sinew
