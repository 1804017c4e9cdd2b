#include "sinew/evaluate/errors.h"

#include <Eigen/Geometry>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/index.h"
#include "sinew/core/bounds.h"
#include "support/support.h"
#include "support/zoo.h"

namespace sinew {
namespace {

/// A bent strip of two triangles over three frames.
Sequence strip() {
  Sequence sequence;
  sequence.name = "strip";
  sequence.rest.positions.resize(3, 4);
  sequence.rest.positions << 0, 3, 0, 3, 0, 0, 1, 2, 0, 0, 0, 1;
  sequence.rest.face_sizes = {3, 3};
  sequence.rest.corners = {0, 1, 2, 2, 1, 3};
  sequence.frames = Frames(3, 4);
  for (std::size_t f = 0; f < 3; ++f) {
    const Eigen::AngleAxisf turn(0.4F * static_cast<float>(f), Vector3(0.6F, 0.8F, 0));
    sequence.frames[f] =
        (turn.toRotationMatrix() * sequence.rest.positions).colwise() + Vector3(0, static_cast<float>(f), 0);
  }
  sequence.times = uniform_times(3);
  return sequence;
}

TEST(Errors, AreZeroForTheSequenceItself) {
  const Sequence sequence = strip();
  const Errors errors = evaluate(sequence.frames, sequence);
  EXPECT_EQ(errors.e_rms, 0);
  EXPECT_EQ(errors.distortion_percent, 0);
  EXPECT_NEAR(errors.normal_degrees, 0, 1e-12);
  EXPECT_EQ(errors.max_distance, 0);
}

TEST(Errors, PlayedNormalsAreTheLinearPartTimesTheNormalAtRest) {
  Sequence sequence = strip();
  sequence.rest.positions.col(3) = Vector3(3, 2, 0);  // flat: every normal at rest is +z
  Rig rig;
  rig.rest = sequence.rest;
  rig.weights = {1, {0, 0, 0, 0}, {1, 1, 1, 1}};
  rig.bones.resize(1);
  rig.motion = Motion(3, 1);
  rig.times = sequence.times;
  for (std::size_t f = 0; f < 3; ++f) {
    // z leans towards x: the plane, and its true normal, stay; F n leans with it.
    rig.motion(f, 0) = Affine::Identity();
    rig.motion(f, 0)(0, 2) = static_cast<float>(f);
    sequence.frames[f] = sequence.rest.positions;
  }
  const Errors errors = evaluate(rig, sequence);
  EXPECT_NEAR(errors.normal_degrees, 0, 1e-6);
  const double steep = std::atan(2.0) * 180 / std::numbers::pi;
  EXPECT_NEAR(errors.played_degrees, std::sqrt((45.0 * 45.0 + steep * steep) / 3), 1e-4);
}

TEST(Errors, FollowTheirFormulas) {
  const Sequence sequence = strip();
  Frames posed = sequence.frames;
  posed[1].col(3) += Vector3(0.3F, 0, -0.4F);  // |d| = 0.5
  posed[2].col(0) += Vector3(0, 0.2F, 0);
  const Errors errors = evaluate(posed, sequence);
  const double sum = 0.25 + 0.04;
  const double radius = smallest_enclosing_sphere(sequence.rest.positions).radius;
  const double diagonal = std::sqrt(9.0 + 4 + 1);
  EXPECT_NEAR(errors.e_rms, 1000 * std::sqrt(sum / (3 * 4 * 3)) / radius, 1e-3);
  EXPECT_NEAR(errors.rmse_percent, 100 * std::sqrt(sum / 12) / diagonal, 1e-5);
  EXPECT_NEAR(errors.max_distance, 0.5, 1e-6);
  EXPECT_NEAR(errors.max_percent, 50 / diagonal, 1e-5);
  EXPECT_EQ(errors.worst_frame, 1U);
  EXPECT_EQ(errors.worst_vertex, 3U);
  EXPECT_EQ(errors.per_frame[0], 0);
  EXPECT_NEAR(errors.per_frame[1], 100 * std::sqrt(0.25 / 4) / diagonal, 1e-5);
  EXPECT_NEAR(errors.per_vertex[0], 100 * std::sqrt(0.04 / 3) / diagonal, 1e-5);
  EXPECT_EQ(errors.per_vertex[1], 0);

  Eigen::Matrix3Xd average = Eigen::Matrix3Xd::Zero(3, 4);
  for (std::size_t f = 0; f < 3; ++f) average += sequence.frames[f].cast<double>() / 3;
  double deviation = 0;
  for (std::size_t f = 0; f < 3; ++f) deviation += (sequence.frames[f].cast<double>() - average).squaredNorm();
  EXPECT_NEAR(errors.distortion_percent, 100 * std::sqrt(sum / deviation), 1e-4);
}

TEST(Errors, NormalsTurnWithTheModel) {
  Sequence sequence = strip();
  sequence.rest.positions(2, 3) = 0;  // planar, so that all vertex normals turn alike
  sequence.frames = Frames(1, 4);
  sequence.frames[0] = sequence.rest.positions;
  sequence.times = {0};
  Frames posed = sequence.frames;
  posed[0] = Eigen::AngleAxisf(0.3F, Vector3::UnitX()).toRotationMatrix() * sequence.rest.positions;
  EXPECT_NEAR(evaluate(posed, sequence).normal_degrees, 0.3 * 180 / 3.14159265, 1e-4);
  posed[0].setZero();  // no normals at all: a right angle everywhere
  EXPECT_NEAR(evaluate(posed, sequence).normal_degrees, 90, 1e-9);
}

TEST(Errors, OfARigAreThoseOfItsPosedFrames) {
  const Sequence sequence = strip();
  Rig rig;
  rig.rest = sequence.rest;
  rig.bones = {{"one", -1, {}, {}}, {"two", -1, {}, {}}};
  rig.weights = {2, {0, 1, 1, 0, 0, 1, 1, 0}, {0.5F, 0.5F, 1, 0, 0.75F, 0.25F, 1, 0}};
  rig.motion = Motion(3, 2);
  rig.motion(2, 1).col(3) = Vector3(0.1F, 0.2F, 0.3F);
  rig.times = sequence.times;
  rig.check();
  const Errors from_rig = evaluate(rig, sequence);
  const Errors from_frames = evaluate(pose_all(rig).frames, sequence);
  EXPECT_EQ(from_rig.e_rms, from_frames.e_rms);
  EXPECT_EQ(from_rig.per_vertex, from_frames.per_vertex);
}

TEST(Errors, SameBitsForOneTwoAndSevenThreads) {
  Sequence sequence = strip();
  sequence.frames = Frames(40, 4);
  Frames posed(40, 4);
  for (std::size_t i = 0; i < posed.data().size(); ++i) {
    sequence.frames.data()[i] = std::sin(static_cast<float>(i));
    posed.data()[i] = std::cos(static_cast<float>(3 * i));
  }
  sequence.times = uniform_times(40);
  const Errors one = evaluate(posed, sequence, 1);
  for (const int threads : {2, 7}) {
    const Errors many = evaluate(posed, sequence, threads);
    EXPECT_EQ(one.e_rms, many.e_rms);
    EXPECT_EQ(one.normal_degrees, many.normal_degrees);
    EXPECT_EQ(one.distortion_percent, many.distortion_percent);
    EXPECT_EQ(one.per_vertex, many.per_vertex);
  }
}

TEST(Errors, OfFramesInAFileAreTheSameBits) {
  const test::TemporaryFolder folder;
  const Sequence sequence = strip();
  Sequence paged = sequence;
  paged.frames = Frames(3, sequence.vertex_count(), Paging{0, 64, folder.path()});
  for (std::size_t f = 0; f < 3; ++f) paged.frames[f] = sequence.frames[f];
  ASSERT_NE(paged.frames.paging(), nullptr);
  Frames posed = sequence.frames;
  for (float& x : posed.data()) x *= 1.01F;
  const Errors one = evaluate(posed, sequence, 2);
  const Errors other = evaluate(posed, paged, 2);
  EXPECT_GT(one.distortion_percent, 0);
  EXPECT_EQ(one.distortion_percent, other.distortion_percent);
  EXPECT_EQ(one.e_rms, other.e_rms);
  EXPECT_EQ(one.per_vertex, other.per_vertex);
}

TEST(Errors, BetweenFramesAreTheSameInThePassOverTheFrames) {
  Sequence sequence = test::bend("grid", test::grid_mesh(4, 3), 37);  // more than two blocks of 16
  sequence.clips = {{"a", 0, 16}, {"b", 16, 18}, {"c", 34, 3}};
  Rig rig;
  rig.rest = sequence.rest;
  rig.bones.resize(1);
  rig.weights = pack_weights(Eigen::MatrixXd::Ones(index(sequence.vertex_count()), 1));
  rig.motion = Motion(37, 1);
  rig.times = sequence.times;
  for (std::size_t f = 0; f < 37; ++f) {
    rig.motion(f, 0) = Affine::Identity();
    rig.motion(f, 0)(0, 3) = 0.1F * std::sin(static_cast<float>(f));
  }
  Rig halfway = rig;
  halfway.motion = Motion(34, 1);  // places: 15, 17 and 2
  for (std::size_t i = 0; i < 34; ++i) halfway.motion(i, 0) = rig.motion(i, 0);
  halfway.times = uniform_times(34);
  const Errors alone = evaluate(rig, sequence, 2);
  const ErrorsBetween between_alone = evaluate_between(halfway, sequence, 2);
  ErrorsBetween between;
  const Errors both = evaluate(rig, halfway, sequence, between, 2);
  EXPECT_EQ(both.e_rms, alone.e_rms);
  EXPECT_EQ(both.per_vertex, alone.per_vertex);
  EXPECT_EQ(between.places, 34U);
  EXPECT_EQ(between.rmse_percent, between_alone.rmse_percent);
  EXPECT_EQ(between.max_percent, between_alone.max_percent);
  double sum = 0;  // by the words of the definition
  std::size_t place = 0;
  for (std::size_t f = 0; f + 1 < 37; ++f) {
    if (f == 15 || f == 33) continue;
    Points posed(3, index(sequence.vertex_count()));
    pose(halfway, place++, posed);
    sum += (posed.cast<double>() - 0.5 * (sequence.frames[f].cast<double>() + sequence.frames[f + 1].cast<double>()))
               .squaredNorm();
  }
  const double mean = sum / static_cast<double>(34 * sequence.vertex_count());
  EXPECT_NEAR(between.rmse_percent, 100 * std::sqrt(mean) / bounding_box_diagonal(sequence.rest.positions), 1e-9);
  halfway.motion = Motion(36, 1);
  test::expect_error(ErrorKind::input, "36 places between keys, grid has 12 at 34",
                     [&] { evaluate(rig, halfway, sequence, between, 2); });
}

TEST(Errors, AStaticSequenceOrASinglePointGivesNoNan) {
  Sequence sequence;
  sequence.name = "point";
  sequence.rest.positions.resize(3, 1);
  sequence.rest.positions.col(0) = Vector3(1, 2, 3);
  sequence.frames = Frames(2, 1);
  sequence.frames[0] = sequence.rest.positions;
  sequence.frames[1] = sequence.rest.positions;
  sequence.times = uniform_times(2);
  EXPECT_EQ(evaluate(sequence.frames, sequence).distortion_percent, 0);
  Frames posed = sequence.frames;
  posed[1].col(0) += Vector3(0, 0, 1);
  const Errors errors = evaluate(posed, sequence);
  EXPECT_NEAR(errors.e_rms, 1000 * std::sqrt(1.0 / 6), 1e-9);
  EXPECT_EQ(errors.distortion_percent, std::numeric_limits<double>::infinity());
}

TEST(Errors, DifferentCountsAreRefusedWithBoth) {
  const Sequence sequence = strip();
  test::expect_error(ErrorKind::input, "posed frames: 5 vertices, strip has 4",
                     [&] { evaluate(Frames(3, 5), sequence); });
  test::expect_error(ErrorKind::input, "posed frames: 2 frames, strip has 3",
                     [&] { evaluate(Frames(2, 4), sequence); });
}

}  // namespace
}  // namespace sinew
