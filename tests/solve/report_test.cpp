#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinew/solve/clusters.h"
#include "sinew/solve/flats.h"
#include "sinew/solve/skeleton.h"
#include "sinew/solve/sma.h"
#include "sinew/solve/ssdr.h"
#include "support/support.h"
#include "support/zoo.h"

// What every solver owes its report: it begins empty, and it says truly why the solve ended.
namespace sinew {
namespace {

struct Solver {
  std::string name;
  std::function<Rig(const Sequence&, FitReport&, const Progress&)> solve;
};

void PrintTo(const Solver& solver, std::ostream* out) {
  *out << solver.name;
}

/// Few bones, so that each takes a moment.
template <class Options>
Options small() {
  Options options;
  options.bones = 3;
  return options;
}

std::vector<Solver> solvers() {
  return {{"ssdr",
           [](const Sequence& s, FitReport& r, const Progress& p) {
             SsdrOptions options = small<SsdrOptions>();
             options.quality = Quality::fast;
             return solve_ssdr(s, options, r, p);
           }},
          {"flats", [](const Sequence& s, FitReport& r,
                       const Progress& p) { return solve_flats(s, small<FlatsOptions>(), r, p); }},
          {"clusters", [](const Sequence& s, FitReport& r,
                          const Progress& p) { return solve_clusters(s, small<ClustersOptions>(), r, p); }},
          {"skeleton",
           [](const Sequence& s, FitReport& r, const Progress& p) {
             SkeletonOptions options;
             options.clusters = 4;
             options.max_bones = 3;
             options.moves = 2;
             return solve_skeleton(s, options, r, p);
           }},
          {"sma", [](const Sequence& s, FitReport& r, const Progress& p) {
             SmaOptions options;
             options.epsilon = 0.3;
             return solve_sma(s, options, r, p);
           }}};
}

Sequence grid() {
  return test::bend("grid", test::grid_mesh(12, 8), 6);
}

class EveryReport : public ::testing::TestWithParam<Solver> {};

TEST_P(EveryReport, SpeaksOfTheLastSolveAlone) {
  FitReport fresh;
  GetParam().solve(grid(), fresh, {});
  FitReport reused;
  reused.method = "of another";
  reused.remark = "nothing moves";
  reused.iterations = {{1, 2}, {3, 4}};
  reused.search = {{7, 0.5}, {8, 0.4}};
  reused.seconds = {{"elsewhere", 3.0}};
  GetParam().solve(grid(), reused, {});
  EXPECT_EQ(reused.method, GetParam().name);
  EXPECT_EQ(reused.remark, fresh.remark);
  EXPECT_EQ(reused.iterations.size(), fresh.iterations.size());
  EXPECT_EQ(reused.search.size(), fresh.search.size());
  for (const auto& [step, seconds] : reused.seconds) EXPECT_NE(step, "elsewhere");
}

TEST_P(EveryReport, SaysThatItWasStopped) {
  FitReport report;
  try {
    GetParam().solve(grid(), report, [](std::string_view /*step*/, double /*fraction*/) { return false; });
  } catch (const Error& error) {  // before there was anything to hand out
    EXPECT_EQ(error.kind(), ErrorKind::interrupted);
    return;
  }
  EXPECT_EQ(report.termination, Termination::cancelled);
}

TEST_P(EveryReport, RefusesFramesOfAnotherMesh) {
  Sequence sequence = grid();
  sequence.frames = Frames(4, sequence.vertex_count() + 1);
  FitReport report;
  EXPECT_THROW(GetParam().solve(sequence, report, {}), Error);
}

INSTANTIATE_TEST_SUITE_P(All, EveryReport, ::testing::ValuesIn(solvers()),
                         [](const auto& tested) { return tested.param.name; });

TEST(Report, SaysWhereTheRoundsRanOut) {
  FitReport report;
  SsdrOptions ssdr;
  ssdr.bones = 4;
  ssdr.quality = Quality::fast;
  ssdr.max_iterations = 1;
  ssdr.tolerance = 0;
  solve_ssdr(grid(), ssdr, report);
  EXPECT_EQ(report.termination, Termination::iteration_limit);
  ClustersOptions clusters;
  clusters.bones = 6;
  clusters.max_iterations = 1;
  solve_clusters(grid(), clusters, report);
  EXPECT_EQ(report.termination, Termination::iteration_limit);
  SmaOptions sma;
  sma.epsilon = 0.3;
  sma.iterations = 1;
  solve_sma(grid(), sma, report);
  EXPECT_EQ(report.termination, Termination::iteration_limit);
  SkeletonOptions skeleton;
  skeleton.max_bones = 3;
  skeleton.moves = 0;
  skeleton.strict_iterations = 1;
  solve_skeleton(grid(), skeleton, report);
  EXPECT_EQ(report.termination, Termination::iteration_limit);
  sma.iterations = 0;
  solve_sma(grid(), sma, report);
  EXPECT_EQ(report.termination, Termination::converged);
}

TEST(Report, OfSmaHasTheErrorOfEveryTry) {
  FitReport report;
  SmaOptions options;
  options.bones = 2;
  solve_sma(grid(), options, report);
  ASSERT_FALSE(report.search.empty());
  for (const SearchRecord& tried : report.search) EXPECT_GT(tried.e_rms, 0) << tried.bones << " bones";
}

}  // namespace
}  // namespace sinew
