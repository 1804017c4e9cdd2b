#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <utility>

#include "core/index.h"
#include "core/refuse.h"
#include "core/timeline.h"
#include "sinew/core/blendshapes.h"
#include "sinew/core/sliders.h"

namespace sinew {
namespace {

using Numbers = Eigen::Matrix<double, 12, 1>;

/// The transform that y stands for: p ↦ R (p − h) + h + way.
Affine placed(const Numbers& y, const Vector3& head, Transforms transforms) {
  Eigen::Matrix3d A = Eigen::Matrix3d::Identity();
  if (transforms == Transforms::affine) {
    A += Eigen::Map<const Eigen::Matrix3d>(y.data() + 3);
  } else if (const Eigen::Vector3d r = y.segment<3>(3); r.norm() > 0) {
    A = Eigen::AngleAxisd(r.norm(), r.normalized()).toRotationMatrix();
  }
  const Eigen::Vector3d h = head.cast<double>();
  Eigen::Matrix<double, 3, 4> out;
  out << A, h + y.head<3>() - A * h;
  return out.cast<float>();
}

}  // namespace

void SliderMap::check(std::size_t bones, const std::string& name) const {
  const std::set<std::string> distinct(names.begin(), names.end());
  if (names.empty() || distinct.size() != names.size()) refuse(fmt::format("{}: without names of their own", name));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    if (entry.bone >= bones || entry.slider >= names.size())
      refuse(fmt::format("{}: slider {} moves bone {}, there are {} sliders and {} bones", name, entry.slider,
                         entry.bone, names.size(), bones));
    if (i > 0 && std::pair(entries[i - 1].bone, entries[i - 1].slider) >= std::pair(entry.bone, entry.slider))
      refuse(fmt::format("{}: what slider {} does to bone {} is out of order", name, entry.slider, entry.bone));
    for (const float number : entry.by)
      if (!std::isfinite(number))
        refuse(fmt::format("{}: what '{}' does to bone {} is not finite", name, names[entry.slider], entry.bone));
  }
}

Motion slider_motion(const SliderMap& map, const std::vector<Bone>& bones, const Eigen::MatrixXf& values) {
  const auto frames = static_cast<std::size_t>(values.rows());
  Motion out(frames, bones.size());
  std::vector<Numbers> y(bones.size());
  for (std::size_t f = 0; f < frames; ++f) {
    std::fill(y.begin(), y.end(), Numbers(Numbers::Zero()));
    for (const SliderMap::Entry& entry : map.entries)
      y[entry.bone] += static_cast<double>(values(index(f), entry.slider)) *
                       Eigen::Map<const Eigen::Matrix<float, 12, 1>>(entry.by.data()).cast<double>();
    for (std::size_t b = 0; b < bones.size(); ++b)
      if (!y[b].isZero(0)) out(f, b) = placed(y[b], bones[b].head, map.transforms);
  }
  return out;
}

void Blendshapes::check() const {
  rest.check(name);
  if (rest.shapes.empty()) refuse(fmt::format("{}: has no shapes", name));
  std::set<std::string> names;
  for (const Shape& shape : rest.shapes)
    if (!names.insert(shape.name).second) refuse(fmt::format("{}: two shapes are called '{}'", name, shape.name));
  if (values.rows() != index(frame_count()) || values.cols() != index(slider_count()))
    refuse(fmt::format("{}: values of {} sliders in {} frames, there are {} in {}", name, values.cols(), values.rows(),
                       slider_count(), frame_count()));
  if (!values.allFinite()) refuse(fmt::format("{}: the value of a slider is not finite", name));
  check_timeline(name, times, clips, frame_count());
}

Blendshapes blendshapes_of(const Sequence& sequence) {
  constexpr float kRounding = 1e-6F;  // of the largest coordinate
  Blendshapes out;
  out.name = sequence.name;
  out.rest = sequence.rest;
  out.rest.shapes.clear();
  const float still = kRounding * sequence.rest.positions.cwiseAbs().maxCoeff();
  for (std::size_t f = 0; f < sequence.frame_count(); ++f) {
    Points offsets = sequence.frames[f] - sequence.rest.positions;
    if (offsets.cwiseAbs().maxCoeff() > still) out.rest.shapes.push_back({fmt::format("shape_{}", f), offsets, {}});
  }
  if (out.rest.shapes.empty()) refuse(fmt::format("{}: nothing moves in its frames", sequence.name));
  play_in_turn(out);
  return out;
}

void play_in_turn(Blendshapes& shapes) {
  const auto S = index(shapes.slider_count());
  shapes.values = Eigen::MatrixXf::Zero(S + 1, S);
  shapes.values.bottomRows(S).setIdentity();
  shapes.times = uniform_times(shapes.slider_count() + 1);
  shapes.clips.clear();
}

Sequence shaped(const Blendshapes& shapes, const Eigen::MatrixXf& values) {
  Sequence out;
  out.name = shapes.name;
  out.rest = shapes.rest;
  out.rest.shapes.clear();
  out.times = uniform_times(static_cast<std::size_t>(values.rows()));
  out.frames = Frames(out.times.size(), shapes.rest.vertex_count());
  for (std::size_t f = 0; f < out.times.size(); ++f) {
    Eigen::Matrix3Xd sum = shapes.rest.positions.cast<double>();
    for (std::size_t s = 0; s < shapes.slider_count(); ++s)
      if (const float x = values(index(f), index(s)); x != 0)
        sum += static_cast<double>(x) * shapes.rest.shapes[s].offsets.cast<double>();
    out.frames[f] = sum.cast<float>();
  }
  return out;
}

Sequence shaped_frames(const Blendshapes& shapes) {
  Sequence out = shaped(shapes, shapes.values);
  out.times = shapes.times;
  out.clips = shapes.clips;
  return out;
}

Eigen::MatrixXf random_slider_values(std::size_t count, std::size_t sliders, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const double share = std::max(0.2, std::min(1.0, 2 / static_cast<double>(sliders)));
  Eigen::MatrixXf out = Eigen::MatrixXf::Zero(index(count), index(sliders));
  for (Eigen::Index n = 0; n < out.rows(); ++n)
    for (Eigen::Index s = 0; s < out.cols(); ++s) {
      const bool moved = uniform() < share;
      const double value = uniform();
      if (moved) out(n, s) = static_cast<float>(value);
    }
  return out;
}

}  // namespace sinew
