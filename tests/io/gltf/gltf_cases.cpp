#include "io/gltf/gltf_cases.h"

#include <stdexcept>

#include "io/gltf/gltf_rigs.h"

namespace sinew::test {
namespace {

/// A PNG of 2×2 pixels.
const std::vector<std::uint8_t> kPng = {
    0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00, 0x00, 0x00, 0x0D, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x08, 0x02, 0x00, 0x00, 0x00, 0xFD, 0xD4, 0x9A,
    0x73, 0x00, 0x00, 0x00, 0x16, 0x49, 0x44, 0x41, 0x54, 0x78, 0xDA, 0x63, 0xF8, 0xAF, 0x20, 0x20,
    0x70, 0xC0, 0x80, 0x41, 0xC0, 0xE0, 0xC2, 0x87, 0x0F, 0x0A, 0x00, 0x21, 0x71, 0x05, 0x40, 0xF4,
    0x0C, 0xE9, 0x82, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82};

/// UVs with a seam between faces, sharp normals, colours, two materials, one with a texture.
Rig painted() {
  Rig rig = random_rig(5, 4, 3, 4, Transforms::rigid, 11);
  Mesh& mesh = rig.rest;
  mesh.uv_sets.resize(2);
  mesh.uv_sets[0].name = "layout";
  mesh.uv_sets[1].name = "light";
  mesh.color_sets.resize(1);
  mesh.color_sets[0].name = "paint";
  mesh.color_sets[0].values = {1, 0.5F, 0.25F, 1, 0.125F, 0.75F, 0, 0.5F};
  std::size_t corner = 0;
  for (std::size_t face = 0; face < mesh.face_count(); ++face) {
    mesh.face_materials.push_back(face % 3 == 0 ? -1 : static_cast<int>(face % 2));
    const auto point = [&](std::size_t i) { return mesh.positions.col(mesh.corners[corner + i]); };
    const Vector3 normal = (point(1) - point(0)).cross(point(2) - point(0)).normalized();
    mesh.normals.values.insert(mesh.normals.values.end(), {normal.x(), normal.y(), normal.z()});
    for (std::size_t i = 0; i < mesh.face_sizes[face]; ++i, ++corner) {
      mesh.uv_sets[0].values.insert(mesh.uv_sets[0].values.end(),
                                    {0.01F * static_cast<float>(mesh.corners[corner]), face < 3 ? 0.25F : 0.75F});
      mesh.uv_sets[0].indices.push_back(static_cast<Index>(corner));
      mesh.uv_sets[1].values.insert(mesh.uv_sets[1].values.end(),
                                    {0.5F, 0.02F * static_cast<float>(mesh.corners[corner])});
      mesh.uv_sets[1].indices.push_back(static_cast<Index>(corner));
      mesh.normals.indices.push_back(static_cast<Index>(face));
      mesh.color_sets[0].indices.push_back(static_cast<Index>(mesh.corners[corner] % 2));
    }
  }
  mesh.appearance.images.push_back({"checker", "image/png", kPng, ""});
  mesh.appearance.gltf_samplers = R"([{"magFilter":9728,"wrapS":33071}])";
  mesh.appearance.gltf_textures = R"([{"sampler":0,"source":0}])";
  mesh.appearance.materials = {
      {"skin",
       R"({"name":"skin","pbrMetallicRoughness":{"baseColorTexture":{"index":0,"texCoord":1},"roughnessFactor":0.5}})"},
      {"plain", R"({"extensions":{"KHR_materials_unlit":{}},"name":"plain"})"}};
  return rig;
}

/// Corrections of rank 3, of which the second never acts.
Rig corrected() {
  Rig rig = random_rig(4, 3, 2, 5, Transforms::rigid, 21);
  const auto V = static_cast<Eigen::Index>(rig.vertex_count());
  Corrections c;
  for (int r = 0; r < 3; ++r) {
    Points offsets(3, V);
    for (Eigen::Index v = 0; v < V; ++v)
      offsets.col(v) = 0.1F * Vector3(std::sin(static_cast<float>(v + r)), 0.5F * static_cast<float>(r),
                                      std::cos(static_cast<float>(3 * v)));
    c.offsets.push_back(offsets);
    c.normal_offsets.push_back(0.2F * offsets);
  }
  c.coefficients.resize(5, 3);
  c.coefficients << 0.5F, 0, -1, 0.25F, 0, 0.75F, -0.5F, 0, 0, 1, 0, 0.125F, 0, 0, 2;
  rig.corrections = c;
  return rig;
}

Rig with_clips() {
  Rig rig = random_rig(4, 3, 4, 9, Transforms::rigid, 31);
  rig.clips = {{"walk", 0, 4}, {"run & jump", 4, 1}, {"walk", 5, 4}};
  rig.times = {0.5, 0.6, 0.75, 1.25, 0, -0.5, -0.25, 0, 0.25};
  return rig;
}

/// Two pieces; the second, of one triangle and a loose vertex, has the name of a bone.
Rig with_pieces() {
  Rig rig = painted();
  Mesh& mesh = rig.rest;
  const auto vertices = static_cast<Index>(mesh.vertex_count());
  const auto faces = static_cast<Index>(mesh.face_count());
  mesh.positions.conservativeResize(3, vertices + 4);
  mesh.positions.rightCols<4>() << 3, 4, 3.5F, 3.25F, 0, 0.25F, 1, 2, -1, -2, -1.5F, -4;
  mesh.face_sizes.push_back(3);
  for (Index v = 0; v < 3; ++v) {
    mesh.corners.push_back(vertices + v);
    mesh.uv_sets[0].indices.push_back(v);
    mesh.uv_sets[1].indices.push_back(v + 2);
    mesh.normals.indices.push_back(1);
    mesh.color_sets[0].indices.push_back(1);
  }
  mesh.face_materials.push_back(1);
  mesh.pieces = {{"body", 0, vertices, 0, faces}, {"bone 1", vertices, 4, faces, 1}};
  for (Index v = 0; v < 4; ++v)
    for (int k = 0; k < rig.weights.influences; ++k) {
      rig.weights.bones.push_back(k == 0 ? v % 3 : 0);
      rig.weights.values.push_back(k == 0 ? 1.0F : 0.0F);
    }
  return rig;
}

Rig point_cloud() {
  Rig rig = random_rig(4, 3, 4, 3, Transforms::affine, 41);
  rig.rest.face_sizes.clear();
  rig.rest.corners.clear();
  return rig;
}

/// Stretch that vanishes, reflects and repeats.
Rig singular() {
  Rig rig = random_rig(4, 4, 4, 6, Transforms::affine, 51);
  rig.motion(1, 0).leftCols<3>() *= Eigen::Vector3f(1, 1, 0).asDiagonal();
  rig.motion(2, 0).leftCols<3>().setZero();
  rig.motion(3, 1).leftCols<3>() *= Eigen::Vector3f(1, -1, 1).asDiagonal();
  rig.motion(4, 1).leftCols<3>() *= Eigen::Vector3f(-1.5F, 1, 1).asDiagonal();
  rig.motion(3, 2).leftCols<3>() = 2.5F * Eigen::Matrix3f::Identity();
  rig.motion(4, 3).leftCols<3>() << 1, 2, 3, 2, 4, 6, -1, -2, -3;
  return rig;
}

/// A jointed chain whose bones also stretch along the way.
Rig stretching_chain() {
  Rig rig = chain_rig(6, 4, 5, 61);
  rig.transforms = Transforms::affine;
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    Eigen::Affine3d above = Eigen::Affine3d::Identity();
    for (std::size_t b = 0; b < rig.bone_count(); ++b) {
      rig.bones[b].parent = static_cast<int>(b) - 1;
      Eigen::Affine3d local = Eigen::Affine3d::Identity();
      local.translate(rig.bones[b].head.cast<double>());
      local.rotate(Eigen::AngleAxisd(0.3 * static_cast<double>(f + b), Eigen::Vector3d(0.6, 0, 0.8)));
      local.scale(Eigen::Vector3d(1.25, 0.75 + 0.1 * static_cast<double>(f), 1));
      local.translate(-rig.bones[b].head.cast<double>());
      above = above * local;
      rig.motion(f, b) = above.affine().cast<float>();
    }
  }
  return rig;
}

/// Names that engines do not accept, equal names and none.
Rig badly_named() {
  Rig rig = random_rig(3, 5, 4, 2, Transforms::affine, 71);
  const char* names[] = {"Hüfte.L", "arm:left/1", "arm:left/1", "", "skeleton"};
  for (std::size_t b = 0; b < 5; ++b) rig.bones[b].name = names[b];
  rig.bones[2].parent = 1;  // a list of names, not a joint
  rig.notes = R"({"method":"test","values":[1,2.5,{"deep":true}]})";
  return rig;
}

}  // namespace

std::vector<GltfCase> gltf_cases() {
  return {{"rigid", random_rig(6, 5, 3, 7, Transforms::rigid)},
          {"affine", random_rig(6, 5, 4, 7, Transforms::affine)},
          {"singular", singular()},
          {"chain", chain_rig(8, 6, 5)},
          {"stretching_chain", stretching_chain()},
          {"eight_influences", random_rig(8, 10, 8, 4, Transforms::affine, 81)},
          {"dense", random_rig(8, 40, 0, 3, Transforms::rigid, 91)},
          {"many_bones", random_rig(3, 300, 4, 2, Transforms::rigid, 101)},
          {"painted", painted()},
          {"corrected", corrected()},
          {"clips", with_clips()},
          {"pieces", with_pieces()},
          {"points", point_cloud()},
          {"one_frame", random_rig(4, 3, 4, 1, Transforms::affine, 111)},
          {"no_frames", random_rig(4, 3, 4, 0, Transforms::rigid, 121)},
          {"names", badly_named()}};
}

Rig gltf_case(const std::string& name) {
  for (GltfCase& entry : gltf_cases())
    if (entry.name == name) return std::move(entry.rig);
  throw std::logic_error("no case " + name);
}

}  // namespace sinew::test
