#include "sinew/rework/transfer.h"

#include <cmath>

#include "rework/rework_rigs.h"
#include "sinew/evaluate/errors.h"
#include "sinew/make/character.h"
#include "support/support.h"

namespace sinew {
namespace {

Rig carried(const Rig& rig, const Mesh& mesh, TransferReport* out = nullptr, TransferOptions options = {}) {
  options.threads = 1;
  TransferReport report;
  Rig result = transfer(rig, mesh, options, report);
  result.check();
  EXPECT_EQ(report.matched + report.filled + report.unreached, mesh.vertex_count());
  if (out != nullptr) *out = report;
  return result;
}

TEST(Transfer, ToTheSameMeshGivesTheSameFrames) {
  Rig rig = test::bending_tube();
  test::add_swelling(rig);
  TransferReport report;
  const Rig out = carried(rig, rig.rest, &report);
  EXPECT_EQ(report.matched, rig.vertex_count());
  EXPECT_LT(report.farthest_percent, 1e-5);
  EXPECT_LT(evaluate(out, pose_all(rig), 1).max_percent, 1e-3);
}

TEST(Transfer, ToAnotherCutOfTheSameTubeMovesAsTheTubeThere) {
  const Rig fine = test::bending_tube(48, 61);
  for (const auto& [around, rings] : {std::pair<Index, Index>{12, 16}, {48, 41}, {96, 121}}) {
    const Rig truth = test::bending_tube(around, rings);
    EXPECT_LT(evaluate(carried(fine, truth.rest), pose_all(truth), 1).rmse_percent, 0.15) << around << ", " << rings;
  }
}

/// Two legs side by side, a bone each, and trousers around them that reach beyond the middle between the legs.
struct Legs {
  Rig rig;
  Mesh trousers;
};

Legs two_legs() {
  Legs out;
  out.rig.rest =
      test::together(test::tube({-0.52F, 0, 0}, 0.5F, 4, 24, 20), test::tube({0.52F, 0, 0}, 0.5F, 4, 24, 20));
  out.trousers = test::together(test::tube({-0.52F, 0.1F, 0}, 0.53F, 3.8F, 30, 17),
                                test::tube({0.52F, 0.1F, 0}, 0.53F, 3.8F, 30, 17));
  out.rig.bones = {{"left", -1, {-0.52F, 0, 0}, {-0.52F, 4, 0}}, {"right", -1, {0.52F, 0, 0}, {0.52F, 4, 0}}};
  out.rig.motion = Motion(2, 2);
  out.rig.motion(1, 0).col(3) = Vector3(0, 0, 1);
  out.rig.times = uniform_times(2);
  out.rig.weights.influences = 1;
  for (std::size_t v = 0; v < out.rig.vertex_count(); ++v) {
    out.rig.weights.bones.push_back(v < out.rig.vertex_count() / 2 ? 0 : 1);
    out.rig.weights.values.push_back(1);
  }
  return out;
}

int on_the_wrong_leg(const Rig& rig) {
  int wrong = 0;
  for (std::size_t v = 0; v < rig.vertex_count(); ++v) {
    const Index own = v < rig.vertex_count() / 2 ? 0 : 1;
    for (int k = 0; k < rig.weights.influences; ++k) {
      const std::size_t slot = v * static_cast<std::size_t>(rig.weights.influences) + static_cast<std::size_t>(k);
      wrong += rig.weights.values[slot] > 0.01F && rig.weights.bones[slot] != own ? 1 : 0;
    }
  }
  return wrong;
}

TEST(Transfer, TrousersDoNotTakeTheWeightsOfTheOtherLeg) {
  const Legs legs = two_legs();
  TransferReport report;
  EXPECT_EQ(on_the_wrong_leg(carried(legs.rig, legs.trousers, &report)), 0);
  EXPECT_GT(report.filled, 0U);
  TransferOptions nearest;
  nearest.degrees = 180;  // what is nearest, whichever way it faces
  EXPECT_GT(on_the_wrong_leg(carried(legs.rig, legs.trousers, nullptr, nearest)), 10);
}

TEST(Transfer, AGarmentTwoPercentOffACreatureTakesNoWeightFromOtherLimbs) {
  CharacterOptions options;
  options.vertices = 2500;
  options.walk_frames = 2;
  options.wave_frames = 0;
  options.components = false;
  options.threads = 1;
  const Rig body = make_character(options).truth;
  Mesh garment = body.rest;
  garment.normals = {};
  Points normals = Points::Zero(3, garment.positions.cols());
  const std::vector<Index> triangles = triangles_of(garment);
  for (std::size_t t = 0; t < triangles.size(); t += 3) {
    const Vector3 a = garment.positions.col(triangles[t]);
    const Vector3 area =
        (garment.positions.col(triangles[t + 1]) - a).cross(garment.positions.col(triangles[t + 2]) - a);
    for (std::size_t i = 0; i < 3; ++i) normals.col(triangles[t + i]) += area;
  }
  const Vector3 size = garment.positions.rowwise().maxCoeff() - garment.positions.rowwise().minCoeff();
  garment.positions += 0.02F * size.norm() * normals.colwise().normalized();
  const Rig out = carried(body, garment);
  // The bones that a vertex may follow: its own on the body, their parents and their children.
  const auto worn = unpack_weights(out.weights, body.bone_count());
  const auto own = unpack_weights(body.weights, body.bone_count());
  for (Eigen::Index v = 0; v < worn.rows(); ++v) {
    Eigen::VectorXf allowed = own.row(v).transpose();
    for (std::size_t b = 0; b < body.bone_count(); ++b)
      if (const int parent = body.bones[b].parent; parent >= 0) {
        const auto i = static_cast<Eigen::Index>(b);
        if (own(v, parent) > 0) allowed[i] = 1;
        if (own(v, i) > 0) allowed[parent] = 1;
      }
    for (Eigen::Index b = 0; b < worn.cols(); ++b)
      if (!(allowed[b] > 0)) {
        EXPECT_LT(worn(v, b), 0.1F) << "vertex " << v << ", bone " << body.bones[static_cast<std::size_t>(b)].name;
      }
  }
}

TEST(Transfer, SizePlaceAndThreadsDoNotMatter) {
  const Rig rig = test::bending_tube(20, 25);
  const Mesh mesh = test::bending_tube(17, 22).rest;
  const SkinWeights plain = carried(rig, mesh).weights;
  Rig large = rig;
  Mesh large_mesh = mesh;
  for (Points* points : {&large.rest.positions, &large_mesh.positions}) {
    *points *= 128;
    points->colwise() += Vector3(64, -32, 16);
  }
  large.motion = Motion(1, 3);
  large.times = {0};
  large.jointed = false;
  TransferOptions two;
  two.threads = 2;
  TransferReport report;
  const SkinWeights same = transfer(rig, mesh, two, report).weights;
  EXPECT_EQ(same.bones, plain.bones);
  EXPECT_EQ(same.values, plain.values);
  const Eigen::MatrixXf difference = unpack_weights(carried(large, large_mesh).weights, 3) - unpack_weights(plain, 3);
  EXPECT_LT(difference.cwiseAbs().maxCoeff(), 1e-3F);
}

TEST(Transfer, TakesEveryMeshOfTheZooThatHasASurface) {
  for (const Sequence& sequence : test::zoo()) {
    SCOPED_TRACE(sequence.name);
    const Rig rig = test::rig_over(sequence);
    if (sequence.rest.positions.cols() < 3 || sequence.name == "line") {
      test::expect_error(ErrorKind::input, "no triangle", [&] { carried(rig, rig.rest); });
      continue;
    }
    EXPECT_LT(evaluate(carried(rig, rig.rest), pose_all(rig), 1).max_percent, 60);
  }
}

TEST(Transfer, RefusesWhatCannotBe) {
  const Rig rig = test::bending_tube(8, 7, 2);
  TransferReport report;
  Mesh away = rig.rest;
  away.positions.colwise() += Vector3(100, 0, 0);
  test::expect_error(ErrorKind::input, "not where the rig's rest pose is", [&] { carried(rig, away); });
  TransferOptions options;
  options.distance = 0;
  test::expect_error(ErrorKind::usage, "distance", [&] { transfer(rig, rig.rest, options, report); });
  options = {};
  options.degrees = -1;
  test::expect_error(ErrorKind::usage, "degrees", [&] { transfer(rig, rig.rest, options, report); });
  Mesh broken = rig.rest;
  broken.positions(0, 0) = std::nanf("");
  test::expect_error(ErrorKind::input, "the mesh that takes", [&] { carried(rig, broken); });
  test::expect_error(ErrorKind::interrupted, "stopped",
                     [&] { transfer(rig, rig.rest, {}, report, [](std::string_view, double) { return false; }); });
}

}  // namespace
}  // namespace sinew
