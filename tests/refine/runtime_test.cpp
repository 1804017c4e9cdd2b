#include "sinew/io/two_layer_gltf.h"
#include "sinew/refine/two_layer.h"
#include "sinew/runtime/skin.h"

#include "planted.h"
#include "support/support.h"

// The runtime and pose() share no code: a rig that was compressed, written and read back must look the same to both.
namespace sinew {
namespace {

runtime::PackedWeights packed(const BlendRows& rows, std::size_t bones) {
  return runtime::pack_weights(rows.columns.data(), rows.values.data(), rows.row_count(),
                               static_cast<std::size_t>(rows.slots), bones);
}

/// One frame of a two-layer rig by sinew_skin.
Points played(const Rig& rig, std::size_t frame) {
  const std::size_t B = rig.bone_count();
  const runtime::PackedWeights coefficients = packed(rig.two_layer->coefficients, rig.two_layer->virtual_bone_count());
  const runtime::PackedWeights dictionary = packed(rig.two_layer->dictionary, B);
  std::vector<float> palette(16 * B);
  for (std::size_t b = 0; b < B; ++b) sinew_make_palette(rig.motion(frame, b).data(), 1, palette.data() + 16 * b);
  sinew_model model{};
  model.vertices = rig.vertex_count();
  model.bones = B;
  model.positions = {rig.rest.positions.data(), 3 * sizeof(float)};
  model.weights = coefficients.view();
  model.virtual_bones = rig.two_layer->virtual_bone_count();
  model.dictionary = dictionary.view();
  EXPECT_EQ(sinew_check_model(&model), sinew_ok);
  std::vector<float> scratch(sinew_scratch_floats(&model));
  Points out(3, rig.rest.positions.cols());
  sinew_poses poses{};
  poses.count = 1;
  poses.palettes = palette.data();
  poses.palette_stride = palette.size() * sizeof(float);
  poses.positions = {out.data(), 3 * sizeof(float), static_cast<std::size_t>(out.size()) * sizeof(float)};
  poses.scratch = scratch.data();
  EXPECT_EQ(sinew_skin(&model, &poses), sinew_ok);
  return out;
}

TEST(RuntimeOfACompressedFile, PosesItAsTheLibraryDoes) {
  TwoLayerOptions options;
  options.threads = 1;
  TwoLayerReport report;
  const Rig compressed = compress_two_layer(test::dense_tube(40, 12, 5), nullptr, options, report);
  for (const bool pack : {false, true}) {
    const Rig rig = parse_gltf_rig(glb_bytes(compressed, {}, std::vector{two_layer_extension(compressed, pack)}), {});
    ASSERT_TRUE(rig.two_layer.has_value());
    Points expected(3, rig.rest.positions.cols());
    for (std::size_t f = 0; f < rig.frame_count(); ++f) {
      pose(rig, f, expected);
      const float size = expected.cwiseAbs().maxCoeff();
      EXPECT_LT((played(rig, f) - expected).cwiseAbs().maxCoeff(), 2e-6F * size) << f << (pack ? " packed" : "");
    }
  }
}

}  // namespace
}  // namespace sinew
