#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sinew/core/mesh.h"
#include "sinew/core/sequence.h"
#include "sinew/core/types.h"

namespace sinew {

/// A mesh that named sliders move: where they have values x its vertices are at rest + Σ_s x_s · shapes[s].
///
/// Invariants, tested by check(): the mesh satisfies its own, at least one shape, their names are distinct, values have
/// one row per frame and one column per shape and are finite, times and clips are as in a Sequence.
struct Blendshapes {
  std::string name;
  Mesh rest;                  // all sliders at 0; rest.shapes are the sliders
  Eigen::MatrixXf values;     // F×S: the sliders in the frames
  std::vector<double> times;  // F, seconds
  std::vector<Clip> clips;

  std::size_t slider_count() const { return rest.shapes.size(); }
  std::size_t frame_count() const { return times.size(); }

  /// Throws Error{input} with a sentence that names the first violation.
  void check() const;
};

/// Every frame of a sequence as a shape, shape_0 for the first. Those in which nothing moves by more than rounding are
/// left out. The frames are the rest pose, then each slider at 1 in turn. Throws Error{input} where nothing moves.
Blendshapes blendshapes_of(const Sequence& sequence);

/// Sets the frames: the rest pose, then each slider at 1 in turn.
void play_in_turn(Blendshapes& shapes);

/// The mesh where the sliders have the values of each row of an N×S matrix: N frames, at a constant rate.
Sequence shaped(const Blendshapes& shapes, const Eigen::MatrixXf& values);

/// The mesh in its frames.
Sequence shaped_frames(const Blendshapes& shapes);

/// Random expressions, N×S: about a fifth of the sliders, or two of them where they are few, between 0 and 1, the
/// others at 0.
Eigen::MatrixXf random_slider_values(std::size_t count, std::size_t sliders, std::uint64_t seed);

}  // namespace sinew
