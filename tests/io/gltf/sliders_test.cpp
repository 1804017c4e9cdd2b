#include <gtest/gtest.h>

#include <fstream>

#include "io/arrays/zip.h"
#include "io/gltf/gltf_edit.h"
#include "sinew/io/blendshapes.h"
#include "sinew/io/npz.h"
#include "sinew/io/output_file.h"
#include "support/patch_face.h"
#include "support/support.h"

namespace sinew {
namespace {

using test::expect_error;

/// Two bones, the second of which follows two sliders; a third slider moves nothing.
SliderMap small_map(Transforms transforms) {
  SliderMap map;
  map.transforms = transforms;
  map.names = {"jaw öffnen", "smile_L", "still"};
  map.entries = {{0, 1, {0.5F, 0, -1, 0.25F, 0, 0}}, {1, 0, {0, 1, 0, 0, 0.125F, 0}}, {1, 1, {3, 2, 1, 0, 0, 0.1F}}};
  if (transforms == Transforms::affine) map.entries[2].by[11] = 0.75F;
  return map;
}

Rig small_rig(Transforms transforms) {
  const Blendshapes face = test::patch_face();
  Rig rig;
  rig.rest = face.rest;
  rig.rest.shapes.clear();
  rig.transforms = transforms;
  rig.bones.resize(2);
  rig.bones[0] = {"bone_0", -1, Vector3(0.5F, 0, 1), Vector3(0.5F, 1, 1)};
  rig.bones[1] = {"bone_1", -1, Vector3(2, 3, 0), Vector3(2, 4, 0)};
  rig.weights.influences = 1;
  for (std::size_t v = 0; v < rig.vertex_count(); ++v) rig.weights.bones.push_back(v < 30 ? 0 : 1);
  rig.weights.values.assign(rig.vertex_count(), 1);
  Eigen::MatrixXf values(2, 3);
  values << 0, 0, 0, 1, 0.5F, 1;
  rig.motion = slider_motion(small_map(transforms), rig.bones, values);
  rig.times = uniform_times(2);
  return rig;
}

TEST(Sliders, ComeBackFromAFileAsTheyWere) {
  const test::TemporaryFolder folder;
  for (const Transforms transforms : {Transforms::rigid, Transforms::affine}) {
    const SliderMap map = small_map(transforms);
    const std::vector<GltfExtension> extensions{sliders_extension(map)};
    write_glb(folder / "face.glb", small_rig(transforms), {}, extensions);
    const Rig rig = read_rig(folder / "face.glb");
    const auto found = read_sliders(folder / "face.glb", rig);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->names, map.names);
    EXPECT_EQ(found->transforms, transforms);
    ASSERT_EQ(found->entries.size(), map.entries.size());
    for (std::size_t i = 0; i < map.entries.size(); ++i) {
      EXPECT_EQ(found->entries[i].bone, map.entries[i].bone);
      EXPECT_EQ(found->entries[i].slider, map.entries[i].slider);
      EXPECT_EQ(found->entries[i].by, map.entries[i].by);
    }
    Eigen::MatrixXf values(1, 3);
    values << 1, 0.5F, 1;
    const Motion posed = slider_motion(*found, rig.bones, values);
    for (std::size_t b = 0; b < 2; ++b) EXPECT_LT((posed(0, b) - rig.motion(1, b)).cwiseAbs().maxCoeff(), 1e-5F);
  }
}

TEST(Sliders, RigsWithoutThemHaveNone) {
  const test::TemporaryFolder folder;
  write_glb(folder / "plain.glb", small_rig(Transforms::rigid));
  EXPECT_FALSE(read_sliders(folder / "plain.glb", small_rig(Transforms::rigid)));
}

TEST(Sliders, DamagedExtensionsAreRefused) {
  const auto refused = [](const std::string& part, const std::function<void(GltfExtension&)>& damage) {
    GltfExtension extension = sliders_extension(small_map(Transforms::rigid));
    damage(extension);
    expect_error(ErrorKind::input, part, [&] { sliders_of(extension, 2); });
  };
  refused("another version", [](GltfExtension& e) { e.json = "{}"; });
  refused("another version", [](GltfExtension& e) { e.json = "[1]"; });
  refused("neither rigid nor affine", [](GltfExtension& e) { e.json = R"({"version":1,"names":["a"]})"; });
  refused("not a list", [](GltfExtension& e) { e.json = R"({"version":1,"transforms":"rigid","names":7})"; });
  refused("not a text", [](GltfExtension& e) { e.json = R"({"version":1,"transforms":"rigid","names":[7]})"; });
  refused("there are 1 sliders",
          [](GltfExtension& e) { e.json = R"({"version":1,"transforms":"rigid","names":["a"]})"; });
  refused("do not belong together",
          [](GltfExtension& e) { e.json = R"({"version":1,"transforms":"affine","names":["a","b","c"]})"; });
  refused("no array 'by'", [](GltfExtension& e) { e.arrays.pop_back(); });
  refused("of another type", [](GltfExtension& e) { e.arrays[2].component = GltfArray::Component::u32; });
  refused("of another type", [](GltfExtension& e) { e.arrays[0].width = 3; });
  refused("do not belong together", [](GltfExtension& e) { e.arrays[1].bytes.resize(4); });
  refused("not finite", [](GltfExtension& e) {
    const float infinite = std::numeric_limits<float>::infinity();
    std::memcpy(e.arrays[2].bytes.data() + 8, &infinite, sizeof infinite);
  });
  expect_error(ErrorKind::input, "1 bones", [] { sliders_of(sliders_extension(small_map(Transforms::rigid)), 1); });
}

TEST(Sliders, EveryByteOfAFileMayBeDamaged) {
  const test::TemporaryFolder folder;
  const std::vector<GltfExtension> extensions{sliders_extension(small_map(Transforms::rigid))};
  const Rig rig = small_rig(Transforms::rigid);
  const std::vector<std::byte> whole = glb_bytes(rig, {}, extensions);
  for (std::size_t i = 12; i < whole.size(); i += 7) {
    std::vector<std::byte> bytes = whole;
    bytes[i] ^= std::byte{0x55};
    try {
      if (const auto found = parse_gltf_extension(bytes, kSlidersExtension)) sliders_of(*found, rig.bone_count());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
    }
  }
}

TEST(Sliders, NumpyArraysHoldTheMap) {
  const test::TemporaryFolder folder;
  const SliderMap map = small_map(Transforms::rigid);
  Eigen::MatrixXf values(2, 3);
  values << 0, 0, 0, 1, 0.5F, 1;
  write_sliders_npz(folder / "map.npz", small_rig(Transforms::rigid), map, values);
  const std::vector<std::byte> bytes = read_file(folder / "map.npz");
  const ByteSource source(bytes);
  const auto members = list_zip(source, "map.npz");
  const auto member = [&](const char* name) {
    const ZipEntry& entry = members.at(name);
    const std::size_t at = find_zip_contents(source, entry, "map.npz");
    return std::span(bytes).subspan(at, entry.size);
  };
  const auto by = parse_npy<float>(member("entry_by.npy"), "by");
  EXPECT_EQ(by.shape, (std::vector<std::size_t>{3, 6}));
  EXPECT_FLOAT_EQ(by.values[12], 3);
  EXPECT_EQ(parse_npy<std::int64_t>(member("entry_bone.npy"), "bones").values, (std::vector<std::int64_t>{0, 1, 1}));
  EXPECT_EQ(parse_npy<std::int64_t>(member("entry_slider.npy"), "sliders").values,
            (std::vector<std::int64_t>{1, 0, 1}));
  EXPECT_EQ(parse_npy<float>(member("values.npy"), "values").shape, (std::vector<std::size_t>{2, 3}));
  const auto names = member("sliders.npy");
  const std::string text(reinterpret_cast<const char*>(names.data()), names.size());
  EXPECT_NE(text.find("'<U10'"), std::string::npos) << "as wide as the longest name";
  EXPECT_NE(text.find(std::string("j\0\0\0a\0\0\0w\0\0\0 \0\0\0\xF6\0\0\0", 20)), std::string::npos);
}

// --- Morph targets as sliders.

TEST(ReadBlendshapes, AFaceHasItsSlidersByNameAtRestWithoutThem) {
  SINEW_NEEDS_DATA();
  const std::filesystem::path path = test::data_folder() / "gltf/facecap.glb";
  const Blendshapes face = read_gltf_blendshapes(path);
  EXPECT_EQ(face.slider_count(), 51U) << "one of its 52 moves nothing";
  EXPECT_EQ(face.rest.shapes[0].name, "browInnerUp");
  ASSERT_EQ(face.clips.size(), 1U) << "the other animations move nodes";
  // With the values of a frame it is what the sequence reader bakes from the same animation.
  ReadOptions options;
  options.clip = face.clips[0].name;
  const Sequence baked = read_gltf_sequence(path, options);
  ASSERT_EQ(baked.frame_count(), face.frame_count());
  const Sequence shown = shaped_frames(face);
  const float reach = face.rest.positions.cwiseAbs().maxCoeff();
  for (const std::size_t f : {std::size_t{0}, face.frame_count() / 2})
    EXPECT_LT((std::as_const(shown.frames)[f] - std::as_const(baked.frames)[f]).cwiseAbs().maxCoeff(), 1e-5F * reach);
}

TEST(ReadBlendshapes, WithoutMorphTargetsThereAreNoSliders) {
  SINEW_NEEDS_DATA();
  expect_error(ErrorKind::input, "has no morph targets",
               [] { read_gltf_blendshapes(test::data_folder() / "gltf/Fox.glb"); });
}

}  // namespace
}  // namespace sinew
