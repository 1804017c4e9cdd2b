#include "sinew/pack/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/index.h"
#include "io/glb_mesh.h"
#include "pack/budget.h"
#include "pack/packed_glb.h"
#include "pack/rounded.h"
#include "pack/vertex_order.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"
#include "sinew/evaluate/vertex_match.h"
#include "sinew/io/gltf.h"

namespace sinew {
namespace pack {
namespace {

constexpr std::size_t kFitFrames = 32;  // by which roundings are chosen
constexpr std::size_t kSamples = 24;    // by which precisions are compared; the file is measured in every frame

/// How much more error a quality allows.
struct Allowance {
  double e_factor;  // of the rig's own E_RMS and normals, against examples
  double normals_factor;
  double rmse_percent;  // without examples: of the diagonal
  double degrees;       // and of the normals of surfaces
  double normals_file;  // of the file's normals, degrees
};

Allowance allowance(PackQuality quality) {
  switch (quality) {
    case PackQuality::low:
      return {1.1, 1.1, 0.05, 2, 1.6};
    case PackQuality::medium:
      return {1.02, 1.03, 0.01, 0.5, 0.8};
    default:
      return {1.005, 1.01, 0.002, 0.1, 0.4};
  }
}

/// Without bones that move nothing, nor anything below them.
Rig without_idle_bones(const Rig& rig, std::size_t& dropped) {
  std::vector<bool> used(rig.bone_count(), false);
  for (std::size_t i = 0; i < rig.weights.values.size(); ++i)
    if (rig.weights.values[i] > 0) used[rig.weights.bones[i]] = true;
  for (std::size_t b = rig.bone_count(); b-- > 0;)
    if (used[b] && rig.bones[b].parent >= 0) used[at(rig.bones[b].parent)] = true;
  std::vector<Index> place(rig.bone_count(), 0);
  Rig out = rig;
  out.bones.clear();
  for (std::size_t b = 0; b < rig.bone_count(); ++b) {
    if (!used[b]) continue;
    place[b] = static_cast<Index>(out.bones.size());
    out.bones.push_back(rig.bones[b]);
    if (rig.bones[b].parent >= 0) out.bones.back().parent = static_cast<int>(place[at(rig.bones[b].parent)]);
  }
  dropped = rig.bone_count() - out.bones.size();
  if (dropped == 0) return rig;
  out.motion = Motion(rig.frame_count(), out.bones.size());
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b)
      if (used[b]) out.motion(f, place[b]) = rig.motion(f, b);
  for (std::size_t i = 0; i < rig.weights.values.size(); ++i)
    out.weights.bones[i] = rig.weights.values[i] > 0 ? place[rig.weights.bones[i]] : 0;
  return out;
}

/// Heads of free bones are only where their nodes rest: few digits do.
void round_heads(Rig& rig) {
  if (rig.jointed) return;
  const double size = 2e-3 * bounding_box_diagonal(rig.rest.positions);
  if (!(size > 0)) return;
  const double unit = std::pow(10.0, std::floor(std::log10(size)));
  for (Bone& bone : rig.bones)
    for (float& x : bone.head) x = static_cast<float>(std::round(static_cast<double>(x) / unit) * unit);
}

void erase_textures(nlohmann::json& material) {
  if (!material.is_structured()) return;
  if (material.is_object())
    for (auto it = material.begin(); it != material.end();) {
      const std::string& key = it.key();
      const bool texture = key.size() >= 7 && key.substr(key.size() - 7) == "Texture";
      it = texture ? material.erase(it) : std::next(it);
    }
  for (auto& child : material) erase_textures(child);
}

void strip_textures(Appearance& looks) {
  looks.images.clear();
  looks.gltf_textures.clear();
  looks.gltf_samplers.clear();
  for (Material& material : looks.materials) {
    nlohmann::json object = nlohmann::json::parse(material.gltf, nullptr, false);
    if (!object.is_object()) continue;
    erase_textures(object);
    material.gltf = object.dump();
  }
}

std::vector<std::size_t> spread(std::size_t frames, std::size_t most) {
  std::vector<std::size_t> out;
  const std::size_t count = std::min(frames, most);
  for (std::size_t i = 0; i < count; ++i) out.push_back(i * frames / count);
  return out;
}

Sequence some_of(const Sequence& sequence, const std::vector<std::size_t>& frames) {
  Sequence out;
  out.name = sequence.name;
  out.rest = sequence.rest;
  out.frames = Frames(frames.size(), sequence.vertex_count());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    out.frames[i] = sequence.frames[frames[i]];
    out.times.push_back(sequence.times.empty() ? 0 : sequence.times[frames[i]]);
  }
  return out;
}

/// Everything that is known about a rig while its file is made.
struct Work {
  Rig rig;
  const Sequence& target;
  const PackOptions& options;
  FitFrames fit;
  Sequence samples;
  std::vector<std::size_t> sampled;
  Points normals;  // at control points, for meshes that have none
  std::vector<DrawnPiece> pieces;

  Rounded rounded(const Precision& precision) const { return round_rig(rig, fit, precision, options.threads); }
  std::vector<std::byte> file(const Rounded& rounded) const { return packed_glb(rounded, pieces, normals, options); }
  Errors errors(const Rig& made) const {
    Rig part = select_frames(made, sampled);
    return evaluate(part, samples, options.threads);
  }
};

Work begin(Rig rig, const Sequence& target, const PackOptions& options) {
  Work work{std::move(rig), target, options, {}, {}, {}, {}, {}};
  work.fit.frames = spread(work.rig.frame_count(), kFitFrames);
  for (const std::size_t f : work.fit.frames) {
    work.fit.posed.emplace_back(3, index(work.rig.vertex_count()));
    pose(work.rig, f, work.fit.posed.back());
  }
  work.sampled = spread(work.rig.frame_count(), kSamples);
  work.samples = some_of(target, work.sampled);
  if (work.rig.rest.normals.empty() && !work.rig.rest.flat)
    work.normals = gltf::smooth_normals(work.rig.rest, triangulate_corners(work.rig.rest));
  return work;
}

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

/// The finest rounding of every part.
Precision finest(const Rig& rig) {
  Precision out;
  out.cells = 65535;
  out.weight_one = 65535;
  out.normal_bits = 12;
  out.translation_step = exponent_of(bounding_box_diagonal(rig.rest.positions)) - 20;
  out.scale_step = -20;
  for (const gltf::BoneTracks& track : gltf::bone_tracks(rig, gltf::has_hierarchy(rig))) {
    out.translation_step = std::max(out.translation_step, finest_step(largest(track.translation)));
    out.scale_step = std::max(out.scale_step, finest_step(largest(track.scale)));
  }
  out.round_translations = out.round_scales = true;
  out.morph_levels = 32767;
  return out;
}

std::vector<Ladder> ladders_of(const Rig& rig, const Precision& base) {
  const auto ladder = [&](const char* name, void (*apply)(const Precision&, Precision&)) {
    Ladder out{name, apply, {}, 0};
    out.rungs.push_back({base, 0, 0, 0, ""});
    return out;
  };
  const auto add = [&](Ladder& to, const Precision& precision, std::string text) {
    to.rungs.push_back({precision, 0, 0, 0, std::move(text)});
  };
  std::vector<Ladder> out;
  out.push_back(ladder("positions", [](const Precision& from, Precision& to) { to.cells = from.cells; }));
  out.back().rungs[0].text = "16 bits";
  for (int i = 1; i <= 16; ++i) {
    Precision p = base;
    p.cells = std::floor(65535 * std::pow(0.5, 0.5 * i));
    add(out.back(), p, fmt::format("{:.1f} bits", std::log2(p.cells + 1)));
  }
  out.push_back(ladder("weights", [](const Precision& from, Precision& to) {
    to.weight_one = from.weight_one;
    to.slack = from.slack;
  }));
  out.back().rungs[0].text = "16 bits";
  const double radius = smallest_enclosing_sphere(rig.rest.positions).radius;
  for (int bits = 14; bits >= 9; --bits) {
    Precision p = base;
    p.weight_one = 1 << bits;
    p.slack = radius * 0.2 / p.weight_one;
    add(out.back(), p, fmt::format("{} bits", bits));
  }
  for (int i = 0; i <= 8; ++i) {
    Precision p = base;
    p.weight_one = 255;
    p.slack = radius * 2e-4 * std::pow(2.0, 0.5 * i);
    add(out.back(), p, "8 bits");
  }
  out.push_back(
      ladder("rotations", [](const Precision& from, Precision& to) { to.rotation_bits = from.rotation_bits; }));
  out.back().rungs[0].text = "float";
  for (int bits = 16; bits >= 8; --bits) {
    Precision p = base;
    p.rotation_bits = bits;
    add(out.back(), p, fmt::format("{} bits", bits));
  }
  out.push_back(ladder("translations",
                       [](const Precision& from, Precision& to) { to.translation_step = from.translation_step; }));
  const double size = bounding_box_diagonal(rig.rest.positions);
  const auto of_size = [&](int step) { return fmt::format("1/{:.0f} of size", size * std::ldexp(1.0, -step)); };
  out.back().rungs[0].text = of_size(base.translation_step);
  for (int coarser = 1; coarser <= 12; ++coarser) {
    Precision p = base;
    p.translation_step += coarser;
    add(out.back(), p, of_size(p.translation_step));
  }
  if (rig.transforms == Transforms::affine) {
    out.push_back(ladder("scales", [](const Precision& from, Precision& to) { to.scale_step = from.scale_step; }));
    out.back().rungs[0].text = fmt::format("1/{:.0f}", std::ldexp(1.0, -base.scale_step));
    for (int step = base.scale_step + 2; step <= -6; ++step) {
      Precision p = base;
      p.scale_step = step;
      add(out.back(), p, fmt::format("1/{:.0f}", std::ldexp(1.0, -step)));
    }
  }
  if (rig.corrections) {
    out.push_back(
        ladder("morph offsets", [](const Precision& from, Precision& to) { to.morph_levels = from.morph_levels; }));
    out.back().rungs[0].text = "±32767";
    for (const int levels : {4096, 1024, 256, 127, 90, 64, 45, 32, 23, 16, 11, 8, 6, 4, 3, 2}) {
      Precision p = base;
      p.morph_levels = levels;
      add(out.back(), p, fmt::format("±{}", levels));
    }
  }
  return out;
}

double squares(double now, double before) {
  return std::max(0.0, now * now - before * before);
}

/// Measures every rung with all other parts at their finest. A ladder ends where one part alone breaks the bounds.
void measure(const Work& work, const Errors& exact, double e_bound, double normal_bound, std::vector<Ladder>& ladders) {
  for (Ladder& ladder : ladders) {
    double e = 0;
    double n = 0;
    for (std::size_t r = 0; r < ladder.rungs.size(); ++r) {
      Rung& rung = ladder.rungs[r];
      const Rounded rounded = work.rounded(rung.precision);
      const Errors errors = work.errors(rounded.rig);
      e = std::max(e, squares(errors.e_rms, exact.e_rms));
      n = std::max(n, squares(errors.normal_degrees, exact.normal_degrees));
      rung.e_squared = e;
      rung.normals_squared = n;
      rung.bytes = static_cast<double>(work.file(rounded).size());
      if (r > 0 && (e > e_bound || n > normal_bound)) {
        ladder.rungs.resize(r);
        break;
      }
    }
  }
}

Precision chosen(Precision out, const std::vector<Ladder>& ladders, int normal_bits) {
  for (const Ladder& ladder : ladders) ladder.apply(ladder.rungs[ladder.chosen].precision, out);
  out.normal_bits = normal_bits;
  return out;
}

/// The fewest bits that leave normals within a limit.
int bits_of_normals(const Work& work, double degrees) {
  for (const int bits : {5, 6, 7, 8, 10})
    if (normals_lost(work.rig, work.pieces, work.normals, bits) <= degrees) return bits;
  return 12;
}

/// The order of triangles that gives the smallest file.
void choose_order(const Precision& precision, Work& work) {
  std::size_t least = 0;
  std::vector<DrawnPiece> best;
  for (const TriangleOrder order : {TriangleOrder::strips, TriangleOrder::bones, TriangleOrder::vertex_cache}) {
    work.pieces = draw(work.rig, order);
    const std::size_t size = work.file(work.rounded(precision)).size();
    if (!best.empty() && size >= least) continue;
    least = size;
    best = work.pieces;
  }
  work.pieces = std::move(best);
}

/// Errors of the file, as any reader finds it.
Errors errors_of(const std::vector<std::byte>& bytes, const Work& work) {
  const Rig read = parse_gltf_rig(bytes, {}, {}, "the packed file");
  const VertexMatch match = match_vertices(read, work.target);
  const Sequence target = matched_part(work.target, match);
  return evaluate(in_order_of(read, match, target), target, work.options.threads);
}

void fill_parts(const Work& work, const std::vector<std::byte>& bytes, const std::vector<Ladder>& ladders,
                int normal_bits, PackReport& report) {
  const std::vector<std::byte> plain = glb_bytes(work.rig);
  report.bytes_before = plain.size();
  report.bytes_after = bytes.size();
  auto before = bytes_by_part(plain);
  auto after = bytes_by_part(bytes);
  for (const auto& [name, size] : before) after.try_emplace(name, 0);
  for (const char* name :
       {"positions", "normals", "colours, UVs", "weights", "triangles", "morph offsets", "morph normals",
        "translations", "rotations", "scales", "morph weights", "key times", "other", "textures", "JSON"}) {
    if (after.count(name) == 0) continue;
    PackedPart part{name, before[name], after[name], 0, 0, ""};
    for (const Ladder& ladder : ladders) {
      if (ladder.name != name) continue;
      const Rung& rung = ladder.rungs[ladder.chosen];
      part.e_rms = std::sqrt(rung.e_squared);
      part.normal_degrees = std::sqrt(rung.normals_squared);
      part.precision = rung.text;
    }
    if (part.name == "normals" && normal_bits > 0) {
      part.normal_degrees = normals_lost(work.rig, work.pieces, work.normals, normal_bits);
      part.precision = fmt::format("{} bits", normal_bits);
    }
    report.parts.push_back(std::move(part));
  }
}

/// What the decoded file may have.
void set_limits(const Work& work, bool with_examples, PackReport& report) {
  const Allowance allowed = allowance(work.options.quality);
  const double radius = smallest_enclosing_sphere(work.target.rest.positions).radius;
  const double diagonal = bounding_box_diagonal(work.target.rest.positions);
  if (with_examples) {
    report.allowed_e_rms = allowed.e_factor * report.before.e_rms;
    report.allowed_normals = allowed.normals_factor * report.before.normal_degrees;
  } else {
    report.allowed_e_rms =
        radius > 0 ? 1000 * allowed.rmse_percent / 100 * diagonal / radius / std::sqrt(3.0) : allowed.rmse_percent;
    report.allowed_normals = allowed.degrees;
  }
  if (work.options.max_error == 0) return;
  if (work.options.max_error < report.before.e_rms)
    throw Error(ErrorKind::usage, fmt::format("--max-error {:.3g}: the rig's own E_RMS is {:.3g}",
                                              work.options.max_error, report.before.e_rms));
  report.allowed_e_rms = work.options.max_error;
}

std::vector<std::byte> pack_within(Work& work, PackReport& report) {
  const Precision base = finest(work.rig);
  Precision typical = base;
  typical.cells = 2047;
  typical.weight_one = 255;
  typical.normal_bits = 8;
  choose_order(typical, work);
  const Errors exact = work.errors(work.rig);
  double e_bound = squares(report.allowed_e_rms, report.before.e_rms);
  double normal_bound = squares(report.allowed_normals, report.before.normal_degrees);
  std::vector<Ladder> ladders = ladders_of(work.rig, base);
  measure(work, exact, e_bound, normal_bound, ladders);
  const int normal_bits = bits_of_normals(work, allowance(work.options.quality).normals_file);
  for (int attempt = 0; attempt < 12; ++attempt) {
    share_out(e_bound, normal_bound, ladders);
    std::vector<std::byte> bytes = work.file(work.rounded(chosen(base, ladders, normal_bits)));
    report.after = errors_of(bytes, work);
    const bool fits =
        report.after.e_rms <= report.allowed_e_rms && report.after.normal_degrees <= report.allowed_normals;
    const bool nothing_left =
        std::all_of(ladders.begin(), ladders.end(), [](const Ladder& l) { return l.chosen == 0; });
    if (!fits && !nothing_left) {
      // Roundings add up to a little more than their squares do.
      if (report.after.e_rms > report.allowed_e_rms) e_bound *= 0.85;
      if (report.after.normal_degrees > report.allowed_normals) normal_bound *= 0.85;
      continue;
    }
    fill_parts(work, bytes, ladders, normal_bits, report);
    if (!fits)
      throw Error(
          ErrorKind::unusable,
          fmt::format("E_RMS {:.3g} and normals {:.3g}° cannot be kept with 16 bits per number: they become "
                      "{:.3g} and {:.3g}°; --lossless keeps them",
                      report.allowed_e_rms, report.allowed_normals, report.after.e_rms, report.after.normal_degrees));
    return bytes;
  }
  throw Error(ErrorKind::unusable, "packing did not come to an end; --lossless does without rounding");
}

std::vector<std::byte> pack_exactly(Work& work, PackReport& report) {
  choose_order({}, work);
  std::vector<std::byte> bytes = work.file(work.rounded({}));
  report.after = errors_of(bytes, work);
  fill_parts(work, bytes, {}, 0, report);
  return bytes;
}

}  // namespace
}  // namespace pack

std::vector<std::byte> pack_glb(const Rig& rig, const Sequence* examples, const PackOptions& options,
                                PackReport& report) {
  report = {};
  rig.check();
  if (rig.two_layer)
    throw Error(ErrorKind::input,
                "a two-layer model blends its vertices by rows that engines do not read: pack the rig "
                "that it was made from");
  if (rig.frame_count() == 0)
    throw Error(ErrorKind::input, "the rig has no frames: nothing says what its rounding shows");
  Rig trimmed = pack::without_idle_bones(rig, report.dropped_bones);
  pack::round_heads(trimmed);
  if (options.strip_textures) pack::strip_textures(trimmed.rest.appearance);
  const Sequence own = examples == nullptr ? pose_all(trimmed) : Sequence();
  const Sequence& target = examples == nullptr ? own : *examples;
  report.before = evaluate(trimmed, target, options.threads);
  pack::Work work = pack::begin(std::move(trimmed), target, options);
  pack::set_limits(work, examples != nullptr, report);
  return options.lossless ? pack::pack_exactly(work, report) : pack::pack_within(work, report);
}

}  // namespace sinew
