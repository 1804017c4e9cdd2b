// Writes small files of every kind, FOLDER/FORMAT/...: fuzz_seeds FOLDER [DATA]. They are what our own writers make,
// the small ones of the real files under DATA, truncated prefixes of all of them and copies with flipped bits.
#include <cstdio>
#include <filesystem>
#include <map>
#include <random>

#include "io/small_sequence.h"
#include "sinew/io/alembic.h"
#include "sinew/io/fbx.h"
#include "sinew/io/gltf.h"
#include "sinew/io/mdd.h"
#include "sinew/io/npz.h"
#include "sinew/io/obj.h"
#include "sinew/io/pc2.h"
#include "sinew/io/two_layer_gltf.h"
#include "sinew/io/usd.h"
#include "sinew/pack/pack.h"

namespace {

namespace fs = std::filesystem;
using namespace sinew;

fs::path made(const fs::path& folder) {
  fs::create_directories(folder);
  return folder;
}

/// OBJ text of the features that the writer has no use for.
constexpr const char* kHandMade =
    "# comment\r\nmtllib a.mtl\r\ng default\r\nv 1 2 3 1\r\nv +.5 -1e-3 1E2 \\\r\n 0.2 0.3 0.4\r\nv 0 0 1\r\n"
    "vt .5\r\nvt 1 0 0\r\nvn 0 0 2\r\nvn 1 0 0\r\ns 1\r\ng arm left\r\nusemtl red\r\nf -3/1/1 -2/-1/2 -1//-1\r\n"
    "usemtl\r\nf 1 2 3 # again\r\nl 1 2\r\no b\r\nv 1e-50 1 1\r\nv 2 1 1\r\nv 3 1 1\r\nf 4 5 6\r\n";

/// A layer of what our writer has no use for: classes, references, variants, transforms, comments.
constexpr const char* kLayer = R"(#usda 1.0
( "about" customLayerData = { string a = "b" } upAxis = "Z" framesPerSecond = 12 )
class "_c" { point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 2, 0)] }  # a comment
def Xform "x" ( variants = { string v = "one" } prepend variantSets = "v" )
{
    variantSet "v" = { "one" ( ) { double3 xformOp:translate.timeSamples = { 0: (0, 0, 0), 2.5: (1, 2, 3), } } "two" { } }
    float3 xformOp:rotateXYZ = (10, 20, 30); quatf xformOp:orient = (1, 0, 0, 0.5)
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateXYZ", "!invert!xformOp:orient"]
    def Mesh "m" ( inherits = </_c> ) {
        int[] faceVertexCounts = [3]
        int[] faceVertexIndices = [0, 1, 2]
        texCoord2f[] primvars:st = [(0, 1)] ( interpolation = "constant" )
        rel material:binding = </x/k>
        def GeomSubset "g" { int[] indices = [0] rel material:binding = </x/k> }
    }
    def Material "k" { token outputs:surface.connect = </x/k/s.outputs:surface>
        def Shader "s" { uniform token info:id = "UsdPreviewSurface" color3f inputs:diffuseColor.connect = </x/k/t.outputs:rgb> }
        def Shader "t" { uniform token info:id = "UsdUVTexture" asset inputs:file = @@@a.png@@@ } }
    def "copy" ( references = </x/m> ) { }
}
)";

/// Text FBX: a quad that a curve moves, with a skin, a shape and what only text spells so.
constexpr const char* kHandMadeFbx =
    "; FBX 7.4.0 project file\nFBXHeaderExtension:  {\n\tFBXVersion: 7400\n}\nGlobalSettings:  {\n\tProperties70:  {\n"
    "\t\tP: \"UpAxis\", \"int\", \"Integer\", \"\",2\n\t\tP: \"UnitScaleFactor\", \"double\", \"Number\", "
    "\"\",2.54\n\t}\n}\n"
    "Objects:  {\n\tGeometry: 1, \"Geometry::quad\", \"Mesh\" {\n\t\tVertices: *12 {\n"
    "\t\t\ta: 0,0,0,1,0,0,1,1,0,\n0,1,.5\n\t\t}\n\t\tPolygonVertexIndex: *4 {\n\t\t\ta: 0,1,2,-4\n\t\t}\n"
    "\t\tLayerElementUV: 0 {\n\t\t\tName: \"a &quot;b&quot;\"\n\t\t\tMappingInformationType: \"ByVertice\"\n"
    "\t\t\tReferenceInformationType: \"Direct\"\n\t\t\tUV: *8 {\n\t\t\t\ta: 0,0,1,0,1,1,0,1\n\t\t\t}\n\t\t}\n\t}\n"
    "\tModel: 2, \"Model::quad\", \"Mesh\" {\n\t\tProperties70:  {\n"
    "\t\t\tP: \"Lcl Translation\", \"Lcl Translation\", \"\", \"A\",1,2,-3e-1\n\t\t\tP: \"RotationActive\", \"bool\", "
    "\"\", \"\",1\n"
    "\t\t\tP: \"RotationOrder\", \"enum\", \"\", \"\",4\n\t\t}\n\t\tShading: T\n\t}\n"
    "\tModel: 3, \"Model::bone\", \"LimbNode\" {\n\t}\n\tDeformer: 4, \"Deformer::\", \"Skin\" {\n\t}\n"
    "\tDeformer: 5, \"SubDeformer::\", \"Cluster\" {\n\t\tIndexes: *2 {\n\t\t\ta: 0,2\n\t\t}\n\t\tWeights: *2 "
    "{\n\t\t\ta: 1,0.5\n"
    "\t\t}\n\t\tTransformLink: *16 {\n\t\t\ta: 1,0,0,0,0,1,0,0,0,0,1,0,2,0,0,1\n\t\t}\n\t}\n"
    "\tAnimationStack: 6, \"AnimStack::take\", \"\" {\n\t}\n\tAnimationLayer: 7, \"AnimLayer::base\", \"\" {\n\t}\n"
    "\tAnimationCurveNode: 8, \"AnimCurveNode::T\", \"\" {\n\t}\n\tAnimationCurve: 9, \"AnimCurve::\", \"\" {\n"
    "\t\tKeyTime: *2 {\n\t\t\ta: 0,4618615800\n\t\t}\n\t\tKeyValueFloat: *2 {\n\t\t\ta: 1,2\n\t\t}\n"
    "\t\tKeyAttrFlags: *1 {\n\t\t\ta: 1032\n\t\t}\n\t\tKeyAttrDataFloat: *4 {\n\t\t\ta: 1,0,0,0\n\t\t}\n"
    "\t\tKeyAttrRefCount: *1 {\n\t\t\ta: 2\n\t\t}\n\t}\n}\nConnections:  {\n\tC: \"OO\",2,0\n\tC: \"OO\",1,2\n\tC: "
    "\"OO\",3,0\n"
    "\tC: \"OO\",4,1\n\tC: \"OO\",5,4\n\tC: \"OO\",3,5\n\tC: \"OO\",7,6\n\tC: \"OO\",8,7\n"
    "\tC: \"OP\",8,3, \"Lcl Translation\"\n\tC: \"OP\",9,8, \"d|Y\"\n}\n";

constexpr const char* kHandMadePly =
    "ply\nformat ascii 1.0\ncomment by hand\nelement vertex 4\nproperty float x\nproperty double y\nproperty int z\n"
    "property float nx\nproperty float ny\nproperty float nz\nproperty uchar red\nproperty uchar green\n"
    "property uchar blue\nproperty float s\nproperty float t\nelement face 1\n"
    "property list uchar int vertex_indices\nproperty uchar flags\nelement edge 1\nproperty list short float a\n"
    "end_header\n0 0 0 0 0 1 255 0 1 0 0\n1 +0 0 0 0 2 1 2 3 1 0\n1 1e0 0 0 0 1 9 9 9 1 1\n0 1 0 0 0 1 0 0 0 0 1\n"
    "4 0 1 2 3 7\n2 0.5 1\n";

/// The same square in big-endian numbers.
std::vector<std::byte> binary_ply() {
  std::string out =
      "ply\nformat binary_big_endian 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
      "element face 1\nproperty list uchar int vertex_index\nend_header\n";
  const auto put = [&](std::uint32_t word) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(word >> shift & 0xFFU);
  };
  constexpr std::uint32_t kOne = 0x3F800000;
  for (const std::uint32_t word : {0U, 0U, 0U, kOne, 0U, 0U, kOne, kOne, 0U, 0U, kOne, 0U}) put(word);
  out += '\x04';
  for (const std::uint32_t v : {0U, 1U, 2U, 3U}) put(v);
  const auto bytes = std::as_bytes(std::span(out));
  return {bytes.begin(), bytes.end()};
}

/// The first array of an archive that holds its members as they are.
std::vector<std::byte> first_member(const std::vector<std::byte>& archive) {
  constexpr std::size_t kLocalHeader = 30;
  constexpr std::size_t kName = 8;  // "rest.npy"
  std::uint32_t size = 0;
  std::memcpy(&size, archive.data() + 18, sizeof size);
  return test::prefix({archive.begin() + kLocalHeader + kName, archive.end()}, size);
}

/// Two bones, a parent and its child, over the small mesh; two frames and a correction.
Rig small_rig(const Sequence& sequence) {
  Rig rig;
  rig.rest = sequence.rest;
  rig.times = sequence.times;
  rig.bones = {{"root", -1, Vector3::Zero(), Vector3::UnitY()}, {"arm", 0, Vector3::UnitY(), Vector3::UnitX()}};
  rig.motion = Motion(2, 2);
  rig.motion(1, 1) << 1, 0.25F, 0, 3, 0, 2, 0, -1, 0, 0, 0.5F, 0;
  rig.weights.influences = 2;
  for (std::size_t v = 0; v < rig.vertex_count(); ++v) {
    rig.weights.bones.insert(rig.weights.bones.end(), {v % 2 == 0 ? 1U : 0U, v % 2 == 0 ? 0U : 1U});
    rig.weights.values.insert(rig.weights.values.end(), {0.75F, 0.25F});
  }
  rig.corrections = Corrections{{0.5F * rig.rest.positions}, {}, Eigen::MatrixXf::Constant(2, 1, 0.25F)};
  return rig;
}

/// The small rig on a bent sheet of 3 by 3 vertices: the small mesh is too thin for rounded numbers, and has faces back
/// to back, of which nobody can say where their normals point.
Rig sheet_rig(const Sequence& sequence) {
  Rig rig = small_rig(sequence);
  rig.rest = {};
  rig.rest.positions.resize(3, 9);
  for (Index v = 0; v < 9; ++v)
    rig.rest.positions.col(v) = Vector3(static_cast<float>(v % 3), static_cast<float>(v / 3), v % 2 == 0 ? 0 : 0.25F);
  rig.rest.face_sizes = {4, 4, 4, 4};
  rig.rest.corners = {0, 1, 4, 3, 1, 2, 5, 4, 3, 4, 7, 6, 4, 5, 8, 7};
  rig.corrections->offsets[0] = 0.125F * rig.rest.positions;
  return rig;
}

/// The small rig with a second layer: two virtual bones.
Rig two_layer_rig(const Sequence& sequence) {
  Rig rig = small_rig(sequence);
  TwoLayer model{{2, {0, 1, 1, 0}, {0.5F, 0.5F, 1.25F, -0.25F}}, {2, {}, {}}};
  for (std::size_t v = 0; v < rig.vertex_count(); ++v) {
    model.coefficients.columns.insert(model.coefficients.columns.end(), {0, 1});
    model.coefficients.values.insert(model.coefficients.values.end(), {0.25F, 0.75F});
  }
  rig.two_layer = model;
  return rig;
}

/// A packed model of the size that fuzz_two_layer expects.
std::vector<std::byte> packed_model() {
  Rig rig;
  rig.rest.positions = Points::Zero(3, 12);
  rig.bones.resize(3);
  rig.motion = Motion(2, 3);
  TwoLayer model{{3, {}, {}}, {2, {}, {}}};
  for (Index j = 0; j < 4; ++j) {
    model.dictionary.columns.insert(model.dictionary.columns.end(), {0, 1, 2});
    model.dictionary.values.insert(model.dictionary.values.end(),
                                   {0.25F, 0.25F * static_cast<float>(j), 0.75F - 0.25F * static_cast<float>(j)});
  }
  for (Index v = 0; v < 12; ++v) {
    model.coefficients.columns.insert(model.coefficients.columns.end(), {v % 4, (v + 1) % 4});
    model.coefficients.values.insert(model.coefficients.values.end(), {0.125F, 0.875F});
  }
  rig.two_layer = model;
  return two_layer_extension(rig, true).arrays[0].bytes;
}

void write_bytes(const fs::path& path, std::span<const std::byte> bytes) {
  OutputFile file(made(path.parent_path()) / path.filename());
  file.write(bytes);
  file.commit();
}

/// Copies of the real files that are small enough to be changed quickly.
void copy_real_files(const fs::path& data, const fs::path& folder) {
  constexpr std::uintmax_t kMost = 60000;
  const std::map<std::string, std::string> formats{{".abc", "abc"}, {".glb", "gltf"}, {".gltf", "gltf"},
                                                   {".npy", "npz"}, {".obj", "obj"},  {".pc2", "pc2"},
                                                   {".fbx", "fbx"}};
  if (!fs::is_directory(data)) return;
  for (const auto& entry : fs::recursive_directory_iterator(data)) {
    const auto format = formats.find(entry.path().extension().string());
    if (format == formats.end() || !entry.is_regular_file() || entry.file_size() > kMost) continue;
    const std::string name = "real_" + entry.path().parent_path().filename().string() + "_";
    write_bytes(folder / format->second / (name + entry.path().filename().string()), read_file(entry.path()));
  }
}

/// Prefixes of every seed, and copies with one to eight flipped bits.
void damage_all(const fs::path& folder) {
  std::vector<fs::path> seeds;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) seeds.push_back(entry.path());
  std::mt19937_64 random(1);
  for (const fs::path& seed : seeds) {
    const std::vector<std::byte> bytes = read_file(seed);
    const auto beside = [&](const std::string& name) { return seed.parent_path() / (name + seed.filename().string()); };
    for (const std::size_t quarter : {1U, 2U, 3U})
      write_bytes(beside("cut" + std::to_string(quarter) + "_"), test::prefix(bytes, bytes.size() * quarter / 4));
    if (!bytes.empty()) write_bytes(beside("cut4_"), test::prefix(bytes, bytes.size() - 1));
    for (int flips = 1; flips <= 8 && !bytes.empty(); flips *= 2) {
      std::vector<std::byte> damaged = bytes;
      for (int i = 0; i < flips; ++i) damaged[random() % bytes.size()] ^= std::byte{1} << (random() % 8);
      write_bytes(beside("flip" + std::to_string(flips) + "_"), damaged);
    }
  }
}

void write_texts(const fs::path& folder) {
  made(folder / "options");
  for (const char* text : {"0:10", "3::2", ":", "all", "4", "512M", "1.5G", "2:1:0", "18446744073709551616:"})
    test::write_text(folder / "options" / ("text" + std::to_string(std::string_view(text).size()) + text), text);
  test::write_text(made(folder / "json") / "checkpoint",
                   R"({"options":"ssdr","input":"00","phase":"search 4 bones","step":3,"arrays":[)"
                   R"({"name":"motion","rows":2,"columns":2,"finished":false},)"
                   R"({"name":"best weights","rows":1,"columns":2,"finished":true}]})");
  test::write_text(folder / "json/packed", R"({"version":1,"vertices":12,"bones":3,"frames":2,"virtualBones":4,)"
                                           R"("bonesPerVirtualBone":3,"virtualBonesPerVertex":2})");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return std::fputs("usage: fuzz_seeds FOLDER [DATA]\n", stderr), 2;
  const fs::path folder = argv[1];
  const Sequence small = test::small_sequence(2);
  write_obj(made(folder / "obj") / "small.obj", small.rest);
  test::write_text(folder / "obj/hand.obj", kHandMade);
  write_pc2(made(folder / "pc2") / "small.pc2", small.frames, small.times);
  write_mdd(made(folder / "mdd") / "small.mdd", small.frames, small.times);
  write_npz(made(folder / "npz") / "small.npz", small);
  write_alembic(made(folder / "abc") / "small.abc", small);
  write_glb(made(folder / "gltf") / "small.glb", small_rig(small));
  write_fbx(made(folder / "fbx") / "small.fbx", small_rig(small), {.bake_shear = true});
  test::write_text(folder / "fbx/hand.fbx", kHandMadeFbx);
  test::write_text(made(folder / "ply") / "hand.ply", kHandMadePly);
  write_bytes(folder / "ply/binary.ply", binary_ply());
  const Rig layered = two_layer_rig(small);
  write_glb(folder / "gltf/two_layer.glb", layered);
  PackReport report;
  write_bytes(folder / "gltf/pack.glb", pack_glb(sheet_rig(small), nullptr, {}, report));
  write_bytes(folder / "gltf/pack_lossless.glb", pack_glb(small_rig(small), nullptr, {.lossless = true}, report));
  write_glb(folder / "gltf/packed.glb", layered, {}, std::vector{two_layer_extension(layered, true)});
  Rig rigid = small_rig(small);
  rigid.transforms = Transforms::rigid;
  rigid.motion = Motion(2, 2);
  rigid.motion(1, 1) << 0, -1, 0, 3, 1, 0, 0, -1, 0, 0, 1, 0;
  write_usd_rig(made(folder / "usd") / "rig.usda", rigid);
  write_usd_rig(folder / "usd/rig.usdz", rigid);
  write_usd_sequence(folder / "usd/small.usda", small);
  test::write_text(folder / "usd/hand.usda", kLayer);
  OutputFile packed(made(folder / "two_layer") / "packed");
  packed.write(std::span<const std::byte>(packed_model()));
  packed.commit();
  OutputFile array(folder / "npz/rest.npy");
  array.write(first_member(read_file(folder / "npz/small.npz")));
  array.commit();
  write_texts(folder);
  if (argc == 3) copy_real_files(argv[2], folder);
  damage_all(folder);
  return 0;
}
