#include "sinew/io/alembic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sinew/io/npz.h"
#include "sinew/io/obj.h"
#include "sinew/io/output_file.h"
#include "sinew/io/pc2.h"
#include "support/support.h"

namespace sinew {
namespace {

using nlohmann::json;

std::filesystem::path alembic_folder() {
  return test::data_folder() / "alembic";
}

const json& expected() {
  static const json files = [] {
    std::ifstream stream(alembic_folder() / "expected.json");
    return json::parse(stream).at("files");
  }();
  return files;
}

/// Facts of the objects of one file that are shown.
std::vector<json> shown_objects(const std::string& file) {
  std::vector<json> out;
  for (const json& object : expected().at(file).at("objects"))
    if (object.at("visibility") != "hidden") out.push_back(object);
  return out;
}

/// Positions of the reference library, S×V×3, of the objects that are shown.
std::vector<std::vector<float>> golden_frames(const std::string& file) {
  const json& facts = expected().at(file);
  const NpyArray<float> array = read_npy<float>(alembic_folder() / facts.at("npy").get<std::string>());
  const std::size_t vertices = array.shape.at(1);
  std::vector<std::vector<float>> frames(array.shape.at(0));
  for (std::size_t f = 0; f < frames.size(); ++f)
    for (const json& object : shown_objects(file)) {
      const float* first = array.values.data() + 3 * (f * vertices + object.at("vertex_offset").get<std::size_t>());
      frames[f].insert(frames[f].end(), first, first + 3 * object.at("vertex_count").get<std::size_t>());
    }
  return frames;
}

class AlembicGolden : public testing::TestWithParam<const char*> {};

TEST_P(AlembicGolden, PositionsAreThoseOfTheReferenceLibraryTo1e6OfTheRange) {
  SINEW_NEEDS_DATA();
  const std::string file = GetParam();
  const Sequence sequence = read_alembic(alembic_folder() / file);
  sequence.check();
  const std::vector<std::vector<float>> golden = golden_frames(file);
  ASSERT_EQ(sequence.frame_count(), golden.size());
  ASSERT_EQ(3 * sequence.vertex_count(), golden[0].size());
  float low = golden[0][0];
  float high = low;
  double worst = 0;
  for (std::size_t f = 0; f < golden.size(); ++f)
    for (std::size_t i = 0; i < golden[f].size(); ++i) {
      low = std::min(low, golden[f][i]);
      high = std::max(high, golden[f][i]);
      const float ours = sequence.frames.data()[f * golden[f].size() + i];
      worst = std::max(worst, std::abs(static_cast<double>(ours) - golden[f][i]));
    }
  EXPECT_LE(worst, 1e-6 * (high - low));
  RecordProperty("worst_of_range", fmt::format("{}", worst / (high - low)));
}

TEST_P(AlembicGolden, TimesFacesAndPiecesAreThoseOfTheReferenceLibrary) {
  SINEW_NEEDS_DATA();
  const std::string file = GetParam();
  const Sequence sequence = read_alembic(alembic_folder() / file);
  const json& facts = expected().at(file);
  const auto times = facts.at("sample_times_seconds").get<std::vector<double>>();
  ASSERT_EQ(sequence.times.size(), times.size());
  for (std::size_t f = 0; f < times.size(); ++f) EXPECT_EQ(sequence.times[f], times[f]) << "frame " << f;

  const std::vector<json> objects = shown_objects(file);
  ASSERT_EQ(sequence.rest.pieces.size(), objects.size());
  std::size_t corner = 0;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const Piece& piece = sequence.rest.pieces[i];
    EXPECT_EQ(piece.name, objects[i].at("name"));
    EXPECT_EQ(piece.vertices, objects[i].at("vertex_count"));
    EXPECT_EQ(piece.faces, objects[i].at("face_count"));
    if (objects[i].at("face_sizes").is_null()) continue;
    const auto sizes = objects[i].at("face_sizes").get<std::vector<Index>>();
    const auto indices = objects[i].at("face_indices").get<std::vector<Index>>();
    std::size_t stored = 0;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      ASSERT_EQ(sequence.rest.face_sizes[piece.first_face + k], sizes[k]) << piece.name << " face " << k;
      for (std::size_t c = 0; c < sizes[k]; ++c)
        ASSERT_EQ(sequence.rest.corners[corner + c], piece.first_vertex + indices[stored + sizes[k] - 1 - c])
            << piece.name << " face " << k;
      stored += sizes[k];
      corner += sizes[k];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, AlembicGolden,
                         testing::Values("walk.abc", "two_meshes.abc", "subd.abc", "acyclic.abc", "inherits_false.abc",
                                         "hidden.abc", "instanced.abc", "holds.abc", "static.abc"),
                         [](const auto& file) {
                           const std::string name = file.param;
                           return name.substr(0, name.find('.'));
                         });

TEST(ReadAlembic, HorseHasTheFacesAndTheFramesOfThePointCacheBitForBit) {
  SINEW_NEEDS_DATA();
  const Sequence archive = read_alembic(alembic_folder() / "horse.abc");
  const std::filesystem::path folder = test::data_folder() / "sequences" / "horse-gallop";
  const Mesh mesh = read_obj(folder / "rest.obj");
  const PointCache cache = read_pc2(folder / "frames.pc2");
  EXPECT_EQ(archive.rest.face_sizes, mesh.face_sizes);
  EXPECT_EQ(archive.rest.corners, mesh.corners);
  ASSERT_EQ(archive.frame_count(), 24U);
  for (std::size_t f = 0; f < archive.frame_count(); ++f)
    ASSERT_TRUE(archive.frames[f] == cache.frames[f]) << "frame " << f;
}

TEST(ReadAlembic, MayaExportHasTheCountsThatItsSourceStates) {
  SINEW_NEEDS_DATA();
  const Sequence sequence = read_alembic(alembic_folder() / "Bone_Anim.abc");
  sequence.check();
  EXPECT_EQ(sequence.vertex_count(), 754U);
  EXPECT_EQ(sequence.frame_count(), 400U);
  EXPECT_EQ(sequence.rest.pieces.at(0).name, "BoneShape");
  const Eigen::Vector3f size =
      sequence.rest.positions.rowwise().maxCoeff() - sequence.rest.positions.rowwise().minCoeff();
  EXPECT_NEAR(size.norm(), 4.42, 0.01);
}

TEST(ReadAlembic, FilesThatMustBeRefusedAreRefusedWithAReason) {
  SINEW_NEEDS_DATA();
  const auto refuse = [](const std::string& file, const std::string& reason) {
    SCOPED_TRACE(file);
    test::expect_error(ErrorKind::input, reason, [&] { read_alembic(alembic_folder() / file); });
  };
  refuse("truncated.abc", "truncated.abc: cut short or damaged: the root group should be at byte 324640");
  refuse("corrupt.abc", "is damaged, its key does not match");
  refuse("corrupt_struct.abc", "corrupt_struct.abc: ");
  refuse("varying_topology.abc", "/grp/changing: topology changes: sample 5 has 38 vertices, sample 0 has 32");
  refuse("varying_faces.abc",
         "/grp/rewired: topology changes: the 24 corners of sample 4 differ from the 24 of sample");
  refuse("empty.abc", "no mesh found among 3 objects");
  refuse("bare.abc", "no mesh found among 0 objects");
}

}  // namespace
}  // namespace sinew
