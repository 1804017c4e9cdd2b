#pragma once

#include <string>
#include <string_view>

#include "sinew/core/rig.h"
#include "sinew/io/exr.h"

/// Animations as textures, for players that pose many characters on the GPU.
namespace sinew {

/// How many bits a number of a texture has.
enum class TexelPrecision {
  automatic,  // 16 where that moves no vertex farther than max_error, else 32
  half,
  full,
};

/// By name: auto, half or float. Throws Error{usage} for a name that is none of these.
TexelPrecision texel_precision(std::string_view name);

/// How far half floats move the vertices of a rig, against float: in % of the diagonal of the rest pose.
struct HalfError {
  double rms_percent = 0;
  double max_percent = 0;  // infinite where a number is beyond half floats
};

/// The float that a half float next to this one holds.
float rounded_to_half(float value);

/// Of the bones' transforms, played with the weights of the rig; corrections and a second layer are not looked at.
HalfError half_error_of_bones(const Rig& rig);

struct AnimationTextureOptions {
  bool positions = false;  // of vertices, and their normals, instead of transforms of bones
  TexelPrecision precision = TexelPrecision::automatic;
  double max_error = 0.05;  // % of the diagonal of the rest pose: what half floats may cost
  int max_width = 8192;     // texels; longer frames go on in the next row
};

/// A texture of all frames of a rig, and how it lies there: docs/crowd.md
///   bones      3 texels for each bone: the rows of its rest→posed transform
///   positions  a texel for each vertex: how far it is from its place at rest; below them, rows of its normals
struct AnimationTexture {
  ExrImage image;
  HalfError half_error;  // whether or not half floats were taken
  std::string layout;    // JSON
};

/// Positions are those of pose() with everything that the rig has, bones are those of `motion`. Throws Error{usage} for
/// options out of range, Error{output} for a texture of more than 2^28 numbers, or for half floats that were asked for
/// and cannot hold the numbers.
AnimationTexture animation_texture(const Rig& rig, const AnimationTextureOptions& options);

}  // namespace sinew
