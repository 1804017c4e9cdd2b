#include <Eigen/Geometry>
#include <cmath>
#include <numbers>

#include "alembic_builder.h"
#include "sinew/io/alembic.h"
#include "support/support.h"

namespace sinew {
namespace {

using test::ArchiveBuilder;
using test::Doubles;
using test::Floats;
using test::Ints;
using test::MeshParts;

constexpr std::uint8_t kScale = 0 << 4;
constexpr std::uint8_t kTranslate = 1 << 4;
constexpr std::uint8_t kRotate = 2 << 4;
constexpr std::uint8_t kMatrix = 3 << 4;
constexpr std::uint8_t kRotateX = 4 << 4;
constexpr std::uint8_t kRotateY = 5 << 4;
constexpr std::uint8_t kRotateZ = 6 << 4;

const Floats kTriangle{0, 0, 0, 2, 0, 0, 0, 3, 1};

Floats shifted(Floats points, float x) {
  for (std::size_t i = 0; i < points.size(); i += 3) points[i] += x;
  return points;
}

std::vector<Floats> moving_triangle(std::size_t samples, float step) {
  std::vector<Floats> out;
  for (std::size_t i = 0; i < samples; ++i) out.push_back(shifted(kTriangle, static_cast<float>(i) * step));
  return out;
}

std::vector<std::string> piece_names(const Sequence& sequence) {
  std::vector<std::string> names;
  for (const Piece& piece : sequence.rest.pieces) names.push_back(piece.name);
  return names;
}

ReadOptions only_mesh(const std::string& pattern) {
  ReadOptions options;
  options.mesh = pattern;
  return options;
}

using Names = std::vector<std::string>;

TEST(ReadAlembic, CyclicSamplesRepeatTheirTimesEveryPeriod) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  archive.sampling(0.5, {0.1, 0.2, 0.45});
  const auto path = archive.finish({archive.mesh("m", {.points = moving_triangle(7, 1)})});
  const Sequence sequence = read_alembic(path);
  const Doubles expected{0.1, 0.2, 0.45, 0.6, 0.7, 0.95, 1.1};
  ASSERT_EQ(sequence.times.size(), expected.size());
  for (std::size_t f = 0; f < expected.size(); ++f) EXPECT_NEAR(sequence.times[f], expected[f], 1e-15);
  EXPECT_EQ(sequence.frames[5](0, 1), 7);
}

TEST(ReadAlembic, MeshesWithDifferentSamplingMeetOnTheUnionOfTheirTimesInTheCommonRange) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  const std::size_t coarse = archive.sampling(1.0, {0.0});
  const std::size_t fine = archive.sampling(0.4, {0.8});
  // Coarse: 0 1 2 3; fine: 0.8 1.2 1.6 2.0 2.4. Common: 0.8 .. 2.4. The still one does not limit it.
  const auto path = archive.finish({archive.mesh("coarse", {.points = moving_triangle(4, 10), .sampling = coarse}),
                                    archive.mesh("fine", {.points = moving_triangle(5, 1), .sampling = fine}),
                                    archive.mesh("still", {.points = {kTriangle}, .sampling = 0})});
  const Sequence sequence = read_alembic(path);
  const Doubles expected{0.8, 1.0, 1.2, 1.6, 2.0, 2.4};
  ASSERT_EQ(sequence.times.size(), expected.size());
  const Floats coarse_x{8, 10, 12, 16, 20, 24};
  const Floats fine_x{0, 0.5, 1, 2, 3, 4};
  for (std::size_t f = 0; f < expected.size(); ++f) {
    EXPECT_NEAR(sequence.times[f], expected[f], 1e-9);
    EXPECT_NEAR(sequence.frames[f](0, 0), coarse_x[f], 1e-5) << "frame " << f;
    EXPECT_NEAR(sequence.frames[f](0, 3), fine_x[f], 1e-5) << "frame " << f;
    EXPECT_EQ(sequence.frames[f](0, 6), 0) << "frame " << f;
  }
}

TEST(ReadAlembic, MeshesThatShareNoTimeAreRefused) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  const std::size_t early = archive.sampling(1.0, {0.0});
  const std::size_t late = archive.sampling(1.0, {5.0});
  const auto path = archive.finish({archive.mesh("a", {.points = moving_triangle(3, 1), .sampling = early}),
                                    archive.mesh("b", {.points = moving_triangle(3, 1), .sampling = late})});
  test::expect_error(ErrorKind::input, "the meshes share no time: one starts at 5 s, another ends at 2 s",
                     [&] { read_alembic(path); });
}

TEST(ReadAlembic, OperationsApplyFromTheLastToTheFirst) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  const Doubles shear{1, 0.25, 0, 0, 0, 1, 0.5, 0, 0.125, 0, 1, 0, -3, 2, 5, 1};  // rows, translation last
  Doubles values{4, -1, 2, /*axis*/ 0, 3, 4, 30, /*x*/ 20, /*y*/ -35, /*z*/ 50};
  values.insert(values.end(), shear.begin(), shear.end());
  values.insert(values.end(), {2, 0.5, 3});
  const auto inner =
      archive.xform("inner", {.operations = {kTranslate | 3, kRotate, kRotateX, kRotateY, kRotateZ, kMatrix, kScale},
                              .values = {values},
                              .sampling = 0,
                              .children = {archive.mesh("m", {.points = {kTriangle}, .sampling = 0})}});
  const auto path = archive.finish(
      {archive.xform("outer", {.operations = {kScale}, .values = {{1, 2, 3}}, .sampling = 0, .children = {inner}})});

  const auto turn = [](double degrees, const Eigen::Vector3d& axis) {
    return Eigen::AngleAxisd(degrees * std::numbers::pi / 180, axis.normalized()).toRotationMatrix();
  };
  const Sequence sequence = read_alembic(path);
  for (Eigen::Index v = 0; v < 3; ++v) {
    Eigen::Vector3d p(kTriangle[3 * v], kTriangle[3 * v + 1], kTriangle[3 * v + 2]);
    p = p.cwiseProduct(Eigen::Vector3d(2, 0.5, 3));
    const Eigen::Matrix3d rows =
        Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>>(shear.data()).topLeftCorner<3, 3>();
    p = rows.transpose() * p + Eigen::Vector3d(-3, 2, 5);
    p = turn(50, Eigen::Vector3d::UnitZ()) * p;
    p = turn(-35, Eigen::Vector3d::UnitY()) * p;
    p = turn(20, Eigen::Vector3d::UnitX()) * p;
    p = turn(30, {0, 3, 4}) * p;
    p += Eigen::Vector3d(4, -1, 2);
    p = p.cwiseProduct(Eigen::Vector3d(1, 2, 3));
    EXPECT_LT((sequence.frames[0].col(v).cast<double>() - p).norm(), 1e-5) << "vertex " << v;
  }
}

TEST(ReadAlembic, TransformsWithMoreThan255ChannelsAreArrays) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  Doubles values;
  for (int i = 0; i < 100; ++i) values.insert(values.end(), {1, 0.5, i % 2 == 0 ? 0.25 : -0.25});
  const auto path =
      archive.finish({archive.xform("x", {.operations = std::vector<std::uint8_t>(100, kTranslate),
                                          .values = {values},
                                          .sampling = 0,
                                          .children = {archive.mesh("m", {.points = {kTriangle}, .sampling = 0})}})});
  EXPECT_EQ(read_alembic(path).frames[0].col(0), Vector3(100, 50, 0));
}

TEST(ReadAlembic, TransformsAreBlendedBetweenTheirSamplesAndHeldOutsideThem) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  const std::size_t points = archive.sampling(0.5, {0.0});
  const std::size_t motion = archive.sampling(1.0, {0.0});
  const auto mesh = archive.mesh("m", {.points = moving_triangle(5, 0.5f), .sampling = points});
  const auto path = archive.finish({archive.xform(
      "x", {.operations = {kTranslate}, .values = {{0, 0, 0}, {0, 8, 0}}, .sampling = motion, .children = {mesh}})});
  const Sequence sequence = read_alembic(path);
  ASSERT_EQ(sequence.frame_count(), 5U);
  const Floats heights{0, 4, 8, 8, 8};
  for (std::size_t f = 0; f < 5; ++f) EXPECT_EQ(sequence.frames[f](1, 0), heights[f]) << "frame " << f;
}

TEST(ReadAlembic, HiddenMeshesAreLeftOutAndVisibilityComesFromTheNearestThatStatesIt) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  const std::size_t clock = archive.sampling(1.0, {0.0});
  const auto mesh = [&](const std::string& name, const std::vector<std::int8_t>& visible, std::size_t sampling = 0) {
    MeshParts parts{.points = {kTriangle}, .sampling = 0};
    if (!visible.empty()) parts.beside = {archive.visible(visible, sampling)};
    return archive.mesh(name, parts);
  };
  const auto hidden_group =
      archive.xform("hidden", {.beside = {archive.visible({0})},
                               .children = {mesh("follows", {}), mesh("defers", {-1}), mesh("insists", {1})}});
  const auto path = archive.finish({hidden_group, mesh("off", {0}), mesh("blinks", {0, 1, 0}, clock),
                                    mesh("never", {0, 0, 0}, clock), mesh("on", {1}), mesh("plain", {})});
  EXPECT_EQ(piece_names(read_alembic(path)), (Names{"insists", "blinks", "on", "plain"}));
  test::expect_error(ErrorKind::input, "all of 1 meshes are hidden", [&] { read_alembic(path, only_mesh("off")); });

  const AlembicInfo info = describe_alembic(path);
  Names hidden;
  for (const AlembicObject& object : info.objects)
    if (!object.visible) hidden.push_back(object.path);
  EXPECT_EQ(hidden, (Names{"/hidden", "/hidden/follows", "/hidden/defers", "/off", "/never"}));
}

TEST(ReadAlembic, MeshesAreChosenByNameOrByPath) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  const auto mesh = [&](const std::string& name) { return archive.mesh(name, {.points = {kTriangle}, .sampling = 0}); };
  const auto path = archive.finish({archive.xform("left", {.children = {mesh("arm"), mesh("hand")}}),
                                    archive.xform("right", {.children = {mesh("arm"), mesh("hat")}})});
  EXPECT_EQ(piece_names(read_alembic(path)), (Names{"left/arm", "hand", "right/arm", "hat"}));
  EXPECT_EQ(piece_names(read_alembic(path, only_mesh("ha*"))), (Names{"hand", "hat"}));
  EXPECT_EQ(piece_names(read_alembic(path, only_mesh("/right/*"))), (Names{"arm", "hat"}));
  EXPECT_EQ(piece_names(read_alembic(path, only_mesh("h?t"))), (Names{"hat"}));
  test::expect_error(ErrorKind::input, "none of 4 meshes matches 'foot'",
                     [&] { read_alembic(path, only_mesh("foot")); });
}

TEST(ReadAlembic, InstancesRepeatWholeSubtreesUnderTheirOwnParents) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  const auto mesh = archive.mesh("m", {.points = {kTriangle}, .sampling = 0});
  const auto source =
      archive.xform("source", {.operations = {kTranslate}, .values = {{1, 0, 0}}, .sampling = 0, .children = {mesh}});
  const auto scaled = archive.xform("scaled", {.operations = {kScale},
                                               .values = {{10, 10, 10}},
                                               .sampling = 0,
                                               .children = {archive.instance("copy", "/source")}});
  const auto path = archive.finish({source, scaled, archive.instance("again", "/scaled/copy")});
  const Sequence sequence = read_alembic(path);
  EXPECT_EQ(piece_names(sequence), (Names{"source/m", "scaled/copy/m", "again/m"}));
  EXPECT_EQ(sequence.frames[0].col(0), Vector3(1, 0, 0));
  EXPECT_EQ(sequence.frames[0].col(3), Vector3(10, 0, 0));
  EXPECT_EQ(sequence.frames[0].col(6), Vector3(1, 0, 0));
  EXPECT_EQ(describe_alembic(path).objects.at(3).instance_of, "/source");
}

/// A quad and a triangle over five vertices.
MeshParts quad_and_triangle() {
  return {.points = {{0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 2, 2, 0.5}},
          .sampling = 0,
          .sizes = {{4, 3}},
          .corners = {{3, 2, 1, 0, 4, 1, 2}}};
}

TEST(ReadAlembic, FacesTurnAroundAndWhatBelongsToCornersTurnsWithThem) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  MeshParts parts = quad_and_triangle();
  parts.geometry = {archive.indexed("uv", "geoScope=fvr", 2, {0, 0, 0.25, 0, 0.5, 0.75}, {0, 1, 2, 0, 1, 2, 2})};
  const Mesh mesh = read_alembic(archive.finish({archive.mesh("m", parts)})).rest;
  EXPECT_EQ(mesh.corners, (std::vector<Index>{0, 1, 2, 3, 2, 1, 4}));
  ASSERT_EQ(mesh.uv_sets.size(), 1U);
  EXPECT_EQ(mesh.uv_sets[0].indices, (std::vector<Index>{0, 2, 1, 0, 2, 2, 1}));
  EXPECT_EQ(mesh.uv_sets[0].values, (Floats{0, 1, 0.25, 1, 0.5, 0.25}));
}

TEST(ReadAlembic, MirroringTransformsKeepTheOutsideOutside) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  MeshParts parts = quad_and_triangle();
  parts.geometry = {archive.floats("N", "geoScope=con", 3, {0, 0, 1})};
  const Mesh mesh = read_alembic(archive.finish({archive.xform("x", {.operations = {kScale},
                                                                     .values = {{-1, 1, 1}},
                                                                     .sampling = 0,
                                                                     .children = {archive.mesh("m", parts)}})}))
                        .rest;
  EXPECT_EQ(mesh.corners, (std::vector<Index>{3, 2, 1, 0, 4, 1, 2}));
  const Vector3 a = mesh.positions.col(3);
  const Vector3 b = mesh.positions.col(2);
  const Vector3 c = mesh.positions.col(1);
  EXPECT_GT((b - a).cross(c - b).z(), 0);  // as at first: the stored face, turned around, faced +z
  EXPECT_EQ(mesh.normals.values, (Floats{0, 0, 1}));
}

TEST(ReadAlembic, AttributesOfEveryScopeReachTheCorners) {
  const test::TemporaryFolder folder;
  const auto uv_of = [&](const char* scope, const Floats& values) {
    ArchiveBuilder archive(folder / "a.abc");
    MeshParts parts = quad_and_triangle();
    parts.geometry = {archive.floats("uv", scope, 2, values)};
    const Mesh mesh = read_alembic(archive.finish({archive.mesh("m", parts)})).rest;
    Floats u;
    for (const Index index : mesh.uv_sets.at(0).indices) u.push_back(mesh.uv_sets[0].values[2 * index]);
    return u;
  };
  const Floats five{0, 0, 1, 0, 2, 0, 3, 0, 4, 0};
  const Floats seven{0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0};
  EXPECT_EQ(uv_of("geoScope=vtx", five), (Floats{0, 1, 2, 3, 2, 1, 4}));
  EXPECT_EQ(uv_of("geoScope=var", five), (Floats{0, 1, 2, 3, 2, 1, 4}));
  EXPECT_EQ(uv_of("geoScope=fvr", seven), (Floats{3, 2, 1, 0, 6, 5, 4}));
  EXPECT_EQ(uv_of("geoScope=uni", {8, 0, 9, 0}), (Floats{8, 8, 8, 8, 9, 9, 9}));
  EXPECT_EQ(uv_of("geoScope=con", {7, 0}), (Floats{7, 7, 7, 7, 7, 7, 7}));
  EXPECT_EQ(uv_of("", five), (Floats{0, 1, 2, 3, 2, 1, 4}));
  test::expect_error(ErrorKind::input, "/m/.geom/uv: 5 items, the mesh has 7 corners",
                     [&] { uv_of("geoScope=fvr", five); });
}

TEST(ReadAlembic, EqualValuesBecomeOne) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  MeshParts parts = quad_and_triangle();
  parts.geometry = {archive.floats("N", "geoScope=fvr", 3, {0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0,  //
                                                            0, 0, 1})};
  const Mesh mesh = read_alembic(archive.finish({archive.mesh("m", parts)})).rest;
  EXPECT_EQ(mesh.normals.values, (Floats{0, 0, 1, 0, 1, 0}));
  EXPECT_EQ(mesh.normals.indices, (std::vector<Index>{0, 0, 0, 0, 0, 1, 1}));
}

TEST(ReadAlembic, NormalsFollowTheTransformAsNormalsDo) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  MeshParts parts{.points = {{0, 0, 0, 0, 1, 0, 1, -1, 0}}, .sampling = 0};
  const float s = std::sqrt(0.5f);
  parts.geometry = {archive.floats("N", "geoScope=con", 3, {s, s, 0})};
  const Mesh mesh =
      read_alembic(
          archive.finish({archive.xform(
              "x",
              {.operations = {kScale}, .values = {{4, 1, 1}}, .sampling = 0, .children = {archive.mesh("m", parts)}})}))
          .rest;
  const Vector3 expected = Vector3(0.25f, 1, 0).normalized();
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(mesh.normals.values[static_cast<std::size_t>(k)], expected[k], 1e-6);
}

TEST(ReadAlembic, FaceSetsBecomeMaterialsAndSmallFacesAreLeftOut) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  MeshParts first = quad_and_triangle();
  first.sizes = {{2, 4, 0, 3}};
  first.corners = {{0, 1, 3, 2, 1, 0, 4, 1, 2}};
  first.children = {archive.face_set("skin", {0, 3}), archive.face_set("cloth", {3})};
  MeshParts second = quad_and_triangle();
  second.children = {archive.face_set("cloth", {0})};
  std::vector<std::string> warnings;
  ReadOptions options;
  options.warn = [&](std::string_view sentence) { warnings.emplace_back(sentence); };
  const Mesh mesh =
      read_alembic(
          archive.finish({archive.mesh("a", first), archive.mesh("b", second), archive.mesh("c", quad_and_triangle())}),
          options)
          .rest;
  EXPECT_EQ(mesh.face_sizes, (std::vector<Index>{4, 3, 4, 3, 4, 3}));
  ASSERT_EQ(mesh.appearance.materials.size(), 2U);
  EXPECT_EQ(mesh.appearance.materials[0].name, "skin");
  EXPECT_EQ(mesh.appearance.materials[1].name, "cloth");
  EXPECT_EQ(mesh.face_materials, (std::vector<int>{-1, 0, 1, -1, -1, -1}));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("/a: 2 faces with fewer than 3 corners are left out"), std::string::npos) << warnings[0];
}

TEST(ReadAlembic, MeshesWithoutAnAttributeOfTheOthersAreFilledIn) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  MeshParts full = quad_and_triangle();
  full.geometry = {archive.floats("uv", "geoScope=con", 2, {0.5, 0.5}),
                   archive.floats("N", "geoScope=con", 3, {0, 0, 1})};
  std::vector<std::string> warnings;
  ReadOptions options;
  options.warn = [&](std::string_view sentence) { warnings.emplace_back(sentence); };
  const MeshParts bare{.points = {{0, 0, 0, 0, 0, 1, 0, 1, 0}}, .sampling = 0};
  const Mesh mesh =
      read_alembic(archive.finish({archive.mesh("bare", bare), archive.mesh("full", full)}), options).rest;
  mesh.check();
  EXPECT_EQ(warnings.size(), 2U);
  const float* n = mesh.normals.values.data() + 3 * mesh.normals.indices[0];
  EXPECT_EQ(Vector3(n[0], n[1], n[2]), Vector3(1, 0, 0));  // of the triangle, turned around
  EXPECT_EQ(mesh.uv_sets[0].values[2 * mesh.uv_sets[0].indices[0]], 0);
}

TEST(ReadAlembic, TheFramesAskedForAreThoseOfTheWholeSequence) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  archive.sampling(0.25, {0.5});
  const auto path = archive.finish({archive.mesh("m", {.points = moving_triangle(11, 1)})});
  const Sequence whole = read_alembic(path);
  ReadOptions options;
  options.first_frame = 2;
  options.last_frame = 9;
  options.frame_step = 3;
  const Sequence part = read_alembic(path, options);
  const Sequence selected = select_frames(whole, 2, 9, 3);
  EXPECT_EQ(part.frames, selected.frames);
  EXPECT_EQ(part.times, selected.times);
  EXPECT_EQ(part.rest.positions, whole.rest.positions);
  EXPECT_EQ(read_sequence({path}, options).frames, selected.frames);

  options.rest = "7";
  EXPECT_EQ(read_sequence({path}, options).rest.positions, Points(whole.frames[7]));
  options.rest = "11";
  test::expect_error(ErrorKind::usage, "rest frame 11, there are 11", [&] { read_sequence({path}, options); });
  options = {};
  options.first_frame = 11;
  test::expect_error(ErrorKind::usage, "select nothing", [&] { read_alembic(path, options); });
}

TEST(ReadAlembic, TopologyThatChangesOnlyInFramesLeftOutIsAccepted) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  archive.sampling(1, {0});
  MeshParts parts{.points = moving_triangle(4, 1)};
  parts.points.back().insert(parts.points.back().end(), {9, 9, 9});
  const auto path = archive.finish({archive.mesh("m", parts)});
  ReadOptions options;
  options.last_frame = 3;
  EXPECT_EQ(read_alembic(path, options).frame_count(), 3U);
  test::expect_error(ErrorKind::input, "/m: topology changes: sample 3 has 4 vertices, sample 0 has 3",
                     [&] { read_alembic(path); });
  EXPECT_TRUE(describe_alembic(path).objects.at(0).varying_topology);
}

TEST(ReadAlembic, FacesStoredAnewButEqualAreTheSameTopology) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  archive.sampling(1, {0});
  MeshParts parts{.points = moving_triangle(3, 1), .corners = {{0, 1, 2}, {0, 2, 1}, {0, 1, 2}}};
  const auto path = archive.finish({archive.mesh("m", parts)});
  test::expect_error(ErrorKind::input, "/m: topology changes: the 3 corners of sample 1 differ from the 3 of sample 0",
                     [&] { read_alembic(path); });
  ReadOptions options;
  options.frame_step = 2;
  EXPECT_EQ(read_alembic(path, options).frame_count(), 2U);
}

}  // namespace
}  // namespace sinew
