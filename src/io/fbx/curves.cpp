#include "io/fbx/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "io/fbx/writer.h"

namespace sinew::fbx {
namespace {

constexpr double kMostFrames = 1 << 22;

// Flags of a key.
constexpr std::int64_t kHold = 0x2;
constexpr std::int64_t kCubic = 0x8;
constexpr std::int64_t kAuto = 0x100;  // of a held key: the next value holds
constexpr std::int64_t kTension = 0x200;
constexpr std::int64_t kUser = 0x400;
constexpr std::int64_t kFlatWhereEqual = 0x1000;  // automatic tangents: no slope beside a key of the same value
constexpr std::int64_t kByTime = 0x2000;          // automatic tangents: from neighbour to neighbour
constexpr std::int64_t kNoOvershoot = 0x6000;     // automatic tangents: no further than either neighbour bears
constexpr std::int64_t kRightWeighted = 0x1000000;
constexpr std::int64_t kNextLeftWeighted = 0x2000000;

/// Flags and numbers of keys, one entry for a run of keys.
struct Attributes {
  std::vector<std::int64_t> flags;
  std::vector<double> data;  // four per entry: slopes, weights packed into one, velocities
  std::vector<std::int64_t> uses;
};

double slope_between(const Key& a, const Key& b) {
  return (b.value - a.value) / (b.time - a.time);
}

/// The slope of an automatic tangent, as the format's library finds it.
double automatic_slope(const std::vector<Key>& keys, std::size_t i, std::int64_t flags) {
  const bool bounded = (flags & kNoOvershoot) == kNoOvershoot;
  if (keys.size() == 1) return 0;
  if (i == 0) return bounded ? 0 : slope_between(keys[0], keys[1]);
  if (i + 1 == keys.size()) return bounded ? 0 : slope_between(keys[i - 1], keys[i]);
  const double left = slope_between(keys[i - 1], keys[i]);
  const double right = slope_between(keys[i], keys[i + 1]);
  const double across = slope_between(keys[i - 1], keys[i + 1]);
  if (bounded)
    return left * right <= 0
               ? 0
               : std::copysign(std::min({std::abs(across), 3 * std::abs(left), 3 * std::abs(right)}), left);
  if ((flags & kFlatWhereEqual) != 0 && (left == 0 || right == 0)) return 0;
  return (flags & kByTime) != 0 ? across : 0.5 * (left + right);
}

void set_key(std::int64_t flags, const double* data, Key& key) {
  if ((flags & kHold) != 0) {
    key.between = (flags & kAuto) != 0 ? Between::hold_next : Between::hold;
    return;
  }
  if ((flags & kCubic) == 0) return;
  key.between = Between::cubic;
  key.right_slope = data[0];
  key.next_left_slope = data[1];
  const auto packed = std::bit_cast<std::uint32_t>(static_cast<float>(data[2]));
  const auto share = [](std::uint32_t ten_thousandths) {
    return std::clamp(static_cast<double>(ten_thousandths) / 9999, 1e-4, 1.0);
  };
  if ((flags & kRightWeighted) != 0) key.right_weight = share(packed & 0xFFFFU);
  if ((flags & kNextLeftWeighted) != 0) key.next_left_weight = share(packed >> 16U);
}

/// Slopes of keys whose tangents are automatic.
void follow_neighbours(const std::vector<std::int64_t>& flags, Curve& curve) {
  for (std::size_t i = 0; i < curve.keys.size(); ++i) {
    const bool automatic = (flags[i] & kCubic) != 0 && (flags[i] & (kAuto | kTension)) != 0 && (flags[i] & kUser) == 0;
    if (!automatic) continue;
    const double slope = automatic_slope(curve.keys, i, flags[i]);
    curve.keys[i].right_slope = slope;
    if (i > 0) curve.keys[i - 1].next_left_slope = slope;
  }
}

Attributes read_attributes(const Tree& tree, const Record& record, const std::string& where) {
  Attributes out{tree.integers(record.find("KeyAttrFlags"), where),
                 tree.doubles(record.find("KeyAttrDataFloat"), where),
                 tree.integers(record.find("KeyAttrRefCount"), where)};
  out.data.resize(out.flags.size() * 4);
  if (!tree.ascii || tree.version < 7200) return out;
  // Text gives these floats as the integers of their bits: some of them are no floats.
  for (double& value : out.data)
    if (std::trunc(value) == value && std::abs(value) < 0x1p32)
      value = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(static_cast<std::int64_t>(value))));
  return out;
}

std::shared_ptr<const Curve> read_curve(const Document& document, std::size_t object) {
  const Object& o = document.objects[object];
  const std::string where = fmt::format("AnimationCurve {}", o.id);
  const std::vector<std::int64_t> times = document.tree.integers(o.record->find("KeyTime"), where);
  const std::vector<double> values = document.tree.doubles(o.record->find("KeyValueFloat"), where);
  if (times.size() != values.size())
    document.tree.refuse(fmt::format("{}: {} times for {} values", where, times.size(), values.size()));
  if (times.empty()) return nullptr;
  const Attributes attributes = read_attributes(document.tree, *o.record, where);
  auto curve = std::make_shared<Curve>();
  std::vector<std::int64_t> flags;
  std::size_t entry = 0;
  std::int64_t used = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    Key key;
    key.time = static_cast<double>(times[i]) / static_cast<double>(kTicksPerSecond);
    key.value = values[i];
    if (!std::isfinite(values[i])) document.tree.refuse(fmt::format("{}: key {} is not finite", where, i));
    if (i > 0 && times[i] <= times[i - 1])
      document.tree.refuse(fmt::format("{}: key {} at {} s is not after the key before it", where, i, key.time));
    while (entry + 1 < attributes.flags.size() && entry < attributes.uses.size() && used >= attributes.uses[entry]) {
      ++entry;
      used = 0;
    }
    ++used;
    flags.push_back(entry < attributes.flags.size() ? attributes.flags[entry] : 0);
    if (entry < attributes.flags.size()) set_key(flags.back(), attributes.data.data() + 4 * entry, key);
    if (!std::isfinite(key.right_slope) || !std::isfinite(key.next_left_slope))
      key.right_slope = key.next_left_slope = 0;
    curve->keys.push_back(key);
  }
  follow_neighbours(flags, *curve);
  return curve;
}

/// Value of a cubic with handles that reach `a` and 1 - `b` of the way; `s` is how far along the time is.
double cubic_at(const Key& from, const Key& to, double s) {
  const double span = to.time - from.time;
  const double a = from.right_weight;
  const double b = 1 - from.next_left_weight;
  double u = s;  // the curve's own parameter: x(u) = s
  if (a != 1.0 / 3 || b != 2.0 / 3) {
    double low = 0;
    double high = 1;
    for (int i = 0; i < 60; ++i) {
      u = 0.5 * (low + high);
      const double x = 3 * a * u * (1 - u) * (1 - u) + 3 * b * u * u * (1 - u) + u * u * u;
      (x < s ? low : high) = u;
    }
  }
  const double p1 = from.value + from.right_slope * a * span;
  const double p2 = to.value - from.next_left_slope * from.next_left_weight * span;
  const double v = 1 - u;
  return v * v * v * from.value + 3 * u * v * v * p1 + 3 * u * u * v * p2 + u * u * u * to.value;
}

double frame_rate(const Document& document) {
  static constexpr double kRates[] = {30,         120, 100, 60,   50,         48, 30, 30, 30 / 1.001,
                                      30 / 1.001, 25,  24,  1000, 24 / 1.001, 0,  96, 72, 60 / 1.001};
  const double mode = document.setting("TimeMode", 0);
  double rate =
      mode >= 0 && mode < static_cast<double>(std::size(kRates)) ? kRates[static_cast<std::size_t>(mode)] : 30;
  if (rate == 0) rate = document.setting("CustomFrameRate", 30);
  return std::isfinite(rate) && rate > 0 && rate <= 10000 ? rate : 30;
}

/// At the keys where these are linear and one curve has the times of all others, else at a constant rate over the time
/// that the stack says it lasts.
std::vector<double> frame_times(const Document& document, std::size_t stack, const std::vector<Channel>& channels,
                                double rate) {
  const Curve* longest = nullptr;
  double first = std::numeric_limits<double>::max();
  double last = std::numeric_limits<double>::lowest();
  const auto each_curve = [&](const auto& act) {
    for (const Channel& channel : channels)
      for (const auto& curve : channel.curves)
        if (curve != nullptr) act(*curve);
  };
  each_curve([&](const Curve& curve) {
    if (longest == nullptr || curve.keys.size() > longest->keys.size()) longest = &curve;
    first = std::min(first, curve.keys.front().time);
    last = std::max(last, curve.keys.back().time);
  });
  bool plain = true;
  const auto earlier = [](const Key& a, const Key& b) { return a.time < b.time; };
  each_curve([&](const Curve& curve) {
    plain = plain &&
            std::includes(longest->keys.begin(), longest->keys.end(), curve.keys.begin(), curve.keys.end(), earlier);
    for (const Key& key : curve.keys) plain = plain && (key.between == Between::linear || curve.keys.size() == 1);
  });
  std::vector<double> out;
  if (rate == 0 && plain) {
    for (const Key& key : longest->keys) out.push_back(key.time);
    return out;
  }
  if (rate == 0) rate = frame_rate(document);
  const auto seconds = [&](const char* name) {
    const Record* const found = document.property(stack, name);
    return found == nullptr ? 0 : static_cast<double>(found->integer(4)) / static_cast<double>(kTicksPerSecond);
  };
  const double start = seconds("LocalStart");
  const double stop = seconds("LocalStop");
  if (stop > start) {
    first = start;
    last = stop;
  }
  const double span = (last - first) * rate;
  if (!(span < kMostFrames))
    document.tree.refuse(fmt::format("animation '{}' lasts {} s: more than {} frames at {} per second",
                                     document.objects[stack].name, last - first, kMostFrames, rate));
  for (std::size_t f = 0; f <= static_cast<std::size_t>(span + 1e-3); ++f)
    out.push_back(std::min(last, first + static_cast<double>(f) / rate));
  return out;
}

/// The channel that a curve node drives, if it is one that moves vertices.
bool set_target(const Document& document, std::size_t node, Channel& channel) {
  using What = Channel::What;
  static const std::map<std::string_view, What> kTargets{{"Lcl Translation", What::translation},
                                                         {"Lcl Rotation", What::rotation},
                                                         {"Lcl Scaling", What::scaling},
                                                         {"DeformPercent", What::deform_percent}};
  for (const Link& link : document.parents[node]) {
    const auto found = kTargets.find(link.property);
    if (found == kTargets.end()) continue;
    channel.what = found->second;
    channel.owner = link.object;
    return true;
  }
  return false;
}

std::vector<Channel> read_channels(const Document& document, std::size_t layer,
                                   std::map<std::size_t, std::shared_ptr<const Curve>>& known) {
  std::vector<Channel> out;
  for (const std::size_t node : document.children_of(layer, "AnimationCurveNode")) {
    Channel channel;
    if (!set_target(document, node, channel)) continue;
    static constexpr const char* kParts[] = {"d|X", "d|Y", "d|Z"};
    const bool single = channel.what == Channel::What::deform_percent;
    bool any = false;
    for (std::size_t i = 0; i < (single ? 1U : 3U); ++i) {
      const std::string_view part = single ? "d|DeformPercent" : kParts[i];
      channel.otherwise[i] = document.number(node, part, channel.what == Channel::What::scaling ? 1 : 0);
      for (const Link& link : document.children[node]) {
        if (link.property != part || document.objects[link.object].type != "AnimationCurve") continue;
        const auto [entry, is_new] = known.try_emplace(link.object);
        if (is_new) entry->second = read_curve(document, link.object);
        channel.curves[i] = entry->second;
      }
      any = any || channel.curves[i] != nullptr;
    }
    if (any) out.push_back(std::move(channel));
  }
  return out;
}

/// Numbers of the stacks that options.clip asks for: a name that exists goes before a number.
std::vector<std::size_t> choose_stacks(const Document& document, const std::vector<std::size_t>& all,
                                       const std::string& clip) {
  std::vector<std::size_t> out = clip.empty() ? all : std::vector<std::size_t>();
  if (clip.empty()) return out;
  std::string names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string& name = document.objects[all[i]].name;
    names += fmt::format("{}{} '{}'", names.empty() ? "" : ", ", i, name);
    if (name == clip) out.push_back(all[i]);
  }
  for (std::size_t i = 0; i < all.size() && out.empty(); ++i)
    if (clip == fmt::to_string(i)) out.push_back(all[i]);
  if (out.empty())
    document.tree.refuse(fmt::format("no animation '{}'; there are {}", clip, names.empty() ? "none" : names));
  return out;
}

}  // namespace

double Curve::at(double time) const {
  const auto next =
      std::upper_bound(keys.begin(), keys.end(), time, [](double t, const Key& key) { return t < key.time; });
  if (next == keys.begin()) return keys.front().value;
  if (next == keys.end()) return keys.back().value;
  const Key& from = *(next - 1);
  const double s = (time - from.time) / (next->time - from.time);
  switch (from.between) {
    case Between::hold:
      return from.value;
    case Between::hold_next:
      return s > 0 ? next->value : from.value;
    case Between::linear:
      return from.value + s * (next->value - from.value);
    case Between::cubic:
      break;
  }
  return cubic_at(from, *next, s);
}

std::vector<Stack> read_stacks(const Document& document, const ReadOptions& options) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < document.objects.size(); ++i)
    if (document.objects[i].type == "AnimationStack") all.push_back(i);
  std::vector<Stack> out;
  std::map<std::size_t, std::shared_ptr<const Curve>> known;
  for (const std::size_t stack : choose_stacks(document, all, options.clip)) {
    const std::string& name = document.objects[stack].name;
    const auto warn = [&](const std::string& what) {
      if (options.warn) options.warn(fmt::format("{}: animation '{}' {}", document.tree.file, name, what));
    };
    std::vector<std::vector<Channel>> layers;
    for (const std::size_t layer : document.children_of(stack, "AnimationLayer")) {
      std::vector<Channel> channels = read_channels(document, layer, known);
      if (!channels.empty()) layers.push_back(std::move(channels));
    }
    if (layers.empty()) {
      warn("moves nothing");
      continue;
    }
    if (layers.size() > 1) warn(fmt::format("has {} layers; only the first is read", layers.size()));
    Stack read{name.empty() ? fmt::format("animation_{}", out.size()) : name, std::move(layers.front()), {}};
    read.frames = frame_times(document, stack, read.channels, options.frames_per_second);
    out.push_back(std::move(read));
  }
  return out;
}

}  // namespace sinew::fbx
