#include "sinew/solve/clusters.h"

#include <set>

#include "sinew/evaluate/errors.h"
#include "support/matchers.h"
#include "support/support.h"
#include "support/zoo.h"

namespace sinew {
namespace {

/// Tetrahedra that each move rigidly in their own way.
Sequence rigid_parts(Index parts) {
  Sequence sequence = test::bend("parts", test::scattered_tetrahedra(parts), 7);
  for (std::size_t f = 0; f < sequence.frame_count(); ++f)
    for (Index v = 0; v < 4 * parts; ++v) {
      const auto part = static_cast<float>(v / 4);
      const auto t = static_cast<float>(f + 1);
      const Eigen::AngleAxisf turn(0.2F * t + 0.1F * part, Vector3(std::sin(part), std::cos(part), 0));
      sequence.frames[f].col(v) =
          turn * Vector3(sequence.rest.positions.col(v)) + Vector3(std::sin(t * part), 0.3F * t, part);
    }
  return sequence;
}

TEST(Clusters, RecoverPlantedRigidPartsToRoundOff) {
  const Sequence sequence = rigid_parts(6);
  FitReport report;
  ClustersOptions options;
  options.bones = 6;
  const Rig rig = solve_clusters(sequence, options, report);
  rig.check();
  EXPECT_EQ(rig.bone_count(), 6U);
  EXPECT_LT(evaluate(rig, sequence).e_rms, 1e-3);
  for (Index v = 0; v < 24; ++v) EXPECT_EQ(rig.weights.bones[v], rig.weights.bones[v / 4 * 4]) << v;
  EXPECT_EQ(std::set<Index>(rig.weights.bones.begin(), rig.weights.bones.end()).size(), 6U);
}

TEST(Clusters, MoreBonesThanPartsAreNotInvented) {
  const Sequence sequence = rigid_parts(3);
  FitReport report;
  ClustersOptions options;
  options.bones = 40;
  const Rig rig = solve_clusters(sequence, options, report);
  rig.check();
  EXPECT_LE(rig.bone_count(), 12U);
  EXPECT_EQ(report.bones, static_cast<int>(rig.bone_count()));
  EXPECT_THAT(report.remark, ::testing::HasSubstr("40 bones were asked for"));
}

TEST(Clusters, HandleTheWholeZoo) {
  for (const Sequence& sequence : test::zoo()) {
    SCOPED_TRACE(sequence.name);
    FitReport report;
    ClustersOptions options;
    options.bones = 4;
    const Rig rig = solve_clusters(sequence, options, report);
    EXPECT_NO_THROW(rig.check());
    EXPECT_THAT(rig.weights, test::HasConvexRows(1));
    EXPECT_TRUE(std::isfinite(evaluate(rig, sequence).e_rms));
  }
}

TEST(Clusters, SameBitsForOneTwoAndSevenThreads) {
  const Sequence sequence = test::bend("grid", test::grid_mesh(30, 20));
  std::vector<Rig> rigs;
  for (const int threads : {1, 2, 7}) {
    FitReport report;
    ClustersOptions options;
    options.bones = 7;
    options.threads = threads;
    rigs.push_back(solve_clusters(sequence, options, report));
  }
  for (const Rig& rig : rigs) {
    EXPECT_EQ(rig.weights.bones, rigs[0].weights.bones);
    for (std::size_t f = 0; f < rig.frame_count(); ++f)
      for (std::size_t b = 0; b < rig.bone_count(); ++b) EXPECT_EQ(rig.motion(f, b), rigs[0].motion(f, b));
  }
}

TEST(Clusters, ACancelledSolveGivesItsBestSoFar) {
  const Sequence sequence = test::bend("grid", test::grid_mesh(30, 20));
  FitReport report;
  ClustersOptions options;
  options.bones = 30;
  const Rig rig =
      solve_clusters(sequence, options, report, [](std::string_view /*step*/, double /*fraction*/) { return false; });
  rig.check();
  EXPECT_EQ(report.termination, Termination::cancelled);
  EXPECT_LT(rig.bone_count(), 30U);
}

TEST(Clusters, RefuseNoBones) {
  FitReport report;
  test::expect_error(ErrorKind::usage, "0 bones", [&] {
    solve_clusters(rigid_parts(2), ClustersOptions{0, 1, 1}, report);
  });
}

}  // namespace
}  // namespace sinew
