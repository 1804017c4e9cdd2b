#pragma once

#include <cstddef>
#include <vector>

#include "sinew/core/progress.h"
#include "sinew/core/rig.h"

namespace sinew {

/// One of triangles, max_error and ratio decides, in this order, how far the first level goes.
struct LodOptions {
  std::size_t triangles = 0;  // of the first level; 0: not by number
  double max_error = 0;   // % of the rest diagonal that a collapse may cost in the mean over its surface; 0: no limit
  double ratio = 0.5;     // of the triangles there are, 0..1
  int levels = 1;         // each after the first has half the triangles, or twice the error
  int frames = 24;        // most frames that are looked at, the most different ones; 0: the rest pose alone
  double attributes = 1;  // how much texture coordinates, colours and given normals count; 0: seams alone
  bool fit = true;        // vertices and weights are fitted to the rig's surface when the collapses are done
  int threads = 0;        // of the first costs; the collapses are one after another
};

/// One level of detail.
struct LodLevel {
  Rig rig;
  std::size_t triangles = 0;
  double error_percent = 0;  // largest cost of a collapse so far: RMS distance over its surface and the frames, % of D
};

struct LodReport {
  std::size_t triangles = 0;        // of the rig
  std::vector<std::size_t> frames;  // that were looked at, ascending
};

/// Levels of detail of a rig [JamesTwigg2005 §7; GarlandHeckbert1998], the finest first.
///
/// Edges collapse in the order of what they cost over the animation: the quadrics of every chosen frame, in which a
/// vertex that lies at p in the rest pose lies at M(f) (p + c(f)), M(f) the blend of its bones and c(f) its
/// corrections. Texture seams, borders, borders of materials and what is not a surface keep their shape. Bones and
/// motion stay, influences are as many as the rig has; a two-layer part is not carried over.
/// Derivation: docs/algorithms/rework.md
/// Throws Error{usage} for options out of range, Error{input} for a rig without triangles, Error{interrupted}.
/// Memory: about 260·V bytes per frame that is looked at.
std::vector<LodLevel> simplify(const Rig& rig, const LodOptions& options, LodReport& report,
                               const Progress& progress = {});

}  // namespace sinew
