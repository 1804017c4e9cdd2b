#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sinew/core/mesh.h"
#include "sinew/core/types.h"

namespace sinew {

/// Vertex positions over time: F×V×3 float, frame-major. Column v of frame(f) is vertex v.
///
/// They are in memory of their own or in somebody else's, which is only ever read: a change makes a copy first.
class Frames {
 public:
  Frames() = default;
  Frames(std::size_t frames, std::size_t vertices)
      : Frames(frames, vertices, std::vector<float>(frames * vertices * 3)) {}
  /// Takes over values that are in order already: frames × vertices × 3.
  Frames(std::size_t frames, std::size_t vertices, std::vector<float> values)
      : vertices_(vertices), own_(std::move(values)), frames_(frames) {
    assert(own_.size() == frames * vertices * 3);
  }
  /// Reads values where they are: frames × vertices × 3, which `owner` keeps alive.
  Frames(std::size_t frames, std::size_t vertices, const float* values, std::shared_ptr<const void> owner)
      : vertices_(vertices), frames_(frames), borrowed_(values), owner_(std::move(owner)) {}

  std::size_t count() const { return frames_; }
  std::size_t vertex_count() const { return vertices_; }
  std::span<float> data() {
    if (owner_) {
      own_.assign(borrowed_, borrowed_ + frames_ * vertices_ * 3);
      owner_.reset();
    }
    return own_;
  }
  std::span<const float> data() const {
    return owner_ ? std::span(borrowed_, frames_ * vertices_ * 3) : std::span(own_);
  }

  PointsMap operator[](std::size_t f) {
    return {data().data() + f * vertices_ * 3, 3, static_cast<Eigen::Index>(vertices_)};
  }
  ConstPointsMap operator[](std::size_t f) const {
    return {data().data() + f * vertices_ * 3, 3, static_cast<Eigen::Index>(vertices_)};
  }

  friend bool operator==(const Frames& a, const Frames& b) {
    return a.frames_ == b.frames_ && a.vertices_ == b.vertices_ && std::ranges::equal(a.data(), b.data());
  }

 private:
  std::size_t vertices_ = 0;
  std::vector<float> own_;  // empty where they are borrowed
  std::size_t frames_ = 0;
  const float* borrowed_ = nullptr;
  std::shared_ptr<const void> owner_;  // null: they are our own
};

/// A contiguous range of frames that belongs together, e.g. one of several animations of a character.
struct Clip {
  std::string name;
  std::size_t first_frame = 0;
  std::size_t frames = 0;
};

/// A mesh animation: a rest mesh and, for every frame, a position for each of its vertices.
///
/// Invariants, tested by check(): the mesh satisfies its own, at least one vertex and one frame, frames and rest agree
/// on the vertex count, all numbers finite, times has one strictly increasing entry per frame within each clip, clips
/// are empty (one unnamed clip) or partition the frames in order.
struct Sequence {
  std::string name;
  Mesh rest;
  Frames frames;              // F×V×3
  std::vector<double> times;  // F, seconds
  std::vector<Clip> clips;

  std::size_t vertex_count() const { return rest.vertex_count(); }
  std::size_t frame_count() const { return frames.count(); }

  /// Throws Error{input}: names the frame and the vertex of the first number that is not finite, or both counts of the
  /// first that disagree.
  void check() const;
};

inline constexpr double kDefaultSecondsPerFrame = 1.0 / 30;

/// Times of F frames at a constant rate, from 0.
std::vector<double> uniform_times(std::size_t frames, double seconds_per_frame = kDefaultSecondsPerFrame);

/// The chosen frames first, first + step, ... < last of a sequence, clips cut accordingly; frames count from 0.
/// Throws Error{usage} when nothing remains.
Sequence select_frames(const Sequence& sequence, std::size_t first, std::size_t last, std::size_t step);

/// Frames at a constant rate, from the first to the last time of each clip; between two frames vertices move straight,
/// as players of point caches let them. Throws Error{usage} for a rate that is none, Error{input} beyond a million
/// frames.
Sequence resample(const Sequence& sequence, double frames_per_second);

/// Several animations of one character as one sequence: the rest mesh of the first, the frames of all in order, one
/// clip per part (a part that has clips keeps them). Clip names stay distinct: a repeated one gets a number.
/// Throws Error{input} when vertex counts or faces differ.
Sequence concatenate(std::vector<Sequence> parts);

}  // namespace sinew
