#pragma once

namespace sinew::pack {

/// What each part of a rig is rounded to. Zero stands for float, as it is.
struct Precision {
  double cells = 0;          // positions: cells of the grid along the longest side of the rest pose
  int weight_one = 0;        // weights: whole numbers that sum to this, 255, 65535 or a power of two
  double slack = 0;          // with weight_one: influences are left out while a vertex moves less than this (RMS)
  int normal_bits = 0;       // per octahedral coordinate; up to 8 in two bytes, more in four
  int rotation_bits = 0;     // per component of a quaternion, 4..16
  int translation_step = 0;  // exponent of two, with `round_translations`
  int scale_step = 0;
  bool round_translations = false;
  bool round_scales = false;
  double still = 0;           // tracks that a clip changes by less stand still in it: of one, translations of the size
  int morph_levels = 0;       // offsets of the morph target that moves most: whole numbers up to this
  int morph_normal_step = 1;  // offsets of normals: multiples of this many of the numbers of ±127 levels; 0: left out
  bool cheap_morphs = false;  // the numbers of both are those near by that cost few bits, not the nearest
  double keys = 1;            // share of the frames that have keys
  int coefficient_bits = 0;   // two layers: weights are multiples of 2^-bits
  int dictionary_bits = 0;
  int layer_motion_bits = 0;  // two layers: linear parts of the motion; translations by the size of the rest pose
};

}  // namespace sinew::pack
