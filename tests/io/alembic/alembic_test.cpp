#include "sinew/io/alembic.h"

#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/alembic/scene.h"
#include "sinew/io/npz.h"
#include "sinew/io/output_file.h"
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

/// SHA-256 of values as they lie in memory, by the program of that name.
std::string sha256(const std::vector<float>& values) {
  const test::TemporaryFolder folder;
  OutputFile file(folder / "values");
  file.write(std::span<const float>(values));
  file.commit();
  FILE* pipe = popen(("sha256sum " + (folder / "values").string()).c_str(), "r");
  std::array<char, 64> digest{};
  const std::size_t got = std::fread(digest.data(), 1, digest.size(), pipe);
  pclose(pipe);
  return {digest.data(), got};
}

/// A value per stored corner, indices resolved, straight from the properties of one mesh.
std::vector<float> stored_corner_values(const std::filesystem::path& path, const std::string& object,
                                        const std::string& name, std::size_t extent) {
  const alembic::Archive archive{ogawa::Source(path)};
  for (const alembic::Node& node : alembic::read_nodes(archive)) {
    if (node.path != object) continue;
    const alembic::Properties geometry = archive.open(node.properties, ".geom");
    const alembic::Property& property = *alembic::find(geometry, name);
    if (property.kind != alembic::PropertyKind::compound) return archive.samples(property).values<float>(0);
    const alembic::Properties parts = archive.open(property);
    const auto values = archive.samples(*alembic::find(parts, ".vals")).values<float>(0);
    std::vector<float> out;
    for (const std::uint32_t index : archive.samples(*alembic::find(parts, ".indices")).values<std::uint32_t>(0))
      for (std::size_t k = 0; k < extent; ++k) out.push_back(values.at(extent * index + k));
    return out;
  }
  ADD_FAILURE() << object << " not found";
  return {};
}

/// Corner of ours for each stored corner of a piece.
std::vector<std::size_t> corner_of_stored(const Mesh& mesh, const Piece& piece) {
  std::vector<std::size_t> out;
  std::size_t first = 0;
  for (std::size_t i = 0; i < piece.first_face; ++i) first += mesh.face_sizes[i];
  for (std::size_t i = piece.first_face; i < piece.first_face + piece.faces; ++i) {
    for (std::size_t k = 0; k < mesh.face_sizes[i]; ++k) out.push_back(first + mesh.face_sizes[i] - 1 - k);
    first += mesh.face_sizes[i];
  }
  return out;
}

TEST_P(AlembicGolden, UvsAndNormalsAreThoseOfTheReferenceLibrary) {
  SINEW_NEEDS_DATA();
  const std::string file = GetParam();
  const Mesh mesh = read_alembic(alembic_folder() / file).rest;
  const std::vector<json> objects = shown_objects(file);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const json& object = objects[i];
    const std::vector<std::size_t> corners = corner_of_stored(mesh, mesh.pieces[i]);
    if (!object.at("uv").is_null()) {
      const auto uv = stored_corner_values(alembic_folder() / file, object.at("full_name"), "uv", 2);
      ASSERT_EQ(sha256(uv), object.at("uv").at("corners_sha256"));
      ASSERT_EQ(uv.size(), 2 * corners.size());
      for (std::size_t c = 0; c < corners.size(); ++c) {
        const float* ours = mesh.uv_sets.at(0).values.data() + 2 * mesh.uv_sets[0].indices[corners[c]];
        ASSERT_EQ(ours[0], uv[2 * c]) << "corner " << c;
        ASSERT_EQ(ours[1], 1 - uv[2 * c + 1]) << "corner " << c;
      }
    }
    if (!object.at("normals").is_null()) {
      const auto normals = stored_corner_values(alembic_folder() / file, object.at("full_name"), "N", 3);
      ASSERT_EQ(sha256(normals), object.at("normals").at("corners_sha256"));
      const auto world = object.at("world_matrix_first").get<std::vector<double>>();
      // Row-major for row vectors: mapped column-major it acts on columns.
      const Eigen::Matrix3d A = Eigen::Map<const Eigen::Matrix4d>(world.data()).topLeftCorner<3, 3>();
      for (std::size_t c = 0; c < corners.size(); ++c) {
        const Eigen::Map<const Eigen::Vector3f> stored(normals.data() + 3 * c);
        const Eigen::Vector3d expected = (A.inverse().transpose() * stored.cast<double>()).normalized();
        const Eigen::Map<const Eigen::Vector3f> ours(mesh.normals.values.data() + 3 * mesh.normals.indices[corners[c]]);
        ASSERT_LT((ours.cast<double>() - expected).norm(), 2e-7) << "corner " << c;
      }
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

TEST(ReadAlembic, HorseIsTheSequenceOfThePointCacheBitForBit) {
  SINEW_NEEDS_DATA();
  const Sequence archive = read_sequence({alembic_folder() / "horse.abc"});
  ReadOptions options;
  options.last_frame = 24;
  options.rest = "0";  // the archive has no other
  const Sequence cache = read_sequence({test::data_folder() / "sequences" / "horse-gallop"}, options);
  EXPECT_EQ(archive.rest.face_sizes, cache.rest.face_sizes);
  EXPECT_EQ(archive.rest.corners, cache.rest.corners);
  EXPECT_EQ(archive.rest.positions, cache.rest.positions);
  ASSERT_EQ(archive.frame_count(), 24U);
  EXPECT_EQ(archive.frames, cache.frames);
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
