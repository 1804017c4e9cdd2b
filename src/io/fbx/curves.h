#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "io/fbx/scene.h"

namespace sinew::fbx {

/// How a curve goes from a key to the next.
enum class Between { hold, hold_next, linear, cubic };

/// A key of a curve. Slopes are per second; weights are the share of the way to the next key that a handle spans.
struct Key {
  double time = 0;  // seconds
  double value = 0;
  Between between = Between::linear;
  double right_slope = 0;
  double next_left_slope = 0;
  double right_weight = 1.0 / 3;
  double next_left_weight = 1.0 / 3;
};

/// A curve with at least one key, times increasing.
struct Curve {
  std::vector<Key> keys;

  double at(double time) const;
};

/// Curves of the three numbers of a property, or of its one; null ones leave the property's number.
struct Channel {
  enum class What { translation, rotation, scaling, deform_percent } what = What::translation;
  std::size_t owner = 0;  // object: a Model, or a BlendShapeChannel
  std::array<std::shared_ptr<const Curve>, 3> curves;
  std::array<double, 3> otherwise{};  // where there is no curve
};

/// One animation stack: its first layer.
struct Stack {
  std::string name;
  std::vector<Channel> channels;
  std::vector<double> frames;  // seconds at which it is sampled
};

/// The stacks that options.clip selects (all by default), those without channels left out with a warning.
std::vector<Stack> read_stacks(const Document& document, const ReadOptions& options);

}  // namespace sinew::fbx
