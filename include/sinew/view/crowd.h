#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sinew/core/rig.h"
#include "sinew/io/animation_texture.h"

namespace sinew {

/// A character of a crowd: a rig and, where it has them, its coarser levels of detail, the finest first. All levels
/// have the bones and the motion of the first.
struct CrowdCharacter {
  std::string name;
  std::vector<Rig> levels;
};

struct CrowdOptions {
  std::string name = {};                                 // title of the page
  int count = 10000;                                     // instances at first, 1 to kMostInstances
  TexelPrecision precision = TexelPrecision::automatic;  // of the transforms of the bones
  double max_error = 0.05;                               // % of the diagonal: what half floats may cost
  std::size_t max_bytes = std::size_t{64} << 20;         // of the page
};

inline constexpr int kMostInstances = 100000;
/// Pairs of a character and a level that a page draws: with the passes that pose them, at most 8 draw calls.
inline constexpr std::size_t kMostCrowdLevels = 6;

struct CrowdCharacterReport {
  std::size_t levels = 0;            // that the page has
  HalfError half_error;              // of the finest level
  std::vector<std::string> methods;  // lbs4, dense, two_layer: what it can be played with
  std::size_t bytes_of_motion = 0;   // of the texture
};

struct CrowdReport {
  bool half = false;  // whether the transforms are half floats
  std::vector<CrowdCharacterReport> characters;
  std::vector<std::string> notes;  // sentences about what was left out
};

/// One self-contained HTML page with a crowd of these characters: no request leaves it. Every instance has its clip,
/// phase and place; the GPU poses all of them from one texture of bones. Corrections and textures of materials are left
/// out. docs/crowd.md
/// Throws Error{usage} when there is no character, there are more than kMostCrowdLevels, the count is out of range, the
/// page would be larger than max_bytes or the viewer was not built in; Error{input} when levels do not belong together
/// or a rig has no frames, triangles or extent.
std::string crowd_page(std::span<const CrowdCharacter> characters, const CrowdOptions& options, CrowdReport& report);

}  // namespace sinew
