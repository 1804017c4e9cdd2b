#include <algorithm>
#include <cmath>
#include <set>

#include "io/gltf/gltf_cases.h"
#include "io/gltf/gltf_edit.h"
#include "io/gltf/gltf_rigs.h"
#include "io/gltf/write_motion.h"
#include "sinew/io/gltf.h"
#include "support/support.h"

namespace sinew {
namespace {

using Json = nlohmann::json;

Rig round_trip(const Rig& rig) {
  return parse_gltf_rig(glb_bytes(rig), {});
}

class GlbRoundTrip : public testing::TestWithParam<test::GltfCase> {};

TEST_P(GlbRoundTrip, PosesAlike) {
  const Rig& rig = GetParam().rig;
  EXPECT_LT(test::largest_difference(rig, round_trip(rig)), 1e-6);
}

TEST_P(GlbRoundTrip, KeepsBonesWeightsTimesAndPoints) {
  const Rig& rig = GetParam().rig;
  const Rig back = round_trip(rig);
  EXPECT_EQ(back.transforms, rig.transforms);
  EXPECT_EQ(back.jointed, rig.jointed);
  EXPECT_EQ(back.rest.positions, rig.rest.positions);
  ASSERT_EQ(back.bone_count(), rig.bone_count());
  for (std::size_t b = 0; b < rig.bone_count(); ++b) {
    EXPECT_EQ(back.bones[b].name, rig.bones[b].name);
    EXPECT_EQ(back.bones[b].parent, rig.bones[b].parent);
    EXPECT_EQ(back.bones[b].head, rig.bones[b].head);
    EXPECT_EQ(back.bones[b].tail, rig.bones[b].tail);
  }
  EXPECT_EQ(back.weights.influences, rig.weights.influences);
  EXPECT_EQ(back.weights.bones, rig.weights.bones);
  ASSERT_EQ(back.weights.values.size(), rig.weights.values.size());
  for (std::size_t i = 0; i < rig.weights.values.size(); ++i)
    ASSERT_NEAR(back.weights.values[i], rig.weights.values[i], 1e-6) << "slot " << i;
  EXPECT_EQ(back.times, rig.times);
  ASSERT_EQ(back.clips.size(), rig.clips.size());
  for (std::size_t i = 0; i < rig.clips.size(); ++i) {
    EXPECT_EQ(back.clips[i].name, rig.clips[i].name);
    EXPECT_EQ(back.clips[i].first_frame, rig.clips[i].first_frame);
  }
  EXPECT_EQ(back.notes, rig.notes);
}

/// A triangle's corners with all that is drawn on them, to compare meshes whose faces are in another order.
std::multiset<std::vector<float>> triangles(const Mesh& mesh) {
  std::vector<std::size_t> face_of_triangle;
  for (std::size_t face = 0; face < mesh.face_count(); ++face)
    face_of_triangle.insert(face_of_triangle.end(), mesh.face_sizes[face] - 2, face);
  std::multiset<std::vector<float>> out;
  const std::vector<Index> corners = triangulate_corners(mesh);
  for (std::size_t t = 0; t < corners.size() / 3; ++t) {
    std::vector<float> entry{
        mesh.face_materials.empty() ? -1.0F : static_cast<float>(mesh.face_materials[face_of_triangle[t]])};
    for (std::size_t i = 0; i < 3; ++i) {
      const Index corner = corners[3 * t + i];
      entry.push_back(static_cast<float>(mesh.corners[corner]));
      const auto add = [&](const auto& attribute, std::size_t width) {
        if (attribute.empty()) return;
        const float* value = attribute.values.data() + attribute.indices[corner] * width;
        for (std::size_t c = 0; c < width; ++c) entry.push_back(std::round(value[c] * 1e5F));
      };
      add(mesh.normals, 3);
      for (const auto& set : mesh.uv_sets) add(set, 2);
      for (const auto& set : mesh.color_sets) add(set, 4);
    }
    out.insert(std::move(entry));
  }
  return out;
}

TEST_P(GlbRoundTrip, KeepsWhatIsDrawnOnTheFaces) {
  const Mesh& mesh = GetParam().rig.rest;
  const Mesh back = round_trip(GetParam().rig).rest;
  EXPECT_EQ(triangles(back), triangles(mesh));
  ASSERT_EQ(back.uv_sets.size(), mesh.uv_sets.size());
  for (std::size_t i = 0; i < mesh.uv_sets.size(); ++i) EXPECT_EQ(back.uv_sets[i].name, mesh.uv_sets[i].name);
  ASSERT_EQ(back.color_sets.size(), mesh.color_sets.size());
  ASSERT_EQ(back.appearance.materials.size(), mesh.appearance.materials.size());
  for (std::size_t i = 0; i < mesh.appearance.materials.size(); ++i)
    EXPECT_EQ(Json::parse(back.appearance.materials[i].gltf), Json::parse(mesh.appearance.materials[i].gltf));
  ASSERT_EQ(back.appearance.images.size(), mesh.appearance.images.size());
  for (std::size_t i = 0; i < mesh.appearance.images.size(); ++i) {
    EXPECT_EQ(back.appearance.images[i].bytes, mesh.appearance.images[i].bytes);
    EXPECT_EQ(back.appearance.images[i].mime_type, mesh.appearance.images[i].mime_type);
  }
  EXPECT_EQ(back.appearance.gltf_textures, mesh.appearance.gltf_textures);
  EXPECT_EQ(back.appearance.gltf_samplers, mesh.appearance.gltf_samplers);
  ASSERT_EQ(back.pieces.size(), mesh.pieces.size());
  for (std::size_t i = 0; i < mesh.pieces.size(); ++i) {
    EXPECT_EQ(back.pieces[i].name, mesh.pieces[i].name);
    EXPECT_EQ(back.pieces[i].first_vertex, mesh.pieces[i].first_vertex);
  }
}

TEST_P(GlbRoundTrip, GivesTheSameBytesEveryTime) {
  EXPECT_EQ(glb_bytes(GetParam().rig), glb_bytes(GetParam().rig));
}

TEST_P(GlbRoundTrip, IsAlsoReadAsASequence) {
  const Rig& rig = GetParam().rig;
  if (rig.frame_count() == 0) return;
  const Sequence posed = pose_all(rig);
  const Sequence back = parse_gltf_sequence(glb_bytes(rig), {});
  ASSERT_EQ(back.frame_count(), posed.frame_count());
  const Points& rest = rig.rest.positions;
  const float diagonal = (rest.rowwise().maxCoeff() - rest.rowwise().minCoeff()).norm();
  for (std::size_t f = 0; f < posed.frame_count(); ++f)
    ASSERT_LT((posed.frames[f] - back.frames[f]).cwiseAbs().maxCoeff() / diagonal, 1e-6F) << "frame " << f;
}

INSTANTIATE_TEST_SUITE_P(Cases, GlbRoundTrip, testing::ValuesIn(test::gltf_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(WriteGlb, CorrectionsComeBackWithoutThoseThatNeverAct) {
  const Rig rig = test::gltf_case("corrected");
  const Rig back = round_trip(rig);
  ASSERT_TRUE(back.corrections);
  ASSERT_EQ(back.corrections->rank(), 2U);
  EXPECT_EQ(back.corrections->offsets[1], rig.corrections->offsets[2]);
  EXPECT_EQ(back.corrections->normal_offsets[0], rig.corrections->normal_offsets[0]);
  EXPECT_EQ(back.corrections->coefficients.col(1), rig.corrections->coefficients.col(2));
}

TEST(WriteGlb, WritesAsManyJointSetsAsVerticesUse) {
  const auto attributes = [](const Rig& rig) {
    return test::take_apart(glb_bytes(rig)).json["meshes"][0]["primitives"][0]["attributes"];
  };
  EXPECT_TRUE(attributes(test::gltf_case("eight_influences")).contains("WEIGHTS_1"));
  EXPECT_FALSE(attributes(test::gltf_case("eight_influences")).contains("WEIGHTS_2"));
  EXPECT_TRUE(attributes(test::gltf_case("dense")).contains("JOINTS_9"));
  EXPECT_FALSE(attributes(test::gltf_case("rigid")).contains("_CONTROL_POINT"));
  EXPECT_TRUE(attributes(test::gltf_case("painted")).contains("_CONTROL_POINT"));
}

TEST(WriteGlb, SkeletonIsAHierarchyAndKeepsBoneLengths) {
  const Json json = test::take_apart(glb_bytes(test::gltf_case("chain"))).json;
  std::size_t translations = 0;
  for (const Json& channel : json["animations"][0]["channels"])
    if (channel["target"]["path"] == "translation") ++translations;
  EXPECT_EQ(translations, 1U) << "only the root moves";
  EXPECT_EQ(json["nodes"][json["skins"][0]["joints"][0].get<std::size_t>()]["children"].size(), 1U);
  EXPECT_EQ(json["nodes"][json["skins"][0]["joints"][1].get<std::size_t>()]["children"].size(), 2U);
}

/// The same rig, rest pose and motion, somewhere else.
Rig moved_by(Rig rig, const Vector3& offset) {
  rig.rest.positions.colwise() += offset;
  for (Bone& bone : rig.bones) {
    bone.head += offset;
    bone.tail += offset;
  }
  const Eigen::Vector3d t = offset.cast<double>();
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b) {
      Affine& T = rig.motion(f, b);
      T.col(3) = (T.col(3).cast<double>() + t - T.leftCols<3>().cast<double>() * t).cast<float>();
    }
  return rig;
}

TEST(WriteGlb, ASkeletonFarFromTheOriginStaysOne) {
  const Rig near = test::chain_rig(6, 5, 7);
  const auto diagonal = static_cast<float>(bounding_box_diagonal(near.rest.positions));
  for (const float times : {0.0F, 20.0F, 500.0F, 2000.0F}) {
    const Rig rig = moved_by(near, times * diagonal * Vector3(0.6F, -0.48F, 0.64F));
    rig.check();
    const Rig back = round_trip(rig);
    EXPECT_TRUE(back.jointed) << times << " diagonals from the origin";
  }
}

TEST(WriteGlb, NamesStayAsTheyCameAndTellEqualsApart) {
  Rig rig = test::gltf_case("names");
  rig.clips = {{"Armature|Walk", 0, rig.frame_count()}};
  const Json json = test::take_apart(glb_bytes(rig)).json;
  std::vector<std::string> names;
  for (const Json& node : json["nodes"]) names.push_back(node["name"].get<std::string>());
  for (const char* name : {"Hüfte.L", "arm:left/1", "arm:left/1_2"})
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  EXPECT_EQ(json["animations"][0]["name"], "Armature|Walk");
}

TEST(WriteGlb, SafeNamesAreUniqueAndOfLettersAndDigits) {
  WriteOptions options;
  options.safe_names = true;
  const Json json = test::take_apart(glb_bytes(test::gltf_case("names"), options)).json;
  std::set<std::string> names;
  for (const Json& node : json["nodes"]) {
    const auto name = node["name"].get<std::string>();
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find_first_of(".:/[] "), std::string::npos) << name;
  }
}

TEST(WriteGlb, TimesThatFloatCannotTellApartAreRefused) {
  Rig rig = test::random_rig(3, 2, 2, 2, Transforms::rigid);
  rig.times = {1000, 1000.00000001};
  test::expect_error(ErrorKind::output, "frame 1 at 1000", [&] { glb_bytes(rig); });
}

TEST(WriteGlb, MissingFolderIsNamedAndNothingIsWritten) {
  test::expect_error(ErrorKind::output, "/nowhere/a.glb: cannot be written",
                     [] { write_glb("/nowhere/a.glb", test::random_rig(3, 2, 2, 1, Transforms::rigid)); });
}

TEST(WriteGlb, ExtensionsTravelWithTheirArrays) {
  GltfArray rows{"rows", GltfArray::Component::u16, 2, {}};
  for (const int value : {7, 1, 0, 2, 255, 3}) rows.bytes.push_back(static_cast<std::byte>(value));
  rows.bytes.resize(8, std::byte{9});
  const GltfExtension extension{"SINEW_test", R"({"rank":3})", {rows}};
  const std::vector<std::byte> bytes = glb_bytes(test::random_rig(3, 2, 2, 1, Transforms::rigid), {}, {&extension, 1});
  const std::optional<GltfExtension> back = parse_gltf_extension(bytes, "SINEW_test");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->json, extension.json);
  ASSERT_EQ(back->arrays.size(), 1U);
  EXPECT_EQ(back->arrays[0].bytes, rows.bytes);
  EXPECT_EQ(back->arrays[0].width, 2);
  EXPECT_EQ(back->arrays[0].component, GltfArray::Component::u16);
  EXPECT_FALSE(parse_gltf_extension(bytes, "SINEW_other"));
  EXPECT_EQ(parse_gltf_rig(bytes, {}).bone_count(), 2U);
}

TEST(Decompose, IsExactAndItsFactorsAreRotations) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> real(-1, 1);
  gltf::Stretch previous;
  for (int i = 0; i < 500; ++i) {
    Eigen::Matrix3d A;
    for (int j = 0; j < 9; ++j) A(j / 3, j % 3) = real(random);
    if (i % 5 == 0) A.col(1) = A.col(0);
    if (i % 7 == 0) A *= 1e-3;
    const gltf::Stretch d = gltf::decompose(A, previous);
    EXPECT_LT((d.U * d.s.asDiagonal() * d.V.transpose() - A).norm(), 1e-6 * A.norm());
    EXPECT_LT((d.U.transpose() * d.U - Eigen::Matrix3d::Identity()).norm(), 1e-6);
    EXPECT_GT(d.U.determinant(), 0);
    EXPECT_GT(d.V.determinant(), 0);
    previous = d;
  }
}

TEST(Decompose, FactorsFollowASmoothMotion) {
  gltf::Stretch previous;
  const auto at = [](double t) {
    const Eigen::Matrix3d turn = Eigen::AngleAxisd(9 * t, Eigen::Vector3d(0.48, 0.6, 0.64)).toRotationMatrix();
    const Eigen::Matrix3d tilt = Eigen::AngleAxisd(t, Eigen::Vector3d(0, 0.6, 0.8)).toRotationMatrix();
    return Eigen::Matrix3d(turn * tilt * Eigen::Vector3d(1 + t, 1.2, 2 - t).asDiagonal() * tilt.transpose());
  };
  previous = gltf::decompose(at(0), previous);
  for (int i = 1; i <= 300; ++i) {
    const gltf::Stretch next = gltf::decompose(at(i / 300.0), previous);
    EXPECT_LT((next.V - previous.V).norm(), 0.15) << "step " << i;
    EXPECT_LT((next.U - previous.U).norm(), 0.15) << "step " << i;
    previous = next;
  }
}

TEST(BoneTracks, QuaternionsKeepToOneSideThroughFullTurns) {
  Rig rig = test::random_rig(3, 1, 1, 60, Transforms::rigid);
  for (std::size_t f = 0; f < 60; ++f)
    rig.motion(f, 0).leftCols<3>() =
        Eigen::AngleAxisf(0.3F * static_cast<float>(f), Vector3(0.6F, 0, 0.8F)).toRotationMatrix();
  const std::vector<gltf::BoneTracks> tracks = gltf::bone_tracks(rig, false);
  for (std::size_t f = 1; f < 60; ++f) {
    const Eigen::Map<const Eigen::Vector4f> before(tracks[0].rotation.data() + 4 * f - 4);
    const Eigen::Map<const Eigen::Vector4f> now(tracks[0].rotation.data() + 4 * f);
    EXPECT_GT(before.dot(now), 0.9F) << "frame " << f;
  }
}

}  // namespace
}  // namespace sinew
