#include "sinew/rework/edit_rest.h"

#include <cmath>

#include "rework/rework_rigs.h"
#include "sinew/core/bounds.h"
#include "sinew/evaluate/errors.h"
#include "support/support.h"

namespace sinew {
namespace {

Rig edited(const Rig& rig, const Mesh& mesh, EditOptions options = {}, EditReport* out = nullptr) {
  EditReport report;
  Rig result = edit_rest(rig, mesh, options, report);
  result.check();
  if (out != nullptr) *out = report;
  return result;
}

void expect_same_frames(const Rig& a, const Rig& b) {
  ASSERT_EQ(a.frame_count(), b.frame_count());
  EXPECT_EQ(pose_all(a).frames, pose_all(b).frames);
}

TEST(EditRest, TheUneditedRestPoseChangesNothing) {
  Rig rig = test::bending_tube();
  test::add_swelling(rig);
  for (const Rig& one : {rig, test::with_free_bones(rig)})
    for (const CorrectionRule rule : {CorrectionRule::keep, CorrectionRule::rescale}) {
      EditOptions options;
      options.corrections = rule;
      EditReport report;
      const Rig out = edited(one, one.rest, options, &report);
      expect_same_frames(out, one);
      EXPECT_TRUE(report.same_faces);
      EXPECT_EQ(report.joints_percent, 0);
      for (std::size_t b = 0; b < one.bone_count(); ++b) EXPECT_EQ(out.bones[b].head, one.bones[b].head);
    }
}

TEST(EditRest, EveryRigOfTheZooComesBackAsItWas) {
  for (const Sequence& sequence : test::zoo()) {
    SCOPED_TRACE(sequence.name);
    const Rig rig = test::rig_over(sequence);
    expect_same_frames(edited(rig, rig.rest), rig);
  }
}

/// The largest edge in any frame, against its length at rest.
double largest_stretch(const Rig& rig) {
  const std::vector<Index> triangles = triangles_of(rig.rest);
  const Sequence posed = pose_all(rig);
  float worst = 0;
  for (std::size_t f = 0; f < posed.frame_count(); ++f)
    for (std::size_t t = 0; t < triangles.size(); t += 3) {
      const auto length = [&](const auto& x) { return (x.col(triangles[t]) - x.col(triangles[t + 1])).norm(); };
      worst = std::max(worst, length(std::as_const(posed.frames)[f]) / length(rig.rest.positions));
    }
  return static_cast<double>(worst);
}

TEST(EditRest, ATubeTwiceAsLargeBendsAsTheTubeDid) {
  const Rig rig = test::bending_tube();
  Mesh large = rig.rest;
  large.positions *= 2;
  large.positions.colwise() += Vector3(1, 2, -1);
  for (const Rig& one : {rig, test::with_free_bones(rig)}) {
    const Rig out = edited(one, large);
    // Joints are twice as far apart, and no seam opens.
    for (std::size_t b = 0; b < 3; ++b)
      EXPECT_LT((out.bones[b].head - (2 * rig.bones[b].head + Vector3(1, 2, -1))).norm(), 2e-3F) << b;
    EXPECT_NEAR(largest_stretch(out), largest_stretch(rig), 0.02);
    // Frame by frame it is the first tube, twice as large, somewhere else.
    for (std::size_t f = 0; f < rig.frame_count(); ++f) {
      Points before(3, large.positions.cols());
      Points after = before;
      pose(rig, f, before);
      pose(out, f, after);
      before.colwise() -= Vector3(before.rowwise().mean());
      after.colwise() -= Vector3(after.rowwise().mean());
      EXPECT_LT((after - 2 * before).colwise().norm().maxCoeff(), 0.02F) << f;
    }
  }
}

TEST(EditRest, JointsThatStayTearWhatIsScaled) {
  const Rig rig = test::with_free_bones(test::bending_tube());
  Mesh large = rig.rest;
  large.positions *= 2;
  EditOptions stay;
  stay.follow = 0;
  EXPECT_GT(largest_stretch(edited(rig, large, stay)), 1.2 * largest_stretch(edited(rig, large)));
}

TEST(EditRest, ASpikeTurnsWithTheBoneItStandsOn) {
  const Rig rig = test::bending_tube();
  Mesh spiky = rig.rest;
  Eigen::Index tip = 0;
  rig.rest.positions.row(1).maxCoeff(&tip);  // at the end of the last bone alone
  const Vector3 spike(0.4F, 0.1F, -0.2F);
  spiky.positions.col(tip) += spike;
  EditReport report;
  const Rig out = edited(rig, spiky, {}, &report);
  EXPECT_LT(report.joints_percent, 0.5);
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    Points before(3, spiky.positions.cols());
    Points after = before;
    pose(rig, f, before);
    pose(out, f, after);
    EXPECT_LT((after.col(tip) - before.col(tip) - rig.motion(f, 2).leftCols<3>() * spike).norm(), 0.02F);
  }
}

TEST(EditRest, CorrectionsAreKeptDroppedOrRescaled) {
  Rig rig = test::bending_tube();
  test::add_swelling(rig);
  Mesh large = rig.rest;
  large.positions *= 3;
  EditOptions options;
  EXPECT_EQ(edited(rig, large, options).corrections->offsets[0], rig.corrections->offsets[0]);
  options.corrections = CorrectionRule::rescale;
  EXPECT_TRUE(edited(rig, large, options).corrections->offsets[0].isApprox(3 * rig.corrections->offsets[0], 1e-4F));
  options.corrections = CorrectionRule::drop;
  EXPECT_FALSE(edited(rig, large, options).corrections.has_value());
}

TEST(EditRest, AnotherMeshInPlaceTakesItsWeightsFromTheRig) {
  const Rig rig = test::bending_tube(24, 31);
  const Rig other = test::bending_tube(40, 45);
  EditReport report;
  const Rig out = edited(rig, other.rest, {}, &report);
  EXPECT_FALSE(report.same_faces);
  EXPECT_EQ(report.transfer.vertices, other.vertex_count());
  EXPECT_LT(evaluate(out, pose_all(other), 1).rmse_percent, 0.3);
}

TEST(EditRest, PolygonsAreTheSameMeshAsTheirTriangles) {
  Mesh quads = test::grid_mesh(3, 2);
  Mesh triangles = quads;
  quads.face_sizes = {4, 4};
  quads.corners = {0, 1, 4, 3, 1, 2, 5, 4};
  EXPECT_TRUE(same_faces(quads, triangles));
  triangles.corners.back() = 0;
  EXPECT_FALSE(same_faces(quads, triangles));
  EXPECT_FALSE(same_faces(quads, test::grid_mesh(3, 3)));
}

TEST(EditRest, NormalsOfTheMeshTurnWithItsSurface) {
  Rig rig = test::rig_over(test::bend("sheet", test::grid_mesh(5, 4)));
  rig.rest.normals.values = {0, 0, 1};
  rig.rest.normals.indices.assign(rig.rest.corners.size(), 0);
  Mesh turned = rig.rest;
  for (Eigen::Index v = 0; v < turned.positions.cols(); ++v) turned.positions(2, v) = turned.positions(0, v);
  const Rig out = edited(rig, turned);
  const Vector3 expected = Vector3(-1, 0, 1).normalized();
  for (std::size_t i = 0; i < out.rest.normals.values.size(); i += 3)
    EXPECT_LT((Eigen::Map<const Vector3>(out.rest.normals.values.data() + i) - expected).norm(), 1e-5F);
}

TEST(EditRest, RefusesWhatCannotBe) {
  const Rig rig = test::bending_tube(8, 7, 2);
  EditOptions options;
  options.follow = 2;
  test::expect_error(ErrorKind::usage, "follow", [&] { edited(rig, rig.rest, options); });
  options = {};
  options.reach = 0;
  test::expect_error(ErrorKind::usage, "reach", [&] { edited(rig, rig.rest, options); });
  Mesh broken = rig.rest;
  broken.positions(1, 3) = INFINITY;
  test::expect_error(ErrorKind::input, "edited rest pose", [&] { edited(rig, broken); });
}

}  // namespace
}  // namespace sinew
