#include "pack/rounded.h"

#include <algorithm>
#include <cmath>

#include "core/index.h"
#include "io/glb_mesh.h"

namespace sinew::pack {
namespace {

double longest_side(const Points& points) {
  return static_cast<double>((points.rowwise().maxCoeff() - points.rowwise().minCoeff()).maxCoeff());
}

void round_positions(const FitFrames& fit, int threads, Rounded& out) {
  if (out.precision.cells == 0) return;
  // The vertex that weights have moved is put back as far as a change of the rest pose can.
  if (out.precision.weight_one > 0) out.rig.rest.positions = refit_rest(out.rig, fit, threads);
  Points& points = out.rig.rest.positions;
  out.origin = points.rowwise().minCoeff();
  const double side = longest_side(points);
  out.step = side > 0 ? static_cast<double>(static_cast<float>(side / out.precision.cells)) : 1;
  out.cells.resize(3, points.cols());
  for (Eigen::Index v = 0; v < points.cols(); ++v) {
    const Eigen::Vector3d p = (points.col(v) - out.origin).cast<double>() / out.step;
    out.cells.col(v) = p.array().round().cast<int>();
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

RoundedMorph round_morph(const Points& offsets, const Points* normals, double unit, double step) {
  RoundedMorph out;
  out.unit = unit;
  if (normals != nullptr && normals->cols() > 0) out.unit = std::max(out.unit, step * largest(*normals));
  if (!(out.unit > 0)) out.unit = step;
  const auto whole = [](const Points& points, double of) {
    return Cells((points.cast<double>() / of).array().round().cast<int>());
  };
  out.offsets = whole(offsets, out.unit);
  if (normals != nullptr && normals->cols() > 0) out.normals = whole(*normals, out.unit / step / 127);
  return out;
}

void round_morphs(Rounded& out) {
  if (out.precision.morph_levels == 0 || !out.rig.corrections) return;
  Corrections& corrections = *out.rig.corrections;
  // One number more or less shows as much of whichever target: those that move little are coded in few numbers.
  double most = 0;
  for (std::size_t r = 0; r < corrections.rank(); ++r)
    most = std::max(most, largest(corrections.offsets[r]) * shown(corrections, r));
  const double shows = most / out.precision.morph_levels;
  for (std::size_t r = 0; r < corrections.rank(); ++r) {
    Points* const normals = corrections.normal_offsets.empty() ? nullptr : &corrections.normal_offsets[r];
    out.morphs.push_back(round_morph(corrections.offsets[r], normals, shows / shown(corrections, r), out.step));
    const RoundedMorph& morph = out.morphs.back();
    corrections.offsets[r] = (morph.unit * morph.offsets.cast<double>()).cast<float>();
    if (normals != nullptr) *normals = (morph.unit / out.step / 127 * morph.normals.cast<double>()).cast<float>();
  }
}

}  // namespace

Rounded round_rig(const Rig& rig, const FitFrames& fit, const Precision& precision, int threads) {
  Rounded out;
  out.rig = rig;
  out.precision = precision;
  out.hierarchy = gltf::has_hierarchy(rig);
  out.tracks = round_tracks(rig, out.hierarchy, gltf::bone_tracks(rig, out.hierarchy), precision);
  out.rig.motion = played_motion(rig, out.hierarchy, out.tracks);
  out.rig.transforms = Transforms::affine;  // rounded quaternions are not rotations to the last digit
  out.rig.weights = round_weights(rig, fit, precision, threads);
  round_positions(fit, threads, out);
  round_morphs(out);
  return out;
}

}  // namespace sinew::pack
