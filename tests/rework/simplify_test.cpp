#include <cmath>
#include <map>

#include "rework/rework_rigs.h"
#include "sinew/evaluate/surface_distance.h"
#include "sinew/io/gltf.h"
#include "sinew/make/character.h"
#include "sinew/rework/lod.h"
#include "support/support.h"

namespace sinew {
namespace {

LodLevel level_of(const Rig& rig, std::size_t triangles, LodOptions options = {}) {
  options.triangles = triangles;
  options.threads = 1;
  LodReport report;
  LodLevel out = simplify(rig, options, report).front();
  out.rig.check();
  EXPECT_EQ(out.triangles, out.rig.rest.face_count());
  return out;
}

TEST(Simplify, AFlatSheetThatStaysFlatLosesNothing) {
  Rig rig = test::rig_over(test::bend("sheet", test::grid_mesh(20, 15)));
  rig.weights = {1, std::vector<Index>(rig.vertex_count(), 0), std::vector<float>(rig.vertex_count(), 1.0F)};
  const LodLevel out = level_of(rig, 60);
  EXPECT_LE(out.triangles, 60U);
  EXPECT_LT(out.error_percent, 0.3);  // its border has a rounding of its own: the columns are at unequal distances
  EXPECT_LT(surface_distance(rig, out.rig, 1).max(), 1.0);
}

TEST(Simplify, SeesTheFramesInWhichAStraightTubeBends) {
  // At rest the tube has no features along its length: only the frames say where its rings are needed.
  const Rig rig = test::bending_tube(24, 61, 9);
  LodOptions still;
  still.frames = 0;
  const double seen = surface_distance(rig, level_of(rig, 300).rig, 1).mean();
  const double unseen = surface_distance(rig, level_of(rig, 300, still).rig, 1).mean();
  EXPECT_LT(seen, 0.5 * unseen);
}

TEST(Simplify, SeesWhatCorrectionsDo) {
  Rig rig = test::bending_tube(24, 61, 9);
  test::add_swelling(rig);
  rig.corrections->offsets[0] *= 4;
  const LodLevel out = level_of(rig, 500);
  ASSERT_TRUE(out.rig.corrections.has_value());
  const double with = surface_distance(rig, out.rig, 1).mean();
  Rig without = out.rig;
  without.corrections.reset();
  EXPECT_LT(with, 0.2 * surface_distance(rig, without, 1).mean());
}

TEST(Simplify, FittedLevelsAreCloserFromBothSides) {
  CharacterOptions character;
  character.vertices = 3000;
  character.walk_frames = 8;
  character.wave_frames = 4;
  character.threads = 1;
  const Rig rig = make_character(character).truth;
  LodOptions plain;
  plain.fit = false;
  const std::size_t triangles = triangles_of(rig.rest).size() / 3 / 6;
  const SurfaceDistance as_collapsed = surface_distance(rig, level_of(rig, triangles, plain).rig, 1);
  const SurfaceDistance fitted = surface_distance(rig, level_of(rig, triangles).rig, 1);
  EXPECT_LT(fitted.forward_mean, 0.85 * as_collapsed.forward_mean);
  EXPECT_LT(fitted.backward_mean, 0.85 * as_collapsed.backward_mean);
  EXPECT_LT(fitted.max(), 1.25 * as_collapsed.max());
}

TEST(Simplify, FittingLeavesBordersWhereTheCollapsesPutThem) {
  const Rig rig = test::bending_tube(24, 61, 9);
  LodOptions plain;
  plain.fit = false;
  const Mesh before = level_of(rig, 300, plain).rig.rest;
  const Mesh after = level_of(rig, 300).rig.rest;
  ASSERT_EQ(before.corners, after.corners);
  std::map<std::pair<Index, Index>, int> triangles;
  for (std::size_t c = 0; c < before.corners.size(); ++c)
    ++triangles[std::minmax(before.corners[c], before.corners[c % 3 == 2 ? c - 2 : c + 1])];
  int borders = 0;
  for (const auto& [edge, count] : triangles) {
    if (count == 2) continue;
    ++borders;
    for (const Index v : {edge.first, edge.second}) EXPECT_EQ(before.positions.col(v), after.positions.col(v));
  }
  EXPECT_GT(borders, 8);
  EXPECT_GT((before.positions - after.positions).norm(), 0.01);
}

TEST(Simplify, LevelsHalveAndGetFarther) {
  const Rig rig = test::bending_tube(24, 41);
  LodOptions options;
  options.levels = 4;
  options.threads = 1;
  LodReport report;
  const std::vector<LodLevel> levels = simplify(rig, options, report);
  ASSERT_EQ(levels.size(), 4U);
  double last = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(levels[i].triangles), static_cast<double>(report.triangles >> (i + 1)), 3);
    const double distance = surface_distance(rig, levels[i].rig, 1).mean();
    EXPECT_GT(distance, last);
    last = distance;
  }
}

TEST(Simplify, StaysBelowTheErrorAskedFor) {
  const Rig rig = test::bending_tube(24, 41);
  LodOptions options;
  options.max_error = 0.2;
  options.threads = 1;
  LodReport report;
  const LodLevel out = simplify(rig, options, report).front();
  EXPECT_LE(out.error_percent, 0.2);
  EXPECT_LT(out.triangles, report.triangles / 2);
  EXPECT_LT(surface_distance(rig, out.rig, 1).mean(), 0.4);
}

/// How many edges two triangles of the same direction share: none on a surface that kept its topology.
int bad_edges(const Mesh& mesh) {
  std::map<std::pair<Index, Index>, int> seen;
  int bad = 0;
  for (std::size_t t = 0; t < mesh.corners.size(); t += 3)
    for (std::size_t i = 0; i < 3; ++i) bad += ++seen[{mesh.corners[t + i], mesh.corners[t + (i + 1) % 3]}] > 1 ? 1 : 0;
  return bad;
}

TEST(Simplify, ASurfaceStaysASurface) {
  const Rig rig = test::bending_tube(24, 41);
  for (const std::size_t triangles : {900, 300, 60, 1}) EXPECT_EQ(bad_edges(level_of(rig, triangles).rig.rest), 0);
}

TEST(Simplify, TextureSeamsStayWhereTheyAre) {
  // Two charts meet in the middle of a sheet: left of it u runs from 0 to 0.4, right of it from 0.6 to 1.
  Rig rig = test::rig_over(test::bend("sheet", test::grid_mesh(17, 9)));
  Mesh& mesh = rig.rest;
  const float width = mesh.positions.row(0).maxCoeff();
  const float middle = mesh.positions(0, 8);
  CornerAttribute<2> uv;
  for (std::size_t c = 0; c < mesh.corners.size(); ++c) {
    const std::size_t face = c / 3;
    const float centre = (mesh.positions(0, mesh.corners[3 * face]) + mesh.positions(0, mesh.corners[3 * face + 1]) +
                          mesh.positions(0, mesh.corners[3 * face + 2])) /
                         3;
    const Vector3 p = mesh.positions.col(mesh.corners[c]);
    const float u = centre < middle ? 0.4F * p.x() / middle : 0.6F + 0.4F * (p.x() - middle) / (width - middle);
    uv.values.insert(uv.values.end(), {u, p.y() / 11});
    uv.indices.push_back(static_cast<Index>(c));
  }
  mesh.uv_sets.push_back(uv);
  const Rig out = level_of(rig, 90).rig;
  ASSERT_EQ(out.rest.uv_sets.size(), 1U);
  ASSERT_LE(out.rest.face_count(), 90U);
  for (std::size_t c = 0; c < out.rest.corners.size(); ++c) {
    const float u = out.rest.uv_sets[0].values[2 * out.rest.uv_sets[0].indices[c]];
    const float x = out.rest.positions(0, out.rest.corners[c]);
    const float left = 0.4F * x / middle;
    const float right = 0.6F + 0.4F * (x - middle) / (width - middle);
    EXPECT_LT(std::min(std::abs(u - left), std::abs(u - right)), 0.03F) << x << " has u " << u;
    EXPECT_TRUE(u < 0.41F || u > 0.59F) << u;
  }
}

TEST(Simplify, SameBitsForAnyThreads) {
  const Rig rig = test::bending_tube(20, 31);
  LodOptions options;
  options.threads = 2;
  LodReport report;
  const Rig two = simplify(rig, options, report).front().rig;
  options.threads = 1;
  const Rig one = simplify(rig, options, report).front().rig;
  EXPECT_EQ(one.rest.positions, two.rest.positions);
  EXPECT_EQ(one.weights.values, two.weights.values);
}

TEST(Simplify, MovingAndScalingTheRigMovesAndScalesTheLevel) {
  const Rig rig = test::bending_tube(20, 31);
  Rig moved = rig;
  moved.jointed = false;
  moved.transforms = Transforms::affine;
  for (Points* points : {&moved.rest.positions}) *points *= 4;
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < 3; ++b) moved.motion(f, b).col(3) *= 4;
  const double a = surface_distance(rig, level_of(rig, 300).rig, 1).mean();
  const double b = surface_distance(moved, level_of(moved, 300).rig, 1).mean();
  EXPECT_NEAR(a, b, 0.05 * a);
}

TEST(Simplify, TakesEveryMeshOfTheZooThatHasFaces) {
  for (const Sequence& sequence : test::zoo()) {
    SCOPED_TRACE(sequence.name);
    const Rig rig = test::rig_over(sequence);
    if (rig.rest.face_count() == 0) {
      test::expect_error(ErrorKind::input, "no faces", [&] { level_of(rig, 1); });
      continue;
    }
    level_of(rig, triangles_of(rig.rest).size() / 6 + 1);
  }
}

TEST(Simplify, RefusesWhatCannotBe) {
  const Rig rig = test::bending_tube(8, 7, 2);
  LodReport report;
  LodOptions options;
  options.ratio = 0;
  test::expect_error(ErrorKind::usage, "ratio", [&] { simplify(rig, options, report); });
  options = {};
  options.levels = 0;
  test::expect_error(ErrorKind::usage, "levels", [&] { simplify(rig, options, report); });
  options = {};
  options.frames = -1;
  test::expect_error(ErrorKind::usage, "not negative", [&] { simplify(rig, options, report); });
}

TEST(LevelsInOneFile, AreReadAsTheFinest) {
  const Rig rig = test::bending_tube(16, 21);
  LodOptions options;
  options.levels = 2;
  LodReport report;
  const std::vector<LodLevel> levels = simplify(rig, options, report);
  const std::vector<Rig> all{rig, levels[0].rig, levels[1].rig};
  const std::vector<std::byte> bytes = glb_levels_bytes(all);
  const Rig back = parse_gltf_rig(bytes, {});
  EXPECT_EQ(back.vertex_count(), rig.vertex_count());
  EXPECT_LT(surface_distance(rig, back, 1).max(), 1e-3);
  Rig other = rig;
  other.bones.pop_back();
  test::expect_error(ErrorKind::input, "", [&] { glb_levels_bytes(std::vector<Rig>{rig, other}); });
  test::expect_error(ErrorKind::usage, "no level", [&] { glb_levels_bytes({}); });
}

TEST(SurfaceDistance, OfTwoSheetsIsTheirGap) {
  const Rig one = test::rig_over(test::bend("sheet", test::grid_mesh(6, 5), 3));
  Rig other = one;
  other.rest.positions.row(2).array() += 0.01F;
  for (Rig* rig : {&other}) rig->motion = one.motion;
  const SurfaceDistance distance = surface_distance(one, other, 1);
  const Vector3 size = one.rest.positions.rowwise().maxCoeff() - one.rest.positions.rowwise().minCoeff();
  EXPECT_NEAR(distance.mean(), 1 / static_cast<double>(size.norm()), 0.06 / static_cast<double>(size.norm()));
  EXPECT_LT(surface_distance(one, one, 1).max(), 1e-9);
  Rig shorter = select_frames(one, {0});
  test::expect_error(ErrorKind::input, "frames", [&] { surface_distance(one, shorter); });
}

TEST(SurfaceDistance, StopsWhenProgressSaysSo) {
  const Rig one = test::rig_over(test::bend("sheet", test::grid_mesh(6, 5), 12));
  double last = 0;
  const Progress stop = [&](std::string_view, double fraction) {
    last = fraction;
    return fraction < 0.4;
  };
  test::expect_error(ErrorKind::interrupted, "not measured", [&] { surface_distance(one, one, 1, stop); });
  EXPECT_LT(last, 0.6);
}

}  // namespace
}  // namespace sinew
