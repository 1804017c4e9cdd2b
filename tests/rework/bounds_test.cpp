#include "sinew/rework/bounds.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "io/gltf/gltf_rigs.h"
#include "rework/rework_rigs.h"
#include "runtime/triangles.h"
#include "sinew/refine/two_layer.h"
#include "support/support.h"

namespace sinew {
namespace {

/// A rig in one of its frames, with its tree and with all its vertices posed for whoever wants to look at each.
struct Posed {
  Posed(const Rig& rig, std::size_t frame)
      : tree(build_bounds_tree(rig)), view(tree.view()), memory(runtime_model(rig)) {
    boxes.resize(6 * tree.nodes.size());
    stamps.resize(tree.nodes.size(), 0);
    pose = {&view,
            &memory.model,
            memory.palettes.data() + 16 * rig.bone_count() * frame,
            rig.corrections ? memory.coefficients.data() + rig.corrections->rank() * frame : nullptr,
            boxes.data(),
            stamps.data(),
            0};
    sinew_tree_begin(&pose);
    vertices.resize(3 * rig.vertex_count());
    std::vector<float> scratch(sinew_scratch_floats(&memory.model));
    const sinew_poses poses{
        1, pose.palette, 0, pose.coefficients, {vertices.data(), 12, 0}, {nullptr, 12, 0}, scratch.data()};
    EXPECT_EQ(sinew_skin(&memory.model, &poses), sinew_ok);
    EXPECT_EQ(sinew_tree_check(&view, &memory.model), sinew_ok);
  }
  Posed(const Posed&) = delete;

  /// The box around the posed vertices that triangles use.
  void brute_box(float* box) const {
    std::fill_n(box, 3, INFINITY);
    std::fill_n(box + 3, 3, -INFINITY);
    for (const std::uint32_t v : tree.corners)
      for (std::size_t k = 0; k < 3; ++k) {
        box[k] = std::min(box[k], vertices[3 * v + k]);
        box[3 + k] = std::max(box[3 + k], vertices[3 * v + k]);
      }
  }
  runtime::Triangle triangle(std::size_t t) const {
    runtime::Triangle out{};
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t k = 0; k < 3; ++k) out[i][k] = static_cast<double>(vertices[3 * tree.corners[3 * t + i] + k]);
    return out;
  }

  BoundsTree tree;
  sinew_tree view;
  RuntimeModel memory;
  std::vector<float> boxes;
  std::vector<std::uint32_t> stamps;
  sinew_tree_pose pose{};
  std::vector<float> vertices;
};

std::vector<Rig> rigs() {
  std::vector<Rig> out;
  for (const Sequence& sequence : test::zoo()) out.push_back(test::rig_over(sequence));
  out.push_back(test::bending_tube(16, 31));
  test::add_swelling(out.emplace_back(test::bending_tube(16, 31)));
  out.push_back(test::random_rig(60, 16, 4, 4, Transforms::affine));
  Rig two = test::bending_tube(16, 31);
  TwoLayerOptions options;
  options.virtual_bones = 9;
  options.threads = 1;
  TwoLayerReport report;
  out.push_back(compress_two_layer(two, nullptr, options, report));
  return out;
}

TEST(BoundsTree, EveryBoxHoldsItsTrianglesInEveryFrame) {
  for (const Rig& rig : rigs())
    for (std::size_t f = 0; f < rig.frame_count(); ++f) {
      Posed posed(rig, f);
      if (posed.tree.nodes.empty()) continue;
      float point[3] = {0, 0, 0};
      sinew_tree_hit hit;
      EXPECT_EQ(sinew_tree_nearest(&posed.pose, point, 1e30F, &hit), 1);
      // A ball around everything makes every box.
      std::uint32_t one = 0;
      EXPECT_EQ(sinew_tree_ball(&posed.pose, point, 1e6F, &one, 1), posed.tree.numbers.size());
      for (std::size_t i = 0; i < posed.tree.nodes.size(); ++i) {
        ASSERT_EQ(posed.stamps[i], posed.pose.stamp);
        const sinew_tree_node& node = posed.tree.nodes[i];
        const float* const box = posed.boxes.data() + 6 * i;
        for (std::size_t c = 3 * node.first_triangle; c < 3 * (node.first_triangle + node.triangles); ++c)
          for (std::size_t k = 0; k < 3; ++k) {
            const float x = posed.vertices[3 * posed.tree.corners[c] + k];
            ASSERT_LE(box[k], x);
            ASSERT_GE(box[3 + k], x);
          }
      }
    }
}

TEST(BoundsTree, ABoneThatVerticesHardlyFollowHardlyWidensTheirBoxes) {
  Rig rig = test::random_rig(400, 16, 4, 3, Transforms::rigid);
  const auto slots = static_cast<std::size_t>(rig.weights.influences);
  for (std::size_t v = 0; v < rig.vertex_count(); ++v) {  // weights from bone to bone, and a little of the last
    const double along = 14.0 * static_cast<double>(v) / static_cast<double>(rig.vertex_count());
    const auto bone = static_cast<Index>(along);
    const auto share = static_cast<float>(0.1 + 0.8 * (along - std::floor(along)));
    const float little = v % 5 == 0 ? 0.01F : 0.0F;
    const bool next = share > 0.5F;  // rows begin with the largest
    const float large = (1 - little) * std::max(share, 1 - share);
    const float rows[] = {large, 1 - little - large, little, 0};
    const Index bones[] = {next ? bone + 1 : bone, next ? bone : bone + 1, 15, 0};
    for (std::size_t k = 0; k < slots; ++k) {
      rig.weights.values[v * slots + k] = k < 4 ? rows[k] : 0;
      rig.weights.bones[v * slots + k] = k < 4 && rows[k] > 0 ? bones[k] : 0;
    }
  }
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    Affine still = Affine::Zero();
    still.leftCols<3>().setIdentity();
    for (std::size_t b = 0; b < 15; ++b) rig.motion(f, b) = still;
    rig.motion(f, 15) = still;
    rig.motion(f, 15).col(3) = Vector3(1000, 0, 0);
  }
  Posed posed(rig, 0);
  float brute[6];
  posed.brute_box(brute);
  float all[6];
  sinew_tree_box(&posed.pose, all);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_LE(all[k], brute[k]);
    EXPECT_GE(all[3 + k], brute[3 + k]);
    EXPECT_GE(all[k], brute[k] - 15);
    EXPECT_LE(all[3 + k], brute[3 + k] + 15);
  }
}

TEST(BoundsTree, BoxesAreCloseAroundWhatTheyHold) {
  const Rig rig = test::bending_tube(32, 61);
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    Posed posed(rig, f);
    float all[6];
    float brute[6];
    sinew_tree_box(&posed.pose, all);
    posed.brute_box(brute);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(all[k], brute[k], 0.9F);
      EXPECT_NEAR(all[3 + k], brute[3 + k], 0.9F);
    }
    // Leaves, whose weights hardly differ, fit as tightly as their triangles are large.
    double sum = 0;
    std::size_t leaves = 0;
    float point[3] = {0, 0, 0};
    std::uint32_t one = 0;
    sinew_tree_ball(&posed.pose, point, 1e6F, &one, 1);
    for (std::size_t i = 0; i < posed.tree.nodes.size(); ++i)
      if (posed.tree.nodes[i].right == 0) {
        const float* const box = posed.boxes.data() + 6 * i;
        sum += static_cast<double>(std::hypot(box[3] - box[0], box[4] - box[1], box[5] - box[2]));
        ++leaves;
      }
    EXPECT_LT(sum / static_cast<double>(leaves), 0.35) << "edges are 0.07 and 0.05 long";
  }
}

/// Random rays, points, balls and planes, each against every triangle. Few per run: a million of them were asked once.
void ask(const Rig& rig, std::size_t frame, int queries, std::uint32_t seed) {
  Posed posed(rig, frame);
  float box[6];
  posed.brute_box(box);
  if (!(box[0] <= box[3])) {
    sinew_tree_hit hit;
    const float zero[3] = {0, 0, 0};
    const float up[3] = {0, 1, 0};
    EXPECT_EQ(sinew_tree_nearest(&posed.pose, zero, 1e30F, &hit), 0);
    EXPECT_EQ(sinew_tree_ray(&posed.pose, zero, up, 1e30F, &hit), 0);
    return;
  }
  const float size = std::max({box[3] - box[0], box[4] - box[1], box[5] - box[2], 1e-3F});
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-0.4F, 1.4F);
  const auto place = [&](float* x) {
    for (std::size_t k = 0; k < 3; ++k) x[k] = box[k] + uniform(random) * std::max(box[3 + k] - box[k], 0.2F * size);
  };
  const std::size_t triangles = posed.tree.numbers.size();
  for (int q = 0; q < queries; ++q) {
    float from[3];
    float to[3];
    place(from);
    place(to);
    if (q % 2 == 0)  // aim at a vertex: half of the others miss
      std::copy_n(posed.vertices.data() + 3 * posed.tree.corners[random() % (3 * triangles)], 3, to);
    const float along[3] = {to[0] - from[0], to[1] - from[1], to[2] - from[2]};
    const auto wide = [](const float* x) { return runtime::Point{double(x[0]), double(x[1]), double(x[2])}; };
    const float radius = 0.3F * size * std::abs(uniform(random));
    double first = INFINITY;
    double nearest = INFINITY;
    double slack = 1e-5 * double(size);
    std::size_t sure = 0;
    std::size_t perhaps = 0;
    for (std::size_t t = 0; t < triangles; ++t) {
      runtime::Point weights{};
      const runtime::Triangle x = posed.triangle(t);
      // Rays that pass within rounding of an edge may go either way: only what is well inside counts.
      const double hit = runtime::meets_ray(x, wide(from), wide(along), weights);
      if (std::isfinite(hit) && *std::min_element(weights.begin(), weights.end()) > 1e-3) first = std::min(first, hit);
      const double away = std::sqrt(runtime::squared_distance(x, wide(from), weights));
      nearest = std::min(nearest, away);
      sure += away < double(radius) - slack ? 1 : 0;
      perhaps += away < double(radius) + slack ? 1 : 0;
    }
    for (const float* const c : {box, box + 3})
      for (std::size_t k = 0; k < 3; ++k) slack = std::max(slack, 1e-6 * std::abs(double(c[k])));
    sinew_tree_hit hit{};
    const int found = sinew_tree_ray(&posed.pose, from, along, 1e30F, &hit);
    const double length = std::sqrt(runtime::dot(wide(along), wide(along)));
    if (std::isfinite(first) && first * length > slack) {
      ASSERT_EQ(found, 1) << "ray " << q;
      ASSERT_LE(double(hit.distance) * length, first * length + 50 * slack) << "ray " << q;
    }
    ASSERT_EQ(sinew_tree_nearest(&posed.pose, from, 1e30F, &hit), 1);
    ASSERT_NEAR(double(hit.distance), nearest, 20 * slack + 1e-5 * nearest) << "point " << q;
    std::vector<std::uint32_t> touched(triangles);
    const std::size_t count = sinew_tree_ball(&posed.pose, from, radius, touched.data(), triangles);
    ASSERT_GE(count, sure) << "ball " << q;
    ASSERT_LE(count, perhaps) << "ball " << q;
    // A plane through the point: what reaches in front of it is never said to be behind.
    const float plane[4] = {along[0], along[1], along[2],
                            -(along[0] * from[0] + along[1] * from[1] + along[2] * from[2])};
    bool in_front = false;
    for (const std::uint32_t v : posed.tree.corners)
      in_front = in_front || plane[0] * posed.vertices[3 * v] + plane[1] * posed.vertices[3 * v + 1] +
                                     plane[2] * posed.vertices[3 * v + 2] + plane[3] >
                                 0;
    if (in_front) {
      ASSERT_EQ(sinew_tree_in_front(&posed.pose, plane, 1), 1) << "plane " << q;
    }
  }
}

TEST(BoundsTree, NoQueryMissesWhatBruteForceFinds) {
  std::uint32_t seed = 1;
  for (const Rig& rig : rigs())
    for (std::size_t f = 0; f < rig.frame_count(); f += 2) ask(rig, f, 60, ++seed);
}

TEST(BoundsTree, DISABLED_AMillionQueriesMissNothing) {
  std::uint32_t seed = 1000;
  int asked = 0;
  while (asked < 290000)  // four questions each; a tenth are of rigs without triangles, which answer at once
    for (const Rig& rig : rigs())
      for (std::size_t f = 0; f < rig.frame_count(); ++f, asked += 250) ask(rig, f, 250, ++seed);
}

TEST(BoundsTree, TwoModelsMeetWhereTheirTrianglesDo) {
  const Rig rig = test::bending_tube(8, 13);
  for (std::size_t f = 1; f < 4; ++f)
    for (const float shift : {0.05F, 0.4F, 0.9F, 5.0F}) {
      Rig moved = rig;
      for (std::size_t b = 0; b < 3; ++b) moved.motion(f, b).col(3).x() += shift;
      Posed one(rig, f);
      Posed other(moved, f);
      std::size_t expected = 0;
      for (std::size_t s = 0; s < one.tree.numbers.size(); ++s)
        for (std::size_t t = 0; t < other.tree.numbers.size(); ++t)
          expected += runtime::meet(one.triangle(s), other.triangle(t)) ? 1 : 0;
      std::vector<std::uint32_t> pairs(2 * expected + 2);
      EXPECT_EQ(sinew_tree_overlap(&one.pose, &other.pose, pairs.data(), expected + 1), expected) << shift;
      EXPECT_EQ(sinew_tree_overlap(&one.pose, &other.pose, pairs.data(), 1), expected > 0 ? 1U : 0U);
      EXPECT_EQ(expected > 0, shift < 0.8F) << shift;
    }
}

TEST(BoundsTree, QueriesLookAtFewNodes) {
  Posed posed(test::bending_tube(100, 200), 3);
  const float from[3] = {-5, 2, 0.3F};
  const float along[3] = {1, -0.1F, 0};
  sinew_tree_hit hit;
  sinew_tree_ray(&posed.pose, from, along, 100, &hit);
  EXPECT_LT(std::count(posed.stamps.begin(), posed.stamps.end(), 1U), 400);
  EXPECT_GT(posed.tree.nodes.size(), 10000U);
}

TEST(BoundsTree, ComesBackFromAFileAndHostileOnesAreRefused) {
  Rig rig = test::bending_tube(8, 13);
  test::add_swelling(rig);
  const BoundsTree tree = build_bounds_tree(rig);
  const GltfExtension written = bounds_extension(clip_bounds(rig, 1), &tree);
  const std::vector<GltfExtension> all{written};
  const auto read = parse_gltf_extension(glb_bytes(rig, {}, all), kBoundsExtension);
  ASSERT_TRUE(read.has_value());
  const auto back = tree_of(*read, rig, "file");
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->corners, tree.corners);
  EXPECT_EQ(back->shifts, tree.shifts);
  ASSERT_EQ(back->nodes.size(), tree.nodes.size());
  EXPECT_EQ(std::memcmp(back->nodes.data(), tree.nodes.data(), sizeof(sinew_tree_node) * tree.nodes.size()), 0);
  EXPECT_EQ(std::memcmp(back->follows.data(), tree.follows.data(), sizeof(sinew_tree_follow) * tree.follows.size()), 0);
  // Any 32-bit number in the place of any other is refused or harmless: every question about it ends.
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    GltfExtension hostile = *read;
    GltfArray& array = hostile.arrays[random() % hostile.arrays.size()];
    const std::uint32_t number = i % 3 == 0 ? 0xFFFFFFFFU : static_cast<std::uint32_t>(random() % 200);
    std::memcpy(array.bytes.data() + random() % (array.bytes.size() / 4) * 4, &number, 4);
    try {
      BoundsTree taken = *tree_of(hostile, rig, "file");
      const sinew_tree view = taken.view();
      const RuntimeModel model = runtime_model(rig);
      std::vector<float> boxes(6 * taken.nodes.size());
      std::vector<std::uint32_t> stamps(taken.nodes.size());
      sinew_tree_pose pose{
          &view, &model.model, model.palettes.data(), model.coefficients.data(), boxes.data(), stamps.data(), 0};
      sinew_tree_begin(&pose);
      const float zero[3] = {0, 0, 0};
      sinew_tree_ball(&pose, zero, 100, nullptr, 0);
    } catch (const Error& error) {
      EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(ErrorKind::input));
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(ClipBounds, HoldEveryFrameOfTheirClipAndNoMore) {
  Rig rig = test::bending_tube(8, 13);
  rig.clips = {{"first", 0, 3}, {"second", 3, 4}};
  const std::vector<ClipBounds> bounds = clip_bounds(rig, 1);
  ASSERT_EQ(bounds.size(), 2U);
  Points posed(3, rig.rest.positions.cols());
  pose(rig, 5, posed);
  EXPECT_TRUE((posed.colwise() - bounds[1].box.low).minCoeff() >= 0);
  EXPECT_FALSE((posed.colwise() - bounds[0].box.high).maxCoeff() <= 0);
  rig.motion = Motion(0, 3);
  rig.times.clear();
  rig.clips.clear();
  test::expect_error(ErrorKind::input, "no frames", [&] { clip_bounds(rig); });
}

}  // namespace
}  // namespace sinew
