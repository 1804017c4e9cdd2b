#include "pack/rounded.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "core/index.h"
#include "io/gltf/write_mesh.h"
#include "pack/cheap_rounding.h"
#include "pack/keys.h"
#include "sinew/core/bounds.h"

namespace sinew::pack {
namespace {

double longest_side(const Points& points) {
  return static_cast<double>((points.rowwise().maxCoeff() - points.rowwise().minCoeff()).maxCoeff());
}

/// What tells a vertex from others when the file is read: its cell and what moves it.
std::string told_by(const Rounded& rounded, const Eigen::Vector3i& cell, Eigen::Index v) {
  std::string key(reinterpret_cast<const char*>(cell.data()), sizeof(int) * 3);
  const SkinWeights& weights = rounded.rig.weights;
  const auto slots = static_cast<std::size_t>(weights.influences);
  for (std::size_t k = static_cast<std::size_t>(v) * slots; k < (static_cast<std::size_t>(v) + 1) * slots; ++k) {
    key.append(reinterpret_cast<const char*>(&weights.bones[k]), sizeof weights.bones[k]);
    key.append(reinterpret_cast<const char*>(&weights.values[k]), sizeof weights.values[k]);
  }
  return key;
}

/// The cell next to `place` that no vertex with the same weights has; its own, where all are taken.
Eigen::Vector3i free_cell(const Rounded& rounded, const std::map<std::string, Eigen::Index>& taken,
                          const Eigen::Vector3d& place, Eigen::Index v) {
  const Eigen::Vector3i own = place.array().round().cast<int>();
  Eigen::Vector3i best = own;
  double least = 1e30;
  for (int i = 0; i < 27; ++i) {
    const Eigen::Vector3i cell = own + Eigen::Vector3i(i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1);
    const double far = (cell.cast<double>() - place).squaredNorm();
    const bool inside = cell.minCoeff() >= 0 && cell.maxCoeff() <= rounded.precision.cells;
    if (!inside || far >= least || taken.count(told_by(rounded, cell, v)) > 0) continue;
    least = far;
    best = cell;
  }
  return best;
}

/// Whether two vertices of a rig are one, drawn twice.
bool same_vertex(const Rig& rig, Eigen::Index a, Eigen::Index b) {
  const auto slots = static_cast<std::ptrdiff_t>(rig.weights.influences);
  const auto same = [&](const auto& values) {
    return std::equal(values.begin() + a * slots, values.begin() + (a + 1) * slots, values.begin() + b * slots);
  };
  return rig.rest.positions.col(a) == rig.rest.positions.col(b) && same(rig.weights.bones) && same(rig.weights.values);
}

void round_positions(const Rig& rig, const FitFrames& fit, int threads, Rounded& out) {
  if (out.precision.cells == 0) return;
  // The vertex that weights have moved is put back as far as a change of the rest pose can.
  if (out.precision.weight_one > 0 && !out.layers) out.rig.rest.positions = refit_rest(out.rig, fit, threads);
  Points& points = out.rig.rest.positions;
  out.origin = points.rowwise().minCoeff();
  const double side = longest_side(points);
  out.step = side > 0 ? static_cast<double>(static_cast<float>(side / out.precision.cells)) : 1;
  out.cells.resize(3, points.cols());
  // Vertices that differ before they are rounded do so after it: readers that join equal ones find them all.
  std::map<std::string, Eigen::Index> taken;
  for (Eigen::Index v = 0; v < points.cols(); ++v) {
    const Eigen::Vector3d p = (points.col(v) - out.origin).cast<double>() / out.step;
    out.cells.col(v) = p.array().round().cast<int>();
    const auto [place, is_free] = taken.try_emplace(told_by(out, out.cells.col(v), v), v);
    if (!is_free && !same_vertex(rig, v, place->second)) {
      out.cells.col(v) = free_cell(out, taken, p, v);
      taken.try_emplace(told_by(out, out.cells.col(v), v), v);
    }
    points.col(v) = (out.origin.cast<double>() + out.step * out.cells.col(v).cast<double>()).cast<float>();
  }
}

/// What a unit of a target's offset shows in a frame (RMS); for a target that no frame uses as if it always were.
double shown(const Corrections& corrections, std::size_t r) {
  const double rms = std::sqrt(corrections.coefficients.col(index(r)).cast<double>().array().square().mean());
  return rms > 0 ? rms : 1;
}

double largest(const Points& points) {
  return static_cast<double>(points.cwiseAbs().maxCoeff());
}

constexpr int kByte = 127;  // the largest number of a byte with a sign

/// Multiples of `step` near points / `unit`, `cheap` for the codec or the nearest; `before`: targets in the stream.
Cells whole_numbers(const Points& points, double unit, int step, bool cheap, const FitFrames& fit, std::size_t before) {
  const Eigen::Matrix3Xd exact = points.cast<double>() / unit;
  Cells out = step * (exact / step).array().round().cast<int>();
  if (!cheap || fit.order.empty() || out.cwiseAbs().maxCoeff() > kByte) return out;
  std::vector<double> x(fit.order.size());
  for (Eigen::Index c = 0; c < 3; ++c) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = exact(c, fit.order[i]);
    const std::vector<int> rounded = cheap_rounding(x, step, kByte, before * x.size());
    for (std::size_t i = 0; i < x.size(); ++i) out(c, fit.order[i]) = rounded[i];
  }
  return out;
}

/// `normal_unit`: what offsets of normals are rounded to, in the unit of positions.
RoundedMorph round_morph(const Points& offsets, const Points* normals, double unit, double step, double normal_unit,
                         bool cheap, const FitFrames& fit, std::size_t before) {
  RoundedMorph out;
  out.unit = unit;
  if (normals != nullptr && normals->cols() > 0) out.unit = std::max(out.unit, step * largest(*normals));
  if (!(out.unit > 0)) out.unit = step;
  out.offsets = whole_numbers(offsets, out.unit, 1, cheap, fit, before);
  const int normal_step = std::clamp(static_cast<int>(std::lround(normal_unit / out.unit)), 1, kByte);
  if (normals != nullptr && normals->cols() > 0)
    out.normals = whole_numbers(*normals, out.unit / step / kByte, normal_step, cheap, fit, before);
  out.normals = out.normals.cwiseMax(-kByte).cwiseMin(kByte);
  return out;
}

void round_morphs(const FitFrames& fit, Rounded& out) {
  if (out.precision.morph_levels == 0 || !out.rig.corrections) return;
  Corrections& corrections = *out.rig.corrections;
  if (out.precision.morph_normal_step == 0) corrections.normal_offsets.clear();
  // One number more or less shows as much of whichever target: those that move little are coded in few numbers.
  double most = 0;
  for (std::size_t r = 0; r < corrections.rank(); ++r)
    most = std::max(most, largest(corrections.offsets[r]) * shown(corrections, r));
  const double shows = most / out.precision.morph_levels;
  for (std::size_t r = 0; r < corrections.rank(); ++r) {
    Points* const normals = corrections.normal_offsets.empty() ? nullptr : &corrections.normal_offsets[r];
    const double shows_one = shown(corrections, r);
    out.morphs.push_back(round_morph(corrections.offsets[r], normals, shows / shows_one, out.step,
                                     out.precision.morph_normal_step * most / kByte / shows_one,
                                     out.precision.cheap_morphs, fit, r));
    const RoundedMorph& morph = out.morphs.back();
    corrections.offsets[r] = (morph.unit * morph.offsets.cast<double>()).cast<float>();
    if (normals != nullptr) *normals = (morph.unit / out.step / kByte * morph.normals.cast<double>()).cast<float>();
  }
}

/// A rig whose two layers alone move its mesh: nothing else of its motion is in the file.
void round_layers(Rounded& out) {
  gltf::TwoLayerSteps steps;
  steps.coefficient_bits = out.precision.coefficient_bits;
  steps.dictionary_bits = out.precision.dictionary_bits;
  steps.linear_bits = out.precision.layer_motion_bits;
  const double size = bounding_box_diagonal(out.rig.rest.positions);
  steps.translation_step = static_cast<int>(std::ceil(std::log2(std::max(1e-30, size)))) - steps.linear_bits;
  out.rig.two_layer = gltf::rounded_to(steps, *out.rig.two_layer);
  out.rig.motion = gltf::rounded_to(steps, out.rig.motion);
  out.layers = steps;
  out.tracks.resize(out.rig.bone_count());
  out.rig.jointed = false;
  for (Bone& bone : out.rig.bones) bone.parent = -1;
  out.rig.weights = {1, std::vector<Index>(out.rig.vertex_count(), 0),
                     std::vector<float>(out.rig.vertex_count(), 1.0F)};
}

}  // namespace

Rounded round_rig(const Rig& rig, const FitFrames& fit, const Precision& precision, int threads) {
  Rounded out;
  out.rig = rig;
  out.precision = precision;
  out.rig.transforms = Transforms::affine;  // rounded quaternions are not rotations to the last digit
  if (rig.two_layer) {
    round_layers(out);
  } else {
    out.hierarchy = gltf::has_hierarchy(rig);
    const double noise = precision.round_scales ? kShearNoise : gltf::kFloatNoise;
    out.tracks = round_tracks(rig, out.hierarchy, gltf::bone_tracks(rig, out.hierarchy, noise), precision);
    if (precision.keys < 1) {
      out.keys = key_frames(rig, fit.order_of_need, precision.keys);
      interpolate_between(out.keys, rig, out.tracks);
      if (out.rig.corrections) interpolate_between(out.keys, rig, out.rig.corrections->coefficients);
    }
    out.rig.motion = played_motion(rig.bones, rig.frame_count(), out.hierarchy, out.tracks);
    out.rig.weights = round_weights(rig, fit, precision, threads);
  }
  out.rests = node_rests(out.rig, out.hierarchy, out.tracks);
  round_positions(rig, fit, threads, out);
  round_morphs(fit, out);
  return out;
}

}  // namespace sinew::pack
