#include "solve/lbs/on_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <random>
#include <utility>

#include "core/index.h"
#include "sinew/core/error.h"
#include "solve/device/host_machine.h"
#include "solve/lbs/motion_clusters.h"
#include "support/zoo.h"

// The passes of a device, with the processor in its place and, in builds for GPUs, on one, against those of the
// processor: kernels, indices, transfers and what stays between passes.
namespace sinew {
namespace {

using namespace lbs;

constexpr int kBones = 11;
constexpr float kClose = 2e-5F;

/// So few rows that the processor forms its products in double as devices do.
Sequence sequence() {
  return test::bend("grid", test::grid_mesh(17, 9), 21);
}

Eigen::MatrixXd random_motions(const Problem& problem, int bones, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 0.05);
  return Eigen::MatrixXd::NullaryExpr(index(3 * problem.frame_count()), 4 * bones, [&] { return normal(random); });
}

enum class Kind { stand_in, cuda };

void PrintTo(Kind kind, std::ostream* out) {
  *out << (kind == Kind::cuda ? "cuda" : "stand_in");
}

/// The same problem on the processor and on a device.
struct Pair {
  Pair(const Sequence& input, Kind kind, double truncation = 0)
      : here(input, {truncation, 1, 1}), there(input, {truncation, 1, 1}) {
    if (kind == Kind::cuda) {
      there.use(device::cuda_passes(0, vertices_of(there)));
    } else {
      there.use(std::make_shared<device::HostPasses>(vertices_of(there)));
    }
  }
  Problem here, there;
};

class OnDevice : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() == Kind::cuda && device::cuda_devices() == 0) GTEST_SKIP() << "no GPU";
  }
};

/// Weights of a vertex by bone.
std::map<int, float> weights_of_vertex(const SparseWeights& weights, std::size_t v) {
  std::map<int, float> out;
  for (std::size_t k = 0; k < weights.count[v]; ++k)
    out[weights.bone[weights.slot(v) + k]] = weights.value[weights.slot(v) + k];
  return out;
}

void expect_same(const SparseWeights& got, const SparseWeights& expected, float within) {
  ASSERT_EQ(got.capacity, expected.capacity);
  for (std::size_t v = 0; v < expected.vertex_count(); ++v) {
    const std::map<int, float> a = weights_of_vertex(got, v), b = weights_of_vertex(expected, v);
    ASSERT_EQ(a.size(), b.size()) << "vertex " << v;
    for (const auto& [bone, value] : b) {
      ASSERT_EQ(a.count(bone), 1U) << "vertex " << v << ", bone " << bone;
      ASSERT_LE(std::abs(a.at(bone) - value), within) << "vertex " << v << ", bone " << bone;
    }
  }
}

void expect_close(const WeightSums& got, const WeightSums& expected) {
  EXPECT_LT((got.S - expected.S).norm(), 1e-6 * expected.S.norm());
  EXPECT_LT((got.C - expected.C).norm(), 1e-6 * expected.C.norm());
  EXPECT_NEAR(got.squares, expected.squares, 1e-6 * (1 + expected.squares));
  EXPECT_EQ(got.exchanges, expected.exchanges);
  ASSERT_EQ(got.residual.size(), expected.residual.size());
  for (std::size_t v = 0; v < got.residual.size(); ++v)
    ASSERT_NEAR(got.residual[v], expected.residual[v], 1e-5 * (1 + expected.residual[v])) << "vertex " << v;
}

TEST_P(OnDevice, WeightsPassesAreThoseOfTheProcessorOneAfterAnother) {
  for (const double truncation : {0.0, 0.05}) {
    const Sequence input = sequence();
    const Pair pair(input, GetParam(), truncation);
    ASSERT_EQ(pair.there.reduced(), truncation > 0);
    SparseWeights here(pair.here.vertex_count(), 4), there = here;
    ExchangeWaits waits_here;
    waits_here.passes.assign(pair.here.vertex_count(), 0);
    waits_here.left = waits_here.passes;
    ExchangeWaits waits_there = waits_here;
    for (int pass = 0; pass < 5; ++pass) {
      const Eigen::MatrixXd D = random_motions(pair.here, kBones, static_cast<std::uint64_t>(3 + pass / 2));
      PassOptions options;
      options.phase = pass;
      options.swap_period = 2;
      options.thorough_period = pass == 4 ? 3 : 0;
      std::vector<std::uint8_t> locked(pair.here.vertex_count(), 0);
      locked[5] = locked[7] = 1;
      if (pass > 0) options.locked = locked;
      WeightSums sums_here, sums_there;
      options.waits = &waits_here;
      weights_pass(pair.here, bone_gram(pair.here, D), options, here, sums_here);
      options.waits = &waits_there;
      weights_pass(pair.there, bone_gram(pair.there, D), options, there, sums_there);
      expect_same(there, here, kClose);
      expect_close(sums_there, sums_here);
      EXPECT_EQ(waits_there.passes, waits_here.passes);
      EXPECT_EQ(waits_there.left, waits_here.left);
    }
    EXPECT_GT(*std::max_element(waits_here.passes.begin(), waits_here.passes.end()), 0);
  }
}

TEST_P(OnDevice, DenseSupportsArePrunedAsByTheProcessor) {
  const Sequence input = sequence();
  const Pair pair(input, GetParam());
  const Eigen::MatrixXd D = random_motions(pair.here, kBones, 5);
  PassOptions options;
  SparseWeights here(pair.here.vertex_count(), kBones), there = here;
  WeightSums sums_here, sums_there;
  for (const int influences : {kBones, 3}) {
    options.influences = influences;
    weights_pass(pair.here, bone_gram(pair.here, D), options, here, sums_here);
    weights_pass(pair.there, bone_gram(pair.there, D), options, there, sums_there);
    expect_same(there, here, kClose);
    expect_close(sums_there, sums_here);
    const int fullest = *std::max_element(here.count.begin(), here.count.end());
    EXPECT_TRUE(influences == 3 ? fullest == 3 : fullest > 3) << fullest;
  }
}

TEST_P(OnDevice, AssignmentsAndRemovalCostsAreThoseOfTheProcessor) {
  const Sequence input = sequence();
  const Pair pair(input, GetParam());
  const Eigen::MatrixXd D = random_motions(pair.here, kBones, 9);
  std::vector<Index> here, there;
  WeightSums sums_here, sums_there;
  assign_pass(pair.here, bone_gram(pair.here, D), here, sums_here);
  assign_pass(pair.there, bone_gram(pair.there, D), there, sums_there);
  EXPECT_EQ(there, here);
  expect_close(sums_there, sums_here);

  SparseWeights weights(pair.here.vertex_count(), 4);
  weights_pass(pair.here, bone_gram(pair.here, D), {}, weights, sums_here);
  const auto costs_here = removal_costs(pair.here, bone_gram(pair.here, D), weights);
  const auto costs_there = removal_costs(pair.there, bone_gram(pair.there, D), weights);
  ASSERT_EQ(costs_there.size(), costs_here.size());
  for (std::size_t b = 0; b < costs_here.size(); ++b)
    EXPECT_NEAR(costs_there[b], costs_here[b], 1e-4 * (1 + costs_here[b])) << "bone " << b;
}

/// A few parts that move rigidly, and their weights.
FitState parts_of(const Problem& problem) {
  const MotionClusters clusters = cluster_by_motion(problem, 6);
  FitState state;
  state.D = clusters.D;
  state.weights = weights_of(clusters, 4);
  return state;
}

TEST_P(OnDevice, IterationsMoveBonesAsTheProcessorDoes) {
  const Sequence input = sequence();
  for (const double truncation : {0.0, 0.05}) {
    const Pair pair(input, GetParam(), truncation);
    for (const Transforms transforms : {Transforms::rigid, Transforms::affine}) {
      FitState here = parts_of(pair.here), there = here;
      RunOptions options;
      options.bones.transforms = transforms;
      options.iterations = 3;  // of which the last begins with motions that are made rigid again
      options.tolerance = 0;
      run(pair.here, options, here);
      run(pair.there, options, there);
      EXPECT_LT((there.D - here.D).norm(), 1e-6 * here.D.norm());
      expect_close(there.sums, here.sums);
      EXPECT_NEAR(there.squares, here.squares, 1e-6 * here.squares);
      expect_same(there.weights, here.weights, kClose);
    }
  }
}

TEST_P(OnDevice, ARunOfIterationsEndsWhereThatOfTheProcessorEnds) {
  const Sequence input = sequence();
  const Pair pair(input, GetParam());
  RunOptions options;
  options.iterations = 12;
  options.patient = true;
  FitState here = parts_of(pair.here), there = here;
  run(pair.here, options, here);
  run(pair.there, options, there);
  EXPECT_NEAR(pair.here.e_rms(there.squares), pair.here.e_rms(here.squares), 0.01 * pair.here.e_rms(here.squares));
  // What comes back belongs together.
  FitState again = there;
  EXPECT_NEAR(squares_of(pair.here, again), there.squares, 1e-5 * pair.here.total_energy());
  EXPECT_EQ(there.waits.passes.size(), pair.there.vertex_count());
}

TEST_P(OnDevice, AnyNumberOfBonesGivesTheSameSupportsAndTheSameBitsAgain) {
  const Sequence input = sequence();
  const Pair pair(input, GetParam());
  for (const auto& [bones, influences] : {std::pair{1, 1}, {20, 4}, {40, 4}, {70, 6}, {120, 120}}) {
    const Eigen::MatrixXd D = random_motions(pair.here, bones, 17);
    PassOptions options;
    options.influences = influences;
    SparseWeights here(pair.here.vertex_count(), influences), there = here, again = here;
    WeightSums sums_here, sums_there, sums_again;
    weights_pass(pair.here, bone_gram(pair.here, D), options, here, sums_here);
    weights_pass(pair.there, bone_gram(pair.there, D), options, there, sums_there);
    weights_pass(pair.there, bone_gram(pair.there, D), options, again, sums_again);
    expect_same(there, here, kClose);
    expect_close(sums_there, sums_here);
    expect_same(again, there, 0);
    EXPECT_EQ(sums_there.S, sums_again.S);
    EXPECT_EQ(sums_there.C, sums_again.C);
    EXPECT_EQ(sums_there.squares, sums_again.squares);
  }
}

INSTANTIATE_TEST_SUITE_P(StandIn, OnDevice, testing::Values(Kind::stand_in));
#ifdef SINEW_CUDA
INSTANTIATE_TEST_SUITE_P(Cuda, OnDevice, testing::Values(Kind::cuda));
#endif

TEST(DeviceMemory, WhereverItEndsAFailureIsThrownAndAllIsGivenBack) {
  const Sequence input = sequence();
  const Problem problem(input, {0.05, 1, 1});
  const Eigen::MatrixXd D = random_motions(problem, kBones, 3);
  const SparseWeights weights(problem.vertex_count(), 4);
  Eigen::MatrixXd S(D.cols(), D.cols()), C(D.rows(), D.cols());
  int alive = 0;
  int failures = 0;
  bool done = false;
  while (!done) {
    ASSERT_LT(failures, 1000);
    try {
      device::HostPasses passes(vertices_of(problem), failures, &alive);
      passes.set_weights({4, weights.count.data(), weights.bone.data(), weights.value.data()});
      device::Sums sums{S.data(), C.data(), 0, 0};
      passes.solve({kBones, D.data()}, {}, sums);
      passes.accept();
      passes.solve({kBones, D.data()}, {}, sums);
      done = true;
    } catch (const device::Failure&) {
      ++failures;
    }
    ASSERT_EQ(alive, 0) << failures;
  }
  EXPECT_GT(failures, 20);
}

TEST(DeviceOption, NumbersOfGpusThatAreNotThereAreRefused) {
  const Sequence input = sequence();
  Problem problem(input);
  Device device;
  ASSERT_TRUE(set_device("cuda:9999", device));
  EXPECT_THROW(put_on_device(device, problem), Error);
  ASSERT_TRUE(set_device("cpu", device));
  EXPECT_EQ(put_on_device(device, problem), "");
  EXPECT_EQ(problem.device(), nullptr);
}

TEST(DeviceOption, NamesOfDevicesAreReadAndNothingElse) {
  Device device;
  EXPECT_TRUE(set_device("cuda:3", device));
  EXPECT_EQ(device.kind, Device::Kind::cuda);
  EXPECT_EQ(device.number, 3);
  EXPECT_TRUE(set_device("auto", device));
  EXPECT_EQ(device.kind, Device::Kind::automatic);
  for (const char* text : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda: 1", "CPU", "cuda:99999999999"})
    EXPECT_FALSE(set_device(text, device)) << text;
}

}  // namespace
}  // namespace sinew
