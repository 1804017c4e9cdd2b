#include "io/gltf/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sinew/core/error.h"

namespace sinew::gltf {
namespace {

constexpr double kMostFrames = 1e6;
constexpr double kDefaultRate = 30;

/// Rounding is taken out of a quaternion; one that is further from unit length is used as it is, which is what players
/// do with it.
Eigen::Quaterniond as_player_takes_it(const Eigen::Quaterniond& q) {
  return std::abs(q.squaredNorm() - 1) < 1e-5 ? q.normalized() : q;
}

std::size_t target_count(const Document& document, std::size_t mesh) {
  const Json& primitives = document.array(document.at("meshes", mesh), "primitives", fmt::format("mesh {}", mesh));
  if (primitives.empty() || !primitives[0].is_object()) return 0;
  return document.array(primitives[0], "targets", fmt::format("mesh {}", mesh)).size();
}

std::vector<double> default_weights(const Document& document, const Json& object, const Node& node) {
  if (!node.mesh) return {};
  const std::size_t count = target_count(document, *node.mesh);
  const std::string where = fmt::format("node '{}'", node.name);
  std::vector<double> weights = document.numbers(object, "weights", count, where);
  if (weights.empty()) weights = document.numbers(document.at("meshes", *node.mesh), "weights", count, where);
  weights.resize(count, 0.0);
  return weights;
}

Node read_node(const Document& document, std::size_t index) {
  const Json& object = document.at("nodes", index);
  const std::string where = fmt::format("node {}", index);
  Node node;
  node.name = document.text(object, "name");
  node.mesh = document.index(object, "mesh", "meshes", where);
  node.skin = document.index(object, "skin", "skins", where);
  if (const auto m = document.numbers(object, "matrix", 16, where); !m.empty()) {
    node.has_matrix = true;
    node.matrix.affine() = Eigen::Map<const Eigen::Matrix4d>(m.data()).topRows<3>();
  }
  if (const auto t = document.numbers(object, "translation", 3, where); !t.empty())
    node.translation = {t[0], t[1], t[2]};
  if (const auto s = document.numbers(object, "scale", 3, where); !s.empty()) node.scale = {s[0], s[1], s[2]};
  if (const auto r = document.numbers(object, "rotation", 4, where); !r.empty()) {
    node.rotation = Eigen::Quaterniond(r[3], r[0], r[1], r[2]);
    if (!(node.rotation.norm() > 1e-6)) document.refuse(fmt::format("{}: its rotation is no quaternion", where));
    node.rotation = as_player_takes_it(node.rotation);
  }
  node.weights = default_weights(document, object, node);
  return node;
}

/// Parents from children lists, then an order with parents first. A node that is never reached is on a cycle.
void link_nodes(const Document& document, std::vector<std::vector<std::size_t>>& children, Scene& scene) {
  const std::size_t count = scene.nodes.size();
  children.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    for (const Json& entry : document.array(document.at("nodes", i), "children", fmt::format("node {}", i))) {
      const std::size_t child = document.index_value(entry, "nodes", fmt::format("a child of node {}", i));
      if (scene.nodes[child].parent >= 0)
        document.refuse(fmt::format("node {} is a child of nodes {} and {}", child, scene.nodes[child].parent, i));
      scene.nodes[child].parent = static_cast<int>(i);
      children[i].push_back(child);
    }
  for (std::size_t i = 0; i < count; ++i)
    if (scene.nodes[i].parent < 0) scene.order.push_back(i);
  for (std::size_t at = 0; at < scene.order.size(); ++at) {
    const auto& below = children[scene.order[at]];
    scene.order.insert(scene.order.end(), below.begin(), below.end());
  }
  if (scene.order.size() == count) return;
  std::vector<bool> reached(count, false);
  for (const std::size_t i : scene.order) reached[i] = true;
  const auto missing = std::find(reached.begin(), reached.end(), false) - reached.begin();
  document.refuse(fmt::format("node {} is its own ancestor", missing));
}

void list_visible(const Document& document, const std::vector<std::vector<std::size_t>>& children, Scene& scene) {
  std::vector<std::size_t> roots;
  if (document.size("scenes") == 0) {
    for (std::size_t i = 0; i < scene.nodes.size(); ++i)
      if (scene.nodes[i].parent < 0) roots.push_back(i);
  } else {
    const std::size_t chosen = document.index(document.root(), "scene", "scenes", "the file").value_or(0);
    for (const Json& entry : document.array(document.at("scenes", chosen), "nodes", "the scene"))
      roots.push_back(document.index_value(entry, "nodes", "the scene"));
  }
  std::vector<bool> seen(scene.nodes.size(), false);
  std::vector<std::size_t> open(roots.rbegin(), roots.rend());
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (seen[node]) continue;  // a root that is listed twice or is also below another
    seen[node] = true;
    scene.visible.push_back(node);
    open.insert(open.end(), children[node].rbegin(), children[node].rend());
  }
}

std::size_t path_width(const Document& document, Path path, const Node& node, const std::string& where) {
  if (path == Path::rotation) return 4;
  if (path != Path::weights) return 3;
  if (node.weights.empty()) document.refuse(fmt::format("{}: its node has no morph targets", where));
  return node.weights.size();
}

Path parse_path(const std::string& text, const Document& document, const std::string& where) {
  if (text == "translation") return Path::translation;
  if (text == "rotation") return Path::rotation;
  if (text == "scale") return Path::scale;
  if (text == "weights") return Path::weights;
  document.refuse(fmt::format("{}: its target path is '{}'", where, text));
}

Interpolation parse_interpolation(const std::string& text, const Document& document, const std::string& where) {
  if (text.empty() || text == "LINEAR") return Interpolation::linear;
  if (text == "STEP") return Interpolation::step;
  if (text == "CUBICSPLINE") return Interpolation::cubic;
  document.refuse(fmt::format("{}: its interpolation is '{}'", where, text));
}

/// Of keys at the same time only the last counts; some exporters write such. Returns how many were left out.
std::size_t drop_equal_times(std::size_t per_key, Track& track) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < track.times.size(); ++i) {
    if (i + 1 < track.times.size() && track.times[i + 1] == track.times[i]) continue;
    track.times[kept] = track.times[i];
    std::copy_n(track.values.begin() + static_cast<std::ptrdiff_t>(i * per_key), per_key,
                track.values.begin() + static_cast<std::ptrdiff_t>(kept * per_key));
    ++kept;
  }
  const std::size_t dropped = track.times.size() - kept;
  track.times.resize(kept);
  track.values.resize(kept * per_key);
  return dropped;
}

std::optional<Track> read_track(const Document& document, const Scene& scene, const Json& animation,
                                const Json& channel, const std::string& where, const ReadOptions& options) {
  const Json* target = document.find(channel, "target");
  if (!channel.is_object() || target == nullptr || !target->is_object())
    document.refuse(fmt::format("{} has no target", where));
  Track track;
  const std::optional<std::size_t> node = document.index(*target, "node", "nodes", where);
  if (!node) return std::nullopt;  // for extensions; to be ignored
  track.node = *node;
  track.path = parse_path(document.text(*target, "path"), document, where);
  const Json& samplers = document.array(animation, "samplers", where);
  const std::size_t index = document.unsigned_value(channel, "sampler", samplers.size(), where);
  if (index >= samplers.size() || !samplers[index].is_object())
    document.refuse(fmt::format("{} refers to sampler {}, there are {}", where, index, samplers.size()));
  const Json& sampler = samplers[index];
  track.interpolation = parse_interpolation(document.text(sampler, "interpolation"), document, where);
  track.width = path_width(document, track.path, scene.nodes[track.node], where);
  track.times = document.floats(document.required_index(sampler, "input", "accessors", where), 1, where);
  const std::size_t output = document.required_index(sampler, "output", "accessors", where);
  track.values = document.floats(output, track.path == Path::weights ? 1 : static_cast<int>(track.width), where);
  if (track.times.empty()) document.refuse(fmt::format("{} has no keys", where));
  for (std::size_t i = 1; i < track.times.size(); ++i)
    if (!(track.times[i] >= track.times[i - 1]))
      document.refuse(fmt::format("{}: key {} at {} s is not after the key before it", where, i, track.times[i]));
  const std::size_t per_key = track.width * (track.interpolation == Interpolation::cubic ? 3 : 1);
  if (track.values.size() != track.times.size() * per_key)
    document.refuse(fmt::format("{}: {} numbers for {} keys, expected {}", where, track.values.size(),
                                track.times.size(), track.times.size() * per_key));
  const std::size_t dropped = drop_equal_times(per_key, track);
  if (dropped > 0 && options.warn)
    options.warn(fmt::format("{}: {}: keys share their time, the last of them counts ({} left out)", document.name(),
                             where, dropped));
  return track;
}

/// Keys that are further apart than 1/20 s with equal steps of at most 1/30 s between them. A long animation gets
/// longer steps rather than thousands of frames.
std::vector<double> with_frames_between(const std::vector<float>& keys) {
  constexpr double kFar = 1.0 / 20;
  constexpr double kMostDense = 3000;  // frames, unless there are more keys
  const double span = static_cast<double>(keys.back()) - static_cast<double>(keys.front());
  const double step = std::max(1 / kDefaultRate, span / kMostDense);
  std::vector<double> out;
  for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
    const auto from = static_cast<double>(keys[i]);
    const double gap = static_cast<double>(keys[i + 1]) - from;
    const double parts = gap > kFar ? std::ceil(gap / step - 1e-6) : 1;
    for (double part = 0; part < parts; ++part) out.push_back(from + gap * part / parts);
  }
  out.push_back(static_cast<double>(keys.back()));
  return out;
}

/// Sample times: at the keys when those of the longest track hold all others', and between them where they are far
/// apart and something moves there; else at a constant rate.
std::vector<double> frame_times(const Document& document, const Animation& animation, double rate, bool dense) {
  const std::vector<float>* longest = nullptr;
  float first = std::numeric_limits<float>::max();
  float last = std::numeric_limits<float>::lowest();
  for (const Track& track : animation.tracks) {
    if (longest == nullptr || track.times.size() > longest->size()) longest = &track.times;
    first = std::min(first, track.times.front());
    last = std::max(last, track.times.back());
  }
  const bool shared = std::all_of(animation.tracks.begin(), animation.tracks.end(), [&](const Track& track) {
    return std::includes(longest->begin(), longest->end(), track.times.begin(), track.times.end());
  });
  const bool steps = std::all_of(animation.tracks.begin(), animation.tracks.end(),
                                 [](const Track& track) { return track.interpolation == Interpolation::step; });
  if (rate == 0 && shared && dense && !steps) return with_frames_between(*longest);
  if (rate == 0 && shared) return {longest->begin(), longest->end()};
  if (rate == 0) rate = kDefaultRate;
  const double span = (static_cast<double>(last) - static_cast<double>(first)) * rate;
  if (!(span < kMostFrames))
    document.refuse(fmt::format("animation '{}' lasts {} s: more than {} frames at {} per second", animation.name,
                                last - first, kMostFrames, rate));
  std::vector<double> out;
  for (std::size_t f = 0; f <= static_cast<std::size_t>(span + 1e-3); ++f)
    out.push_back(std::min<double>(last, first + static_cast<double>(f) / rate));
  return out;
}

/// The frames that a packed file notes for an animation, where its keys are fewer; nothing when it notes none that can
/// be.
std::optional<std::vector<double>> noted_frames(const Json& animation) {
  const Json noted = animation.value("/extras/sinew/frames"_json_pointer, Json());
  std::vector<double> out;
  if (noted.is_object() && noted.value("start", Json()).is_number() && noted.value("step", Json()).is_number() &&
      noted.value("count", Json()).is_number_unsigned() && noted["count"].get<double>() < kMostFrames)
    for (std::size_t f = 0; f < noted["count"].get<std::size_t>(); ++f)
      out.push_back(noted["start"].get<double>() + static_cast<double>(f) * noted["step"].get<double>());
  if (noted.is_array())
    for (const Json& t : noted) out.push_back(t.is_number() ? t.get<double>() : -1);
  for (std::size_t f = 0; f < out.size(); ++f)
    if (!(out[f] >= 0) || !std::isfinite(out[f]) || (f > 0 && !(out[f] > out[f - 1]))) return std::nullopt;
  return out.empty() ? std::nullopt : std::optional(std::move(out));
}

bool chosen(const ReadOptions& options, const std::string& name, std::size_t index) {
  return options.clip.empty() || options.clip == name || options.clip == fmt::to_string(index);
}

/// Indices of the animations that options.clip asks for: a name that exists goes before a number.
std::vector<std::size_t> choose_animations(const Document& document, const ReadOptions& options) {
  std::vector<std::size_t> out;
  std::string names;
  bool named = false;
  const std::size_t count = document.size("animations");
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = document.text(document.at("animations", i), "name");
    named = named || name == options.clip;
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", i, name.empty() ? "without a name" : '\'' + name + '\'');
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = document.text(document.at("animations", i), "name");
    if (chosen(options, name, i) && (options.clip.empty() || !named || name == options.clip)) out.push_back(i);
  }
  if (!options.clip.empty() && out.empty())
    document.refuse(
        fmt::format("no animation '{}'; there {}", options.clip, names.empty() ? "are none" : "are " + names));
  return out;
}

void read_animations(const Document& document, const ReadOptions& options, bool dense, Scene& scene) {
  for (const std::size_t i : choose_animations(document, options)) {
    const Json& object = document.at("animations", i);
    Animation animation;
    animation.index = i;
    animation.name = document.text(object, "name");
    std::size_t number = 0;
    for (const Json& channel : document.array(object, "channels", fmt::format("animation {}", i))) {
      const std::string where = fmt::format("animation {} '{}', channel {}", i, animation.name, number++);
      if (auto track = read_track(document, scene, object, channel, where, options))
        animation.tracks.push_back(std::move(*track));
    }
    if (animation.tracks.empty()) {
      if (options.warn)
        options.warn(fmt::format("{}: animation {} '{}' moves nothing", document.name(), i, animation.name));
      continue;
    }
    if (animation.name.empty()) animation.name = fmt::format("animation_{}", i);
    std::optional<std::vector<double>> noted;
    if (dense && options.frames_per_second == 0) noted = noted_frames(object);
    animation.frames = noted ? std::move(*noted) : frame_times(document, animation, options.frames_per_second, dense);
    scene.animations.push_back(std::move(animation));
  }
}

Eigen::Quaterniond quaternion(const std::vector<double>& v) {
  return {v[3], v[0], v[1], v[2]};
}

void hermite(const Track& track, std::size_t key, double s, double step, std::vector<double>& out) {
  const std::size_t w = track.width;
  const float* at = track.values.data() + key * 3 * w;  // in-tangent, value, out-tangent of this key, then the next
  const double s2 = s * s;
  const double s3 = s2 * s;
  for (std::size_t c = 0; c < w; ++c)
    out[c] = (2 * s3 - 3 * s2 + 1) * static_cast<double>(at[w + c]) +
             step * (s3 - 2 * s2 + s) * static_cast<double>(at[2 * w + c]) +
             (3 * s2 - 2 * s3) * static_cast<double>(at[4 * w + c]) +
             step * (s3 - s2) * static_cast<double>(at[3 * w + c]);
}

void apply(const Track& track, const std::vector<double>& v, Node& node) {
  switch (track.path) {
    case Path::translation:
      node.translation = {v[0], v[1], v[2]};
      break;
    case Path::rotation:
      if (quaternion(v).norm() > 1e-12) node.rotation = as_player_takes_it(quaternion(v));
      break;
    case Path::scale:
      node.scale = {v[0], v[1], v[2]};
      break;
    case Path::weights:
      node.weights = v;
      return;
  }
  node.has_matrix = false;
}

}  // namespace

void sample(const Track& track, double t, std::vector<double>& out) {
  const std::size_t w = track.width;
  const bool cubic = track.interpolation == Interpolation::cubic;
  const auto value = [&](std::size_t key, std::size_t c) {
    return static_cast<double>(track.values[cubic ? (key * 3 + 1) * w + c : key * w + c]);
  };
  out.resize(w);
  const auto next =
      static_cast<std::size_t>(std::upper_bound(track.times.begin(), track.times.end(), t,
                                                [](double a, float b) { return a < static_cast<double>(b); }) -
                               track.times.begin());
  const std::size_t key = next == 0 ? 0 : next - 1;
  for (std::size_t c = 0; c < w; ++c) out[c] = value(key, c);
  if (next == 0 || next == track.times.size() || track.interpolation == Interpolation::step) return;
  const double step = static_cast<double>(track.times[next]) - static_cast<double>(track.times[key]);
  const double s = (t - static_cast<double>(track.times[key])) / step;
  if (s == 0) return;
  if (cubic) return hermite(track, key, s, step, out);
  if (track.path != Path::rotation) {
    for (std::size_t c = 0; c < w; ++c) out[c] += s * (value(next, c) - out[c]);
    return;
  }
  const Eigen::Quaterniond from = quaternion(out);
  Eigen::Quaterniond to(value(next, 3), value(next, 0), value(next, 1), value(next, 2));
  if (from.coeffs() == to.coeffs()) return;
  if (from.dot(to) < 0) to.coeffs() = -to.coeffs();
  // Keys less than 2 degrees apart are blended straight, as players do; the difference is below float rounding.
  Eigen::Quaterniond q = from.slerp(s, to);
  if (from.dot(to) > 0.9995) q.coeffs() = (from.coeffs() + s * (to.coeffs() - from.coeffs())).normalized();
  out = {q.x(), q.y(), q.z(), q.w()};
}

Scene read_scene(const Document& document, const ReadOptions& options, bool dense) {
  if (!(options.frames_per_second >= 0) || !std::isfinite(options.frames_per_second))
    throw Error(ErrorKind::usage, fmt::format("{} frames per second, expected 0 or more", options.frames_per_second));
  Scene scene;
  for (std::size_t i = 0; i < document.size("nodes"); ++i) scene.nodes.push_back(read_node(document, i));
  std::vector<std::vector<std::size_t>> children;
  link_nodes(document, children, scene);
  list_visible(document, children, scene);
  read_animations(document, options, dense, scene);
  return scene;
}

ScenePose pose_at(const Scene& scene, const Animation* animation, double t) {
  std::vector<Node> nodes = scene.nodes;
  std::vector<double> values;
  if (animation != nullptr)
    for (const Track& track : animation->tracks) {
      sample(track, t, values);
      apply(track, values, nodes[track.node]);
    }
  ScenePose pose;
  pose.global.resize(nodes.size());
  pose.weights.resize(nodes.size());
  for (const std::size_t i : scene.order) {
    Node& node = nodes[i];
    Eigen::Affine3d local = node.matrix;
    if (!node.has_matrix) {
      local.linear() = node.rotation.toRotationMatrix() * node.scale.asDiagonal();
      local.translation() = node.translation;
    }
    pose.global[i] = node.parent < 0 ? local : pose.global[static_cast<std::size_t>(node.parent)] * local;
    pose.weights[i] = std::move(node.weights);
  }
  return pose;
}

}  // namespace sinew::gltf
