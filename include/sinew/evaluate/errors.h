#pragma once

#include <cstddef>
#include <vector>

#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"

namespace sinew {

/// How far a posed model is from a sequence. Definitions: docs/conventions.md, "Errors".
struct Errors {
  double e_rms = 0;         // 1000·sqrt(sum |d|² / 3VF), rest pose scaled so that its enclosing sphere has radius 1
  double rmse_percent = 0;  // 100·sqrt(sum |d|² / VF) / rest bounding-box diagonal
  double distortion_percent = 0;  // 100·|P - P̂|_F / |P - time average of P|_F [JamesTwigg2005, Table 1]; may be inf
  double normal_degrees = 0;      // RMS angle between vertex normals of the surfaces, weighted by area
  double played_degrees = 0;      // the same for normals as players skin them: F (ñ + Ñ q); 0 for posed frames
  double max_distance = 0;        // largest |d|, in the input's unit
  double max_percent = 0;         // the same in % of the diagonal
  std::size_t worst_frame = 0;    // where that is
  std::size_t worst_vertex = 0;
  std::vector<double> per_frame;   // F: 100·sqrt(mean |d|²) / diagonal
  std::vector<double> per_vertex;  // V: the same over frames
};

/// Errors of the posed rig against the sequence, frame by frame in order.
/// Throws Error{input} when vertex or frame counts differ.
Errors evaluate(const Rig& rig, const Sequence& sequence, int threads = 0);

/// The same for positions that are posed already.
Errors evaluate(const Frames& posed, const Sequence& sequence, int threads = 0);

/// How far a model is from a sequence half-way between its frames.
struct ErrorsBetween {
  double rmse_percent = 0;  // as in Errors
  double max_percent = 0;
  std::size_t places = 0;  // between two frames of a clip
};

/// Errors of a rig that was read half-way between its keys (ReadOptions::halfway), where players interpolate it,
/// against the middle of the two frames of the sequence. Throws Error{input} when counts differ.
ErrorsBetween evaluate_between(const Rig& halfway, const Sequence& sequence, int threads = 0);

/// evaluate and evaluate_between in one pass over the frames, which may lie in a file.
Errors evaluate(const Rig& rig, const Rig& halfway, const Sequence& sequence, ErrorsBetween& between, int threads = 0);

/// E_RMS from a sum of squared distances in the input's unit; `radius` is that of the rest's enclosing sphere.
double e_rms_of(double sum_of_squares, std::size_t vertices, std::size_t frames, double radius);

}  // namespace sinew
