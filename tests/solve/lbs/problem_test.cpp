#include "solve/lbs/problem.h"
#include "solve/lbs/weight_samples.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/index.h"
#include "support/support.h"
#include "support/zoo.h"

namespace sinew {
namespace {

using namespace lbs;

TEST(Problem, TrajectoriesAreScaledPositionsWithoutTheCommonMotion) {
  const Sequence sequence = test::bend("grid", test::grid_mesh(9, 5), 7);
  const Problem problem(sequence);
  ASSERT_FALSE(problem.reduced());
  const Scaling& scaling = problem.scaling();
  std::vector<float> scratch;
  double energy = 0;
  for (std::size_t v = 0; v < problem.vertex_count(); ++v) {
    const Eigen::Map<const Eigen::VectorXf> y(problem.block(v, 1, scratch), index(problem.row_count()));
    for (std::size_t f = 0; f < problem.frame_count(); ++f) {
      const Eigen::Vector3d x = (sequence.frames[f].col(index(v)).cast<double>() - scaling.center) * scaling.scale;
      const Eigen::Vector3d common =
          problem.common().middleRows<3>(index(3 * f)) * problem.rest().col(index(v)).homogeneous();
      EXPECT_LT((y.segment<3>(index(3 * f)).cast<double>() - (x - common)).norm(), 1e-5) << v << " in frame " << f;
      energy += (x - common).squaredNorm();
    }
  }
  EXPECT_NEAR(problem.total_energy(), energy, 1e-5 * energy);
  EXPECT_LE(problem.rest().colwise().norm().maxCoeff(), 1 + 1e-6);
}

TEST(Problem, AReducedOneLeavesOutNoMoreThanItIsAllowed) {
  const Sequence sequence = test::bend("grid", test::grid_mesh(30, 20), 60);
  const Problem whole(sequence);
  const double allowed = 0.5;
  const Problem reduced(sequence, {allowed, 1, 1});
  ASSERT_TRUE(reduced.reduced());
  EXPECT_LT(reduced.row_count(), whole.row_count());
  std::vector<float> scratch, scratch_whole;
  double left_out = 0;
  for (std::size_t v = 0; v < whole.vertex_count(); ++v) {
    const Eigen::Map<const Eigen::VectorXf> y(whole.block(v, 1, scratch_whole), index(whole.row_count()));
    const Eigen::Map<const Eigen::VectorXf> z(reduced.block(v, 1, scratch), index(reduced.row_count()));
    left_out += (y - reduced.basis() * z).cast<double>().squaredNorm();
  }
  EXPECT_LE(whole.e_rms(left_out), 1.01 * allowed);
}

TEST(Problem, MotionsGoToTheInputsUnitAndBack) {
  const Sequence sequence = test::bend("grid", test::grid_mesh(6, 4), 3);
  const Problem problem(sequence);
  Eigen::Matrix<double, 3, 4> scaled;
  scaled << 0.9, 0.1, 0, 0.3, -0.1, 0.8, 0.2, -0.1, 0, 0.1, 1.1, 0.7;
  EXPECT_LT((problem.to_scaled(problem.to_input(scaled)) - scaled).norm(), 1e-5);
}

TEST(Problem, ASampleHasTheSameTrajectories) {
  const Sequence sequence = test::bend("grid", test::grid_mesh(12, 9), 5);
  const Problem problem(sequence);
  const std::vector<Index> chosen = spread_vertices(problem.vertex_count(), 10);
  const Problem part = problem.sample(chosen);
  ASSERT_EQ(part.vertex_count(), chosen.size());
  std::vector<float> scratch, scratch_part;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Eigen::Map<const Eigen::VectorXf> y(problem.block(chosen[i], 1, scratch), index(problem.row_count()));
    const Eigen::Map<const Eigen::VectorXf> z(part.block(i, 1, scratch_part), index(part.row_count()));
    EXPECT_EQ(y, z) << "vertex " << chosen[i];
  }
}

/// The same sequence with its frames in a scratch file, and little memory for what is made of them.
Sequence in_a_file(const Sequence& sequence, const std::filesystem::path& folder, std::size_t memory) {
  Sequence out = sequence;
  out.frames = Frames(sequence.frame_count(), sequence.vertex_count(), Paging{0, memory, folder});
  for (std::size_t f = 0; f < sequence.frame_count(); ++f) out.frames[f] = sequence.frames[f];
  return out;
}

TEST(Problem, SomeOfTheFramesHaveTheTrajectoriesOfThese) {
  const Sequence sequence = test::bend("grid", test::grid_mesh(12, 9), 40);
  const std::vector<Index> vertices = {3, 17, 18, 90, 107};
  const std::vector<Index> frames = {0, 4, 5, 31};
  for (const double truncation : {0.0, 0.1}) {
    const Problem whole(sequence, {truncation, 1, 1});
    ASSERT_EQ(whole.reduced(), truncation > 0);
    const Problem some = whole.sample(vertices).at_frames(frames, 0, 1);
    const Problem exact = Problem(sequence).sample(vertices);
    ASSERT_EQ(some.row_count(), 3 * frames.size());
    std::vector<float> scratch;
    for (std::size_t v = 0; v < vertices.size(); ++v) {
      const Eigen::Map<const Eigen::VectorXf> y(some.block(v, 1, scratch), index(some.row_count()));
      const Eigen::Map<const Eigen::VectorXf> z(exact.block(v, 1, scratch), index(exact.row_count()));
      for (std::size_t i = 0; i < frames.size(); ++i)
        EXPECT_LT((y.segment<3>(index(3 * i)) - z.segment<3>(index(3 * std::size_t{frames[i]}))).norm(),
                  truncation > 0 ? 2e-3 : 1e-6)
            << vertices[v] << " in frame " << frames[i];
      EXPECT_NEAR(some.energy()[v], y.squaredNorm(), 1e-6 + 1e-5 * y.squaredNorm());
    }
  }
}

TEST(Problem, MotionsInFramesThatWereLeftOutAreThoseOfTheNearestBesideTheCommonMotion) {
  const Sequence sequence = test::bend("grid", test::grid_mesh(9, 5), 9);
  const Problem problem(sequence);
  const std::vector<Index> frames = {0, 4, 8};
  Eigen::MatrixXd D(27, 8);
  for (Eigen::Index row = 0; row < D.rows(); ++row)
    for (Eigen::Index column = 0; column < D.cols(); ++column)
      D(row, column) = 0.1 * static_cast<double>((5 * row + 3 * column) % 11);
  const Eigen::MatrixXd spread = spread_motions(problem, frames, motions_at(D, frames));
  const std::size_t nearest[] = {0, 0, 0, 4, 4, 4, 4, 8, 8};
  for (std::size_t f = 0; f < 9; ++f) {
    const auto turn = [&](std::size_t of) { return problem.common().block<3, 3>(index(3 * of), 0); };
    const Eigen::MatrixXd own = turn(f).transpose() * spread.middleRows<3>(index(3 * f));
    const Eigen::MatrixXd there = turn(nearest[f]).transpose() * D.middleRows<3>(index(3 * nearest[f]));
    EXPECT_LT((own - there).norm(), 1e-9) << f;
  }
}

TEST(Problem, FramesInAFileGiveTheBitsOfThoseInMemory) {
  const test::TemporaryFolder folder;
  const Sequence sequence = test::bend("grid", test::grid_mesh(30, 20), 60);
  for (const double truncation : {0.0, 0.5}) {
    for (const std::size_t memory : {std::size_t{30000}, std::size_t{100} << 20}) {  // trajectories in a file, or not
      SCOPED_TRACE(testing::Message() << "truncation " << truncation << ", memory " << memory);
      const Problem plain(sequence, {truncation, 2, 1});
      const Sequence paged = in_a_file(sequence, folder.path(), memory);
      const Problem problem(paged, {truncation, 2, 1});
      EXPECT_EQ(problem.reduced(), truncation > 0);
      EXPECT_EQ(problem.common(), plain.common());
      EXPECT_EQ(problem.basis(), plain.basis());
      EXPECT_EQ(problem.energy(), plain.energy());
      EXPECT_EQ(problem.total_energy(), plain.total_energy());
      ASSERT_EQ(problem.row_count(), plain.row_count());
      std::vector<float> scratch, scratch_plain;
      for (std::size_t v = 0; v < plain.vertex_count(); v += 7) {
        const std::size_t count = std::min<std::size_t>(3, plain.vertex_count() - v);
        const auto numbers = index(count * plain.row_count());
        EXPECT_EQ(Eigen::Map<const Eigen::VectorXf>(problem.block(v, count, scratch), numbers),
                  Eigen::Map<const Eigen::VectorXf>(plain.block(v, count, scratch_plain), numbers));
      }
      const std::vector<Index> chosen = spread_vertices(plain.vertex_count(), 50);
      EXPECT_EQ(problem.sample(chosen).total_energy(), plain.sample(chosen).total_energy());
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace sinew
