#include "sinew/evaluate/vertex_match.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "io/gltf/gltf_rigs.h"
#include "sinew/core/error.h"
#include "sinew/evaluate/errors.h"
#include "support/support.h"

namespace sinew {
namespace {

/// The rig with its vertices in the order of `rows`, which may repeat some; its mesh has no faces.
Rig reordered(const Rig& rig, const std::vector<Index>& rows) {
  Rig out = rig;
  out.rest = {};
  out.rest.positions = rig.rest.positions(Eigen::all, rows);
  out.weights.bones.clear();
  out.weights.values.clear();
  const auto slots = static_cast<std::size_t>(rig.weights.influences);
  for (const Index row : rows)
    for (std::size_t k = row * slots; k < (row + 1) * slots; ++k) {
      out.weights.bones.push_back(rig.weights.bones[k]);
      out.weights.values.push_back(rig.weights.values[k]);
    }
  return out;
}

std::vector<Index> shuffled(std::size_t count) {
  std::vector<Index> rows(count);
  std::iota(rows.begin(), rows.end(), Index{0});
  std::mt19937 random(3);
  for (std::size_t i = count; i > 1; --i) std::swap(rows[i - 1], rows[random() % i]);
  return rows;
}

TEST(MatchVertices, ShuffledAndRepeatedOnesAreFound) {
  const Rig rig = test::random_rig(12, 4, 3, 5, Transforms::affine);
  std::vector<Index> rows = shuffled(rig.vertex_count());
  rows.push_back(7);
  rows.push_back(7);
  const Rig other = reordered(rig, rows);
  const Sequence sequence = pose_all(rig);
  const VertexMatch match = match_vertices(other, sequence);
  for (std::size_t v = 0; v < rig.vertex_count(); ++v) EXPECT_EQ(rows[match.of[v]], v);
  EXPECT_EQ(match.copies, 2U);
  EXPECT_EQ(match.missing, 0U);
  EXPECT_LT(evaluate(in_order_of(other, match, sequence), sequence).e_rms, 1e-3);
}

TEST(MatchVertices, ThoseAtOnePlaceAreToldApartByTheirMotion) {
  Rig rig = test::random_rig(12, 4, 1, 5, Transforms::rigid);
  rig.rest.positions.col(3) = rig.rest.positions.col(20);  // vertices of different bones
  rig.weights.bones[3] = 0;
  rig.weights.bones[20] = 2;
  const std::vector<Index> rows = shuffled(rig.vertex_count());
  const VertexMatch match = match_vertices(reordered(rig, rows), pose_all(rig));
  EXPECT_EQ(rows[match.of[3]], 3U);
  EXPECT_EQ(rows[match.of[20]], 20U);
  EXPECT_GE(match.by_motion, 2U);
}

TEST(MatchVertices, WhatIsNotOneToOneIsRefused) {
  const Rig rig = test::random_rig(12, 4, 3, 5, Transforms::affine);
  const Sequence sequence = pose_all(rig);
  std::vector<Index> rows = shuffled(rig.vertex_count());
  rows.pop_back();  // one is missing
  EXPECT_THROW(match_vertices(reordered(rig, rows), sequence), Error);
  Rig moved = rig;
  moved.rest.positions.col(5).x() += 1;
  EXPECT_THROW(match_vertices(moved, sequence), Error);
  Sequence shorter = select_frames(sequence, 0, 3, 1);
  EXPECT_THROW(match_vertices(rig, shorter), Error);
}

TEST(MatchVertices, PointsOfNoFaceMayBeMissing) {
  Rig rig = test::random_rig(12, 4, 3, 5, Transforms::affine);
  Sequence sequence = pose_all(rig);
  const auto V = sequence.rest.positions.cols();
  sequence.rest.positions.conservativeResize(3, V + 1);
  sequence.rest.positions.col(V) = Vector3(30, 40, 50);
  Frames frames(sequence.frame_count(), static_cast<std::size_t>(V) + 1);
  for (std::size_t f = 0; f < frames.count(); ++f) {
    frames[f].leftCols(V) = sequence.frames[f];
    frames[f].col(V) = Vector3(1, 2, static_cast<float>(f));
  }
  sequence.frames = frames;
  const VertexMatch match = match_vertices(rig, sequence);
  EXPECT_EQ(match.missing, 1U);
  const Sequence part = matched_part(sequence, match);
  EXPECT_EQ(part.vertex_count(), rig.vertex_count());
  EXPECT_LT(evaluate(in_order_of(rig, match, part), part).e_rms, 1e-3);
}

TEST(MatchVertices, AMissingPointMayComeBeforeOthers) {
  const Rig rig = test::random_rig(12, 4, 3, 5, Transforms::affine);
  Sequence sequence = pose_all(rig);
  const auto V = sequence.rest.positions.cols();
  const auto widened = [&](const Points& points) {
    Points out(3, V + 1);
    out << points.leftCols(5), Vector3(30, 40, 50), points.rightCols(V - 5);
    return out;
  };
  sequence.rest.positions = widened(sequence.rest.positions);
  for (Index& corner : sequence.rest.corners) corner += corner >= 5 ? 1 : 0;
  Frames frames(sequence.frame_count(), static_cast<std::size_t>(V) + 1);
  for (std::size_t f = 0; f < frames.count(); ++f) frames[f] = widened(Points(sequence.frames[f]));
  sequence.frames = frames;
  const VertexMatch match = match_vertices(rig, sequence);
  EXPECT_EQ(match.missing, 1U);
  const Sequence part = matched_part(sequence, match);
  const Rig matched = in_order_of(rig, match, part);
  EXPECT_EQ(matched.rest.corners, rig.rest.corners);
  EXPECT_LT(evaluate(matched, part).e_rms, 1e-3);
}

}  // namespace
}  // namespace sinew
