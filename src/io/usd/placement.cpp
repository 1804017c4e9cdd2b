#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "io/usd/stage.h"
#include "io/usd/value.h"

namespace sinew::usd {
namespace {

/// Eigen's matrix of one that acts on rows.
Eigen::Affine3d affine_of(const Layer& layer, const std::vector<double>& rows) {
  if (rows.size() != 16) layer.refuse(fmt::format("a transform of {} numbers, 16 expected", rows.size()));
  Eigen::Affine3d out;
  out.matrix() = Eigen::Map<const Eigen::Matrix4d>(rows.data());
  out.makeAffine();
  return out;
}

Eigen::Affine3d turn(double degrees, int axis) {
  return Eigen::Affine3d(Eigen::AngleAxisd(degrees * std::numbers::pi / 180, Eigen::Vector3d::Unit(axis)));
}

/// The kinds of operations and how many numbers they take.
int width_of(const std::string& kind) {
  if (kind == "transform") return 16;
  if (kind == "orient") return 4;
  if (kind == "rotateX" || kind == "rotateY" || kind == "rotateZ") return 1;
  if (kind == "translateX" || kind == "translateY" || kind == "translateZ") return 1;
  if (kind == "scaleX" || kind == "scaleY" || kind == "scaleZ") return 1;
  if (kind == "translate" || kind == "scale") return 3;
  if (kind.size() == 9 && kind.starts_with("rotate")) {
    std::string axes = kind.substr(6);
    std::sort(axes.begin(), axes.end());
    if (axes == "XYZ") return 3;
  }
  return 0;
}

Eigen::Affine3d operation(const std::string& kind, const std::vector<double>& v, const Layer& layer) {
  if (kind == "transform") return affine_of(layer, v);
  if (kind == "translate") return Eigen::Affine3d(Eigen::Translation3d(v[0], v[1], v[2]));
  if (kind == "scale") return Eigen::Affine3d(Eigen::Scaling(v[0], v[1], v[2]));
  if (kind == "orient") return Eigen::Affine3d(Eigen::Quaterniond(v[0], v[1], v[2], v[3]).normalized());
  if (v.size() == 1) {
    const int axis = kind.back() - 'X';
    if (kind.starts_with("rotate")) return turn(v[0], axis);
    Eigen::Vector3d along = kind.starts_with("scale") ? Eigen::Vector3d::Ones() : Eigen::Vector3d::Zero();
    along[axis] = v[0];
    return kind.starts_with("scale") ? Eigen::Affine3d(Eigen::Scaling(along))
                                     : Eigen::Affine3d(Eigen::Translation3d(along));
  }
  // rotateXYZ turns about X first.
  Eigen::Affine3d out = Eigen::Affine3d::Identity();
  for (std::size_t i = 0; i < 3; ++i)
    out = turn(v[static_cast<std::size_t>(kind[6 + i] - 'X')], kind[6 + i] - 'X') * out;
  return out;
}

}  // namespace

SampleAt locate(const Property& property, double code) {
  const auto& samples = property.samples;
  const auto after = std::upper_bound(samples.begin(), samples.end(), code,
                                      [](double time, const auto& sample) { return time < sample.first; });
  if (after == samples.begin()) return {0, 0};
  const auto first = static_cast<std::size_t>(after - samples.begin()) - 1;
  if (after == samples.end() || samples[first].first == code) return {first, 0};
  return {first, (code - samples[first].first) / (after->first - samples[first].first)};
}

std::vector<double> numbers_at(const Layer& layer, const Attribute& attribute, double code, int width) {
  if (!attribute.has_value()) return {};
  const Property& property = *attribute.values;
  if (property.samples.empty()) return read_doubles(layer, *property.value, width);
  const SampleAt at = locate(property, code);
  std::vector<double> out = read_doubles(layer, property.samples[at.first].second, width);
  if (at.blend == 0) return out;
  const std::vector<double> next = read_doubles(layer, property.samples[at.first + 1].second, width);
  if (next.size() != out.size()) return out;  // cannot be blended: held
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += at.blend * (next[i] - out[i]);
  return out;
}

std::vector<double> quaternions_at(const Layer& layer, const Attribute& attribute, double code) {
  if (!attribute.has_value()) return {};
  const Property& property = *attribute.values;
  if (property.samples.empty()) return read_doubles(layer, *property.value, 4);
  const SampleAt at = locate(property, code);
  std::vector<double> out = read_doubles(layer, property.samples[at.first].second, 4);
  if (at.blend == 0) return out;
  const std::vector<double> next = read_doubles(layer, property.samples[at.first + 1].second, 4);
  if (next.size() != out.size()) return out;
  for (std::size_t i = 0; i + 3 < out.size(); i += 4) {
    const Eigen::Quaterniond a = Eigen::Quaterniond(out[i], out[i + 1], out[i + 2], out[i + 3]).normalized();
    const Eigen::Quaterniond b = Eigen::Quaterniond(next[i], next[i + 1], next[i + 2], next[i + 3]).normalized();
    const Eigen::Quaterniond q = a.slerp(at.blend, b);
    out[i] = q.w();
    out[i + 1] = q.x();
    out[i + 2] = q.y();
    out[i + 3] = q.z();
  }
  return out;
}

Placement::Placement(const Stage& stage) : stage_(stage), locals_(stage.prims().size()) {
  const Layer& layer = stage.layer();
  for (std::size_t i = 0; i < locals_.size(); ++i) {
    const Prim& prim = stage.prims()[i];
    const std::optional<Value> order = stage.value(prim, "xformOpOrder");
    if (!order) continue;
    for (std::string name : read_texts(layer, *order)) {
      if (name == "!resetXformStack!") {
        locals_[i].operations.clear();
        locals_[i].resets = true;
        continue;
      }
      Operation operation;
      operation.inverted = name.starts_with("!invert!");
      if (operation.inverted) name.erase(0, 8);
      operation.attribute = stage.attribute(prim, name);
      operation.kind = name.starts_with("xformOp:") ? name.substr(8, name.find(':', 8) - 8) : name;
      if (width_of(operation.kind) == 0)
        layer.refuse(fmt::format("<{}> is placed by '{}', which is not known", prim.path, name));
      if (operation.attribute.has_value()) locals_[i].operations.push_back(std::move(operation));
    }
  }
}

Eigen::Affine3d Placement::local(const Local& local, double code) const {
  Eigen::Affine3d out = Eigen::Affine3d::Identity();
  for (const Operation& step : local.operations) {
    const int width = width_of(step.kind);
    const Layer& layer = stage_.layer();
    const std::vector<double> numbers = step.kind == "orient"
                                            ? quaternions_at(layer, step.attribute, code)
                                            : numbers_at(layer, step.attribute, code, width == 16 ? 4 : width);
    if (numbers.size() != static_cast<std::size_t>(width))
      layer.refuse(fmt::format("'{}' has {} numbers, {} expected", step.attribute.values->name, numbers.size(), width));
    const Eigen::Affine3d matrix = operation(step.kind, numbers, layer);
    out = out * (step.inverted ? matrix.inverse() : matrix);
  }
  return out;
}

Eigen::Affine3d Placement::world(std::size_t prim, double code) const {
  Eigen::Affine3d out = Eigen::Affine3d::Identity();
  for (int at = static_cast<int>(prim); at >= 0; at = stage_.prims()[static_cast<std::size_t>(at)].parent) {
    const Local& here = locals_[static_cast<std::size_t>(at)];
    if (!here.operations.empty()) out = local(here, code) * out;
    if (here.resets) break;
  }
  if (stage_.z_up()) {  // x y z become x z -y
    Eigen::Affine3d stand = Eigen::Affine3d::Identity();
    stand.linear() << 1, 0, 0, 0, 0, 1, 0, -1, 0;
    out = stand * out;
  }
  if (!out.matrix().allFinite())
    stage_.layer().refuse(fmt::format("<{}> is placed by numbers that are not finite", stage_.prims()[prim].path));
  return out;
}

void Placement::add_codes(std::size_t prim, std::vector<double>& out) const {
  for (int at = static_cast<int>(prim); at >= 0; at = stage_.prims()[static_cast<std::size_t>(at)].parent) {
    const Local& here = locals_[static_cast<std::size_t>(at)];
    for (const Operation& step : here.operations)
      if (step.attribute.values != nullptr)
        for (const auto& sample : step.attribute.values->samples) out.push_back(sample.first);
    if (here.resets) break;
  }
}

}  // namespace sinew::usd
