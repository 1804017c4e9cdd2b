#include "pack/ladders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/gltf/write_motion.h"
#include "pack/tracks.h"
#include "sinew/core/bounds.h"

namespace sinew::pack {
namespace {

using Apply = void (*)(const Precision& from, Precision& to);

int exponent_of(double size) {
  return static_cast<int>(std::ceil(std::log2(std::max(1e-30, size))));
}

/// The finest step of numbers up to `largest` that 24 bits can count.
int finest_step(double largest) {
  return exponent_of(largest) - 22;
}

double largest(const std::vector<float>& track) {
  double out = 0;
  for (const float x : track) out = std::max(out, std::abs(static_cast<double>(x)));
  return out;
}

/// The most bits behind the point that leave numbers up to `largest` within what the code of two layers can hold.
int bits_for(double largest, int most) {
  return std::clamp(21 - exponent_of(largest), 0, most);
}

/// A ladder whose first rung is `base`; others are added to it.
Ladder ladder(const char* name, const Precision& base, std::string text, Apply apply) {
  return {name, apply, {{base, 0, 0, 0, std::move(text)}}, 0};
}

void add(Ladder& to, const Precision& precision, std::string text) {
  to.rungs.push_back({precision, 0, 0, 0, std::move(text)});
}

Ladder positions(const Precision& base) {
  Ladder out =
      ladder("positions", base, "16 bits", [](const Precision& from, Precision& to) { to.cells = from.cells; });
  for (int i = 1; i <= 12; ++i) {  // at 10 bits vertices can still be told by their place
    Precision p = base;
    p.cells = std::floor(65535 * std::pow(0.5, 0.5 * i));
    add(out, p, fmt::format("{:.1f} bits", std::log2(p.cells + 1)));
  }
  return out;
}

Ladder weights(const Rig& rig, const Precision& base) {
  Ladder out = ladder("weights", base, "16 bits", [](const Precision& from, Precision& to) {
    to.weight_one = from.weight_one;
    to.slack = from.slack;
  });
  const double radius = smallest_enclosing_sphere(rig.rest.positions).radius;
  for (int bits = 14; bits >= 9; --bits) {
    Precision p = base;
    p.weight_one = 1 << bits;
    p.slack = radius * 0.2 / p.weight_one;
    add(out, p, fmt::format("{} bits", bits));
  }
  for (int i = 0; i <= 12; ++i) {
    Precision p = base;
    p.weight_one = 255;
    p.slack = radius * 2e-4 * std::pow(2.0, 0.5 * i);
    add(out, p, "8 bits");
  }
  return out;
}

Ladder rotations(const Precision& base) {
  Ladder out = ladder("rotations", base, "float",
                      [](const Precision& from, Precision& to) { to.rotation_bits = from.rotation_bits; });
  for (int bits = 16; bits >= 8; --bits) {
    Precision p = base;
    p.rotation_bits = bits;
    add(out, p, fmt::format("{} bits", bits));
  }
  return out;
}

Ladder translations(const Rig& rig, const Precision& base) {
  const double size = bounding_box_diagonal(rig.rest.positions);
  const auto of_size = [&](int step) { return fmt::format("1/{:.0f} of size", size * std::ldexp(1.0, -step)); };
  Ladder out = ladder("translations", base, of_size(base.translation_step),
                      [](const Precision& from, Precision& to) { to.translation_step = from.translation_step; });
  for (int coarser = 1; coarser <= 12; ++coarser) {
    Precision p = base;
    p.translation_step += coarser;
    add(out, p, of_size(p.translation_step));
  }
  return out;
}

Ladder scales(const Precision& base) {
  const auto of_one = [](int step) { return fmt::format("1/{:.0f}", std::ldexp(1.0, -step)); };
  Ladder out = ladder("scales", base, of_one(base.scale_step),
                      [](const Precision& from, Precision& to) { to.scale_step = from.scale_step; });
  for (int step = base.scale_step + 2; step <= -6; ++step) {
    Precision p = base;
    p.scale_step = step;
    add(out, p, of_one(step));
  }
  return out;
}

Ladder morph_offsets(const Precision& base) {
  Ladder out = ladder("morph offsets", base, "±32767", [](const Precision& from, Precision& to) {
    to.morph_levels = from.morph_levels;
    to.cheap_morphs = from.cheap_morphs;
  });
  const auto step = [&](int levels, bool cheap) {
    Precision p = base;
    p.morph_levels = levels;
    p.cheap_morphs = cheap;
    add(out, p, fmt::format("±{}", levels));
  };
  for (const int levels : {4096, 1024, 256, 127}) step(levels, false);
  for (const int levels : {127, 90, 64, 45, 32, 23, 16, 11, 8, 6, 4, 3, 2}) step(levels, true);
  return out;
}

Ladder keys(const Precision& base) {
  Ladder out = ladder("key times", base, "all keys", [](const Precision& from, Precision& to) { to.keys = from.keys; });
  for (const double share : {0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.07, 0.05}) {
    Precision p = base;
    p.keys = share;
    add(out, p, fmt::format("{:.0f} % of the keys", 100 * share));
  }
  return out;
}

Ladder still_tracks(const Precision& base) {
  Ladder out =
      ladder("still tracks", base, "as they are", [](const Precision& from, Precision& to) { to.still = from.still; });
  for (int i = 24; i >= 11; --i) {
    Precision p = base;
    p.still = std::pow(0.5, 0.5 * i);
    add(out, p, fmt::format("within {:.2g}", p.still));
  }
  return out;
}

/// A part of a two-layer model, in bits.
Ladder layers(const char* name, const Precision& base, int Precision::*bits, Apply apply) {
  Ladder out = ladder(name, base, fmt::format("{} bits", base.*bits), apply);
  for (int fewer = base.*bits - 1; fewer >= 5; --fewer) {
    Precision p = base;
    p.*bits = fewer;
    add(out, p, fmt::format("{} bits", fewer));
  }
  return out;
}

}  // namespace

Precision finest(const Rig& rig) {
  Precision out;
  out.cells = 65535;
  out.weight_one = 65535;
  out.normal_bits = 12;
  out.translation_step = exponent_of(bounding_box_diagonal(rig.rest.positions)) - 20;
  out.scale_step = -20;
  for (const gltf::BoneTracks& track : gltf::bone_tracks(rig, gltf::has_hierarchy(rig), kShearNoise)) {
    out.translation_step = std::max(out.translation_step, finest_step(largest(track.translation)));
    out.scale_step = std::max(out.scale_step, finest_step(largest(track.scale)));
  }
  out.round_translations = out.round_scales = true;
  out.morph_levels = 32767;
  if (!rig.two_layer) return out;
  const double size = std::ldexp(1.0, exponent_of(bounding_box_diagonal(rig.rest.positions)));
  double motion = 0;
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b) {
      const Eigen::Matrix<double, 3, 4> T = rig.motion(f, b).cast<double>();
      motion = std::max({motion, T.leftCols<3>().cwiseAbs().maxCoeff(), T.col(3).cwiseAbs().maxCoeff() / size});
    }
  out.coefficient_bits = bits_for(largest(rig.two_layer->coefficients.values), 14);
  out.dictionary_bits = bits_for(largest(rig.two_layer->dictionary.values), 14);
  out.layer_motion_bits = bits_for(motion, 18);
  return out;
}

std::vector<Ladder> ladders_of(const Rig& rig, const Precision& base) {
  std::vector<Ladder> out{positions(base)};
  if (rig.two_layer) {
    out.push_back(layers("two layers: vertices", base, &Precision::coefficient_bits,
                         [](const Precision& from, Precision& to) { to.coefficient_bits = from.coefficient_bits; }));
    out.push_back(layers("two layers: virtual bones", base, &Precision::dictionary_bits,
                         [](const Precision& from, Precision& to) { to.dictionary_bits = from.dictionary_bits; }));
    out.push_back(layers("two layers: motion", base, &Precision::layer_motion_bits,
                         [](const Precision& from, Precision& to) { to.layer_motion_bits = from.layer_motion_bits; }));
  } else {
    out.push_back(weights(rig, base));
    out.push_back(rotations(base));
    out.push_back(translations(rig, base));
    if (rig.transforms == Transforms::affine) out.push_back(scales(base));
    if (rig.frame_count() > 1) out.push_back(still_tracks(base));
    out.push_back(keys(base));
  }
  if (rig.corrections) out.push_back(morph_offsets(base));
  return out;
}

}  // namespace sinew::pack
