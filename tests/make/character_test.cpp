#include "sinew/make/character.h"

#include <array>
#include <cmath>
#include <map>
#include <set>

#include "support/matchers.h"
#include "support/support.h"

namespace sinew {
namespace {

CharacterOptions small() {
  CharacterOptions options;
  options.vertices = 1200;
  options.walk_frames = 6;
  options.wave_frames = 5;
  return options;
}

/// Vertices - edges + faces of a piece; fails where an edge has not exactly two faces, one each way.
int euler_characteristic(const Mesh& mesh, const Piece& piece) {
  std::set<std::pair<Index, Index>> directed;
  std::size_t corner = 0;
  for (std::size_t f = 0; f < mesh.face_count(); ++f) {
    const Index size = mesh.face_sizes[f];
    if (f >= piece.first_face && f < piece.first_face + piece.faces)
      for (std::size_t i = 0; i < size; ++i) {
        const auto edge = std::make_pair(mesh.corners[corner + i], mesh.corners[corner + (i + 1) % size]);
        EXPECT_TRUE(directed.insert(edge).second) << "edge " << edge.first << " " << edge.second << " twice";
      }
    corner += size;
  }
  for (const auto& [a, b] : directed)
    EXPECT_TRUE(directed.count({b, a}) != 0) << "edge " << a << " " << b << " is open";
  return static_cast<int>(piece.vertices) - static_cast<int>(directed.size() / 2) + static_cast<int>(piece.faces);
}

double signed_volume(const Mesh& mesh) {
  double volume = 0;
  const std::vector<Index> triangles = triangles_of(mesh);
  for (std::size_t t = 0; t < triangles.size(); t += 3) {
    Eigen::Matrix3d corners;
    for (Eigen::Index i = 0; i < 3; ++i)
      corners.col(i) = mesh.positions.col(triangles[t + static_cast<std::size_t>(i)]).cast<double>();
    volume += corners.determinant() / 6;
  }
  return volume;
}

TEST(Character, TheTrueRigPosesTheFramesExactly) {
  const Character character = make_character(small());
  character.sequence.check();
  character.truth.check();
  EXPECT_TRUE(character.truth.jointed);
  EXPECT_THAT(character.truth.weights, test::HasConvexRows(4));
  const Sequence posed = pose_all(character.truth);
  EXPECT_EQ(posed.frames, character.sequence.frames);
  ASSERT_EQ(character.sequence.clips.size(), 2U);
  EXPECT_EQ(character.sequence.clips[1].first_frame, 6U);
}

TEST(Character, EveryPieceIsAClosedSurfaceAndTheBodyHasNoHoles) {
  CharacterOptions options = small();
  options.static_part = true;
  options.walk_frames = 1;
  options.wave_frames = 0;
  for (const int vertices : {1500, 3000, 6000}) {
    options.vertices = vertices;
    options.seed = static_cast<std::uint64_t>(vertices);
    const Mesh mesh = make_character(options).sequence.rest;
    ASSERT_EQ(mesh.pieces.size(), 5U);
    for (const Piece& piece : mesh.pieces) {
      SCOPED_TRACE(piece.name);
      EXPECT_EQ(euler_characteristic(mesh, piece), piece.name == "collar" ? 0 : 2);
    }
    EXPECT_GT(signed_volume(mesh), 0.3);  // faces look outwards
  }
}

TEST(Character, HasAboutAsManyVerticesAsAskedFor) {
  for (const int vertices : {1500, 6000}) {
    CharacterOptions options = small();
    options.vertices = vertices;
    options.walk_frames = 1;
    options.wave_frames = 0;
    EXPECT_NEAR(static_cast<double>(make_character(options).sequence.vertex_count()), vertices, 0.05 * vertices);
  }
}

TEST(Character, TrianglesAreWellShaped) {
  const Mesh mesh = make_character(small()).sequence.rest;
  const std::vector<Index> triangles = triangles_of(mesh);
  std::size_t slivers = 0;
  for (std::size_t t = 0; t < triangles.size(); t += 3) {
    std::array<double, 3> edge{};
    for (std::size_t i = 0; i < 3; ++i)
      edge[i] = (mesh.positions.col(triangles[t + i]) - mesh.positions.col(triangles[t + (i + 1) % 3])).norm();
    if (*std::max_element(edge.begin(), edge.end()) > 4 * *std::min_element(edge.begin(), edge.end())) ++slivers;
  }
  EXPECT_LT(static_cast<double>(slivers), 0.02 * static_cast<double>(triangles.size() / 3));
}

TEST(Character, SameBitsForOneTwoAndSevenThreads) {
  CharacterOptions options = small();
  options.bulge = 0.3;
  options.noise = 0.001;
  options.threads = 1;
  const Character one = make_character(options);
  for (const int threads : {2, 7}) {
    options.threads = threads;
    const Character many = make_character(options);
    EXPECT_EQ(one.sequence.frames, many.sequence.frames);
    EXPECT_EQ(one.truth.weights.values, many.truth.weights.values);
  }
}

TEST(Character, AnotherSeedIsAnotherCreature) {
  CharacterOptions options = small();
  const Character one = make_character(options);
  options.seed = 2;
  EXPECT_NE(one.sequence.frames, make_character(options).sequence.frames);
}

TEST(Character, IsNotItsOwnMirrorImage) {
  const Mesh mesh = make_character(small()).sequence.rest;
  Eigen::Index top = 0;
  mesh.positions.row(1).maxCoeff(&top);
  EXPECT_GT(mesh.positions(0, top), 0.05F);  // one ear stands
}

/// Root mean square distance from the true rig's frames.
double departure(const Character& character) {
  const Sequence posed = pose_all(character.truth);
  double sum = 0;
  for (std::size_t f = 0; f < posed.frame_count(); ++f)
    sum += (posed.frames[f] - character.sequence.frames[f]).cast<double>().squaredNorm();
  return std::sqrt(sum / static_cast<double>(posed.frames.data().size()));
}

TEST(Character, DeformationsDepartFromTheRigByWhatTheySay) {
  CharacterOptions options = small();
  options.noise = 0.01;
  EXPECT_NEAR(departure(make_character(options)), 0.01, 0.0005);
  options.noise = 0;
  options.bulge = 0.5;
  const double bulge = departure(make_character(options));
  EXPECT_GT(bulge, 1e-4);
  EXPECT_LT(bulge, 0.05);
  options.bulge = 0;
  options.wobble = 0.02;
  const double wobble = departure(make_character(options));
  EXPECT_GT(wobble, 1e-3);
  EXPECT_LT(wobble, 0.02);
}

TEST(Character, TheStaticPartNeverMoves) {
  CharacterOptions options = small();
  options.static_part = true;
  const Sequence sequence = make_character(options).sequence;
  const Piece& rock = sequence.rest.pieces.back();
  EXPECT_EQ(rock.name, "rock");
  for (std::size_t f = 0; f < sequence.frame_count(); ++f)
    EXPECT_EQ(sequence.frames[f].rightCols(rock.vertices), sequence.rest.positions.rightCols(rock.vertices));
}

TEST(Character, RefusesOptionsOutOfRange) {
  CharacterOptions options = small();
  options.vertices = 10;
  test::expect_error(ErrorKind::usage, "10 vertices", [&] { make_character(options); });
  options = small();
  options.walk_frames = options.wave_frames = 0;
  test::expect_error(ErrorKind::usage, "0 frames", [&] { make_character(options); });
  options = small();
  options.noise = -1;
  test::expect_error(ErrorKind::usage, "deformation of -1", [&] { make_character(options); });
}

}  // namespace
}  // namespace sinew
