// Writes a small file of every kind that our own writers make: fuzz_seeds FOLDER makes FOLDER/FORMAT/....
#include <cstdio>
#include <filesystem>

#include "io/small_sequence.h"
#include "sinew/io/alembic.h"
#include "sinew/io/gltf.h"
#include "sinew/io/mdd.h"
#include "sinew/io/npz.h"
#include "sinew/io/obj.h"
#include "sinew/io/pc2.h"
#include "sinew/io/two_layer_gltf.h"

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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: fuzz_seeds FOLDER\n", stderr), 2;
  const fs::path folder = argv[1];
  const Sequence small = test::small_sequence(2);
  write_obj(made(folder / "obj") / "small.obj", small.rest);
  test::write_text(folder / "obj/hand.obj", kHandMade);
  write_pc2(made(folder / "pc2") / "small.pc2", small.frames, small.times);
  write_mdd(made(folder / "mdd") / "small.mdd", small.frames, small.times);
  write_npz(made(folder / "npz") / "small.npz", small);
  write_alembic(made(folder / "abc") / "small.abc", small);
  write_glb(made(folder / "gltf") / "small.glb", small_rig(small));
  const Rig layered = two_layer_rig(small);
  write_glb(folder / "gltf/two_layer.glb", layered);
  write_glb(folder / "gltf/packed.glb", layered, {}, std::vector{two_layer_extension(layered, true)});
  OutputFile packed(made(folder / "two_layer") / "packed");
  packed.write(std::span<const std::byte>(packed_model()));
  packed.commit();
  OutputFile array(folder / "npz/rest.npy");
  array.write(first_member(read_file(folder / "npz/small.npz")));
  array.commit();
  return 0;
}
