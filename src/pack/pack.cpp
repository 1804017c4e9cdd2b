#include "sinew/pack/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/index.h"
#include "io/gltf/write_mesh.h"
#include "pack/keys.h"
#include "pack/ladders.h"
#include "pack/packed_glb.h"
#include "pack/packed_normals.h"
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
constexpr int kAttempts = 20;           // to share out the bits so that the file keeps the bounds
constexpr int kFurther = 10;            // more, to use up what is left of them
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
  if (rig.two_layer) return rig;
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
    work.fit.target.emplace_back(target.frames[f]);
  }
  if (!options.lossless && !work.rig.two_layer) {
    const bool hierarchy = gltf::has_hierarchy(work.rig);
    work.fit.order_of_need = order_of_need(work.rig, hierarchy, gltf::bone_tracks(work.rig, hierarchy, kShearNoise));
  }
  work.sampled = spread(work.rig.frame_count(), kSamples);
  work.samples = some_of(target, work.sampled);
  if (work.rig.rest.normals.empty() && !work.rig.rest.flat)
    work.normals = gltf::smooth_normals(work.rig.rest, triangulate_corners(work.rig.rest));
  return work;
}

double squares(double now, double before) {
  return std::max(0.0, now * now - before * before);
}

/// Measures every rung with all other parts at their finest. A ladder ends where one part alone breaks the bounds.
/// False: progress asks to stop.
bool measure(const Work& work, const Errors& exact, double e_bound, double normal_bound, const Progress& progress,
             std::vector<Ladder>& ladders) {
  double done = 0;
  for (Ladder& ladder : ladders) {
    double e = 0;
    double n = 0;
    for (std::size_t r = 0; r < ladder.rungs.size(); ++r) {
      const double share = static_cast<double>(r) / static_cast<double>(ladder.rungs.size());
      if (!tell(progress, "packing", (done + share) / static_cast<double>(ladders.size()))) return false;
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
    ++done;
  }
  return true;
}

Precision chosen(Precision out, const std::vector<Ladder>& ladders) {
  for (const Ladder& ladder : ladders) ladder.apply(ladder.rungs[ladder.chosen].precision, out);
  return out;
}

/// The fewest bits that leave normals within a limit.
int bits_of_normals(const Work& work, double degrees) {
  for (const int bits : {5, 6, 7, 8, 10})
    if (normals_lost(work.rig, work.pieces, work.normals, bits) <= degrees) return bits;
  return 12;
}

/// The largest step of the offsets of normals that leaves the normals which a player shows within a factor of what they
/// were. Leaving the offsets out is tried first.
int step_of_morph_normals(const Work& work, const Errors& exact, Precision precision) {
  if (!work.rig.corrections || work.rig.corrections->normal_offsets.empty()) return 1;
  precision.morph_normal_step = 1;
  const double factor = allowance(work.options.quality).normals_factor;
  const double bound = work.errors(work.rounded(precision).rig).played_degrees + (factor - 1) * exact.played_degrees;
  for (const int step : {0, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2}) {
    precision.morph_normal_step = step;
    if (work.errors(work.rounded(precision).rig).played_degrees <= bound) return step;
  }
  return 1;
}

/// The order of triangles that gives the smallest file.
void choose_order(const Precision& precision, Work& work) {
  std::size_t least = 0;
  std::vector<DrawnPiece> best;
  for (const TriangleOrder order : {TriangleOrder::strips, TriangleOrder::bones, TriangleOrder::vertex_cache}) {
    work.pieces = draw(work.rig, order, static_cast<std::size_t>(work.options.bones_per_mesh));
    const std::size_t size = work.file(work.rounded(precision)).size();
    if (!best.empty() && size >= least) continue;
    least = size;
    best = work.pieces;
  }
  work.pieces = std::move(best);
  work.fit.order.clear();
  std::vector<bool> seen(work.rig.vertex_count(), false);
  for (const DrawnPiece& piece : work.pieces)
    for (const Index v : piece.point) {
      if (!seen[v]) work.fit.order.push_back(v);
      seen[v] = true;
    }
}

/// Errors of the file, as any reader finds it.
Errors errors_of(const std::vector<std::byte>& bytes, const Work& work) {
  const Rig read = parse_gltf_rig(bytes, {}, {}, "the packed file");
  const VertexMatch match = match_vertices(read, work.target);
  const Sequence target = matched_part(work.target, match);
  return evaluate(in_order_of(read, match, target), target, work.options.threads);
}

void fill_parts(const Work& work, const std::vector<std::byte>& bytes, const std::vector<Ladder>& ladders,
                const Precision& base, PackReport& report) {
  const std::vector<std::byte> plain = glb_bytes(work.rig);
  report.bytes_before = plain.size();
  report.bytes_after = bytes.size();
  std::set<std::vector<Index>> skins;
  for (const DrawnPiece& piece : work.pieces) skins.insert(piece.bones);
  report.skins = skins.size();
  auto before = bytes_by_part(plain);
  auto after = bytes_by_part(bytes);
  for (const auto& [name, size] : before) after.try_emplace(name, 0);
  for (const char* name : {"positions", "normals", "colours, UVs", "weights", "triangles", "morph offsets",
                           "morph normals", "translations", "rotations", "scales", "morph weights", "key times",
                           "two layers", "other", "textures", "JSON"}) {
    if (after.count(name) == 0) continue;
    PackedPart part{name, before[name], after[name], 0, 0, ""};
    for (const Ladder& ladder : ladders) {
      const bool layer = part.name == "two layers" && ladder.name.rfind(part.name, 0) == 0;
      const bool tracks = part.name == "JSON" && ladder.name == "still tracks";  // most of it describes tracks
      if (ladder.name != name && !layer && !tracks) continue;
      const Rung& rung = ladder.rungs[ladder.chosen];
      part.e_rms = std::hypot(part.e_rms, std::sqrt(rung.e_squared));
      part.normal_degrees = std::hypot(part.normal_degrees, std::sqrt(rung.normals_squared));
      part.precision += (part.precision.empty() ? "" : ", ") + rung.text;
    }
    if (part.name == "normals" && base.normal_bits > 0) {
      part.normal_degrees = normals_lost(work.rig, work.pieces, work.normals, base.normal_bits);
      part.precision = fmt::format("{} bits", base.normal_bits);
    }
    if (part.name == "morph normals" && base.morph_normal_step == 0) part.precision = "left out";
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

/// A file, what it is worth and the roundings in it.
struct Made {
  std::vector<std::byte> bytes;
  Errors errors;
  std::vector<Ladder> ladders;
};

bool keeps(const Errors& errors, const PackReport& report) {
  return errors.e_rms <= report.allowed_e_rms && errors.normal_degrees <= report.allowed_normals;
}

Made make(const Work& work, const Precision& base, const std::vector<Ladder>& ladders) {
  Made made{work.file(work.rounded(chosen(base, ladders))), {}, ladders};
  made.errors = errors_of(made.bytes, work);
  return made;
}

/// A file that keeps the bounds: what is shared out shrinks until it does. None: progress asks to stop.
std::optional<Made> make_within(const Work& work, const Errors& exact, Precision& base, std::vector<Ladder> ladders,
                                double e_bound, double normal_bound, const PackReport& report,
                                const Progress& progress) {
  Made made;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (!tell(progress, "packing", 1)) return std::nullopt;
    share_out(e_bound, normal_bound, ladders);
    if (attempt == 0) base.morph_normal_step = step_of_morph_normals(work, exact, chosen(base, ladders));
    made = make(work, base, ladders);
    if (keeps(made.errors, report)) return made;
    if (std::all_of(ladders.begin(), ladders.end(), [](const Ladder& l) { return l.chosen == 0; }))
      throw Error(
          ErrorKind::unusable,
          fmt::format("E_RMS {:.3g} and normals {:.3g}° cannot be kept with 16 bits per number: they become "
                      "{:.3g} and {:.3g}°; --lossless keeps them",
                      report.allowed_e_rms, report.allowed_normals, made.errors.e_rms, made.errors.normal_degrees));
    // Roundings add up to a little more than their squares do, seldom to much more.
    const double less = attempt < kAttempts / 2 ? 0.85 : 0.5;
    if (made.errors.e_rms > report.allowed_e_rms) e_bound *= less;
    if (made.errors.normal_degrees > report.allowed_normals) normal_bound *= less;
  }
  throw Error(
      ErrorKind::unusable,
      fmt::format("E_RMS {:.4g} and normals {:.4g}° are not kept: they became {:.4g} and {:.4g}°; --lossless does "
                  "without rounding",
                  report.allowed_e_rms, report.allowed_normals, made.errors.e_rms, made.errors.normal_degrees));
}

/// Uses up what is left of the bounds: of the parts that can still go a rung further within them, the one that saves
/// most goes first. False: progress asks to stop.
bool go_further(const Work& work, const Precision& base, const PackReport& report, const Progress& progress,
                Made& made) {
  std::vector<bool> at_end(made.ladders.size(), false);
  for (int attempt = 0; attempt < kFurther; ++attempt) {
    std::size_t best = made.ladders.size();
    double most = 0;
    for (std::size_t i = 0; i < made.ladders.size(); ++i) {
      const Ladder& ladder = made.ladders[i];
      if (at_end[i] || ladder.chosen + 1 == ladder.rungs.size()) continue;
      const double saved = ladder.rungs[ladder.chosen].bytes - ladder.rungs[ladder.chosen + 1].bytes;
      if (saved <= most) continue;
      most = saved;
      best = i;
    }
    if (best == made.ladders.size()) return true;
    if (!tell(progress, "packing", 1)) return false;
    std::vector<Ladder> ladders = made.ladders;
    ++ladders[best].chosen;
    Made next = make(work, base, ladders);
    if (keeps(next.errors, report) && next.bytes.size() < made.bytes.size())
      made = std::move(next);
    else
      at_end[best] = true;
  }
  return true;
}

std::vector<std::byte> pack_within(Work& work, const Progress& progress, PackReport& report) {
  Precision base = finest(work.rig);
  Precision typical = base;
  typical.cells = 2047;
  typical.weight_one = 255;
  typical.normal_bits = 8;
  choose_order(typical, work);
  Rig fitted = work.rounded(base).rig;
  const FitFrames to_target = work.fit;
  work.fit.target = work.fit.posed;
  Rig kept = work.rounded(base).rig;
  if (work.errors(fitted).normal_degrees <= work.errors(kept).normal_degrees)
    work.fit = to_target;
  else
    fitted = std::move(kept);  // vertices alone would come nearer and their surface be the rougher for it
  const Errors exact = work.errors(fitted);
  report.fitted = evaluate(fitted, work.target, work.options.threads);
  const double e_bound = squares(report.allowed_e_rms, report.fitted.e_rms);
  const double normal_bound = squares(report.allowed_normals, report.fitted.normal_degrees);
  std::vector<Ladder> ladders = ladders_of(work.rig, base);
  report.cancelled = !measure(work, exact, e_bound, normal_bound, progress, ladders);
  if (report.cancelled) return {};
  base.normal_bits = bits_of_normals(work, allowance(work.options.quality).normals_file);
  std::optional<Made> made =
      make_within(work, exact, base, std::move(ladders), e_bound, normal_bound, report, progress);
  report.cancelled = !made || !go_further(work, base, report, progress, *made);
  if (report.cancelled) return {};
  report.after = made->errors;
  fill_parts(work, made->bytes, made->ladders, base, report);
  return std::move(made->bytes);
}

std::vector<std::byte> pack_exactly(Work& work, PackReport& report) {
  choose_order({}, work);
  std::vector<std::byte> bytes = work.file(work.rounded({}));
  report.after = errors_of(bytes, work);
  fill_parts(work, bytes, {}, {}, report);
  return bytes;
}

}  // namespace
}  // namespace pack

std::vector<std::byte> pack_glb(const Rig& rig, const Sequence* examples, const PackOptions& options,
                                PackReport& report, const Progress& progress) {
  report = {};
  rig.check();
  if (options.bones_per_mesh < 64)
    throw Error(ErrorKind::usage, fmt::format("{} bones per mesh, at least 64 are needed", options.bones_per_mesh));
  if (rig.two_layer && !options.only_two_layer)
    throw Error(ErrorKind::input,
                "a two-layer model blends its vertices by rows that engines do not read: pack the rig that it was made "
                "from, or write the model alone for sinew's own players (--only-two-layer)");
  if (options.only_two_layer && !rig.two_layer)
    throw Error(ErrorKind::input, "the rig has no two layers: sinew compress makes them");
  if (options.only_two_layer && options.lossless)
    throw Error(ErrorKind::usage, "a two-layer model alone is always rounded: --lossless does not go with it");
  if (rig.frame_count() == 0)
    throw Error(ErrorKind::input, "the rig has no frames: nothing says what its rounding shows");
  Rig trimmed = rig;
  if (options.extensions.empty()) {
    trimmed = pack::without_idle_bones(rig, report.dropped_bones);
    pack::round_heads(trimmed);
  }
  if (options.strip_textures) pack::strip_textures(trimmed.rest.appearance);
  const Sequence own = examples == nullptr ? pose_all(trimmed) : Sequence();
  const Sequence& target = examples == nullptr ? own : *examples;
  report.before = evaluate(trimmed, target, options.threads);
  pack::Work work = pack::begin(std::move(trimmed), target, options);
  pack::set_limits(work, examples != nullptr, report);
  return options.lossless ? pack::pack_exactly(work, report) : pack::pack_within(work, progress, report);
}

}  // namespace sinew
