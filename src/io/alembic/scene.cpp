#include "io/alembic/scene.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace sinew::alembic {
namespace {

enum class Visibility : std::int8_t { hidden = 0, visible = 1, deferred = -1 };

/// "AbcGeom_PolyMesh_v1" → "PolyMesh"
std::string type_of(const Metadata& metadata) {
  std::string_view schema = metadata["schema"];
  schema = schema.substr(0, schema.rfind("_v"));
  const std::size_t prefix = schema.find('_');
  return std::string(prefix == std::string_view::npos ? schema : schema.substr(prefix + 1));
}

bool is_instance(const Metadata& metadata) {
  return metadata["isInstance"] == "1";
}

/// Walks the tree of objects; follows instances to what they stand for.
class Walker {
 public:
  explicit Walker(const Archive& archive) : archive_(archive) {}

  std::vector<Node> walk() && {
    const Object top = archive_.open(archive_.top());
    for (const ObjectHeader& child : top.children) visit(child, child.path, kNoParent, 0);
    return std::move(nodes_);
  }

 private:
  /// Adds the object of `header`, seen at `path`, and all below it.
  void visit(const ObjectHeader& header, const std::string& path, int parent, std::size_t depth) {
    if (depth >= kMaxDepth)
      archive_.refuse(fmt::format("objects are nested more than {} deep at '{}': they form a cycle", kMaxDepth,
                                  path.substr(0, 80)));
    if (nodes_.size() >= kMaxObjects)
      archive_.refuse(fmt::format("more than {} objects; instances or shared blocks repeat without end", kMaxObjects));
    archive_.container().charge(sizeof(Node) + path.size());
    Node node;
    node.name = header.name;
    node.path = path;
    node.parent = parent;
    node.depth = static_cast<int>(depth);
    Object object = archive_.open(header);
    Metadata metadata = header.metadata;
    for (int hops = 0; is_instance(metadata); ++hops) {
      if (hops == kMaxHops) archive_.refuse(fmt::format("instance '{}' stands for itself", path));
      const ObjectHeader source = source_of(object, path);
      if (node.instance_of.empty()) node.instance_of = source.path;
      object = archive_.open(source);
      metadata = source.metadata;
    }
    node.type = type_of(metadata);
    node.properties = std::move(object.properties);
    node.shown = shown(node);
    const int index = static_cast<int>(nodes_.size());
    nodes_.push_back(std::move(node));
    for (const ObjectHeader& child : object.children) visit(child, path + "/" + child.name, index, depth + 1);
  }

  /// The object that an instance names.
  ObjectHeader source_of(const Object& instance, const std::string& path) const {
    const Property* property = find(instance.properties, ".instanceSource");
    if (property == nullptr) archive_.refuse(fmt::format("instance '{}' does not say what it stands for", path));
    const std::string source = archive_.samples(*property).text(0);
    ObjectHeader at = archive_.top();
    for (std::size_t begin = 1; begin < source.size();) {
      const std::size_t end = std::min(source.find('/', begin), source.size());
      const std::string name = source.substr(begin, end - begin);
      const Object object = archive_.open(at);
      const auto child = std::ranges::find(object.children, name, &ObjectHeader::name);
      if (child == object.children.end())
        archive_.refuse(fmt::format("instance '{}' stands for '{}', which does not exist", path, source));
      at = *child;
      begin = end + 1;
    }
    if (at.path.empty()) archive_.refuse(fmt::format("instance '{}' stands for nothing", path));
    return at;
  }

  /// An object is shown when some sample says so, or defers to a parent that is shown.
  bool shown(const Node& node) const {
    const bool parent_shown = node.parent == kNoParent || nodes_[static_cast<std::size_t>(node.parent)].shown;
    const Property* property = find(node.properties, "visible");
    if (property == nullptr || property->samples == 0 || !property->is(ElementType::int8, 1)) return parent_shown;
    const Samples samples = archive_.samples(*property);
    const std::size_t first = property->constant ? 0 : property->first_change - 1;
    for (std::size_t i = first; i <= property->last_change; ++i) {
      const std::vector<std::int8_t> value = samples.values<std::int8_t>(i);
      if (value.empty() || value[0] == static_cast<std::int8_t>(Visibility::hidden)) continue;
      if (value[0] == static_cast<std::int8_t>(Visibility::visible) || parent_shown) return true;
    }
    return false;
  }

  static constexpr int kMaxHops = 32;
  const Archive& archive_;
  std::vector<Node> nodes_;
};

/// Operations of an Xform and how many channels each has.
enum class Operation { scale, translate, rotate, matrix, rotate_x, rotate_y, rotate_z };
constexpr std::array<std::size_t, 7> kChannels{3, 3, 4, 16, 1, 1, 1};

Eigen::Matrix4d operation_matrix(Operation operation, const double* channels) {
  const Eigen::Map<const Eigen::Vector3d> xyz(channels);
  const auto radians = [](double degrees) { return degrees * (std::numbers::pi / 180); };
  const auto rotation = [](double angle, const Eigen::Vector3d& axis) {
    Eigen::Matrix4d out = Eigen::Matrix4d::Identity();
    if (axis.squaredNorm() > 0) out.topLeftCorner<3, 3>() = Eigen::AngleAxisd(angle, axis.normalized()).matrix();
    return out;
  };
  Eigen::Matrix4d out = Eigen::Matrix4d::Identity();
  switch (operation) {
    case Operation::scale:
      out.diagonal().head<3>() = xyz;
      return out;
    case Operation::translate:
      out.topRightCorner<3, 1>() = xyz;
      return out;
    case Operation::rotate:
      return rotation(radians(channels[3]), xyz);
    case Operation::matrix:
      // Row-major for row vectors is column-major for column vectors.
      return Eigen::Map<const Eigen::Matrix4d>(channels);
    case Operation::rotate_x:
      return rotation(radians(channels[0]), Eigen::Vector3d::UnitX());
    case Operation::rotate_y:
      return rotation(radians(channels[0]), Eigen::Vector3d::UnitY());
    case Operation::rotate_z:
      return rotation(radians(channels[0]), Eigen::Vector3d::UnitZ());
  }
  return out;
}

}  // namespace

std::vector<Node> read_nodes(const Archive& archive) {
  return Walker(archive).walk();
}

SamplePosition locate(const TimeSampling& sampling, std::size_t samples, double time, double tolerance) {
  // The last sample at or before the time.
  std::size_t low = 0;
  std::size_t high = samples;
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (sampling.time(middle) <= time ? low : high) = middle;
  }
  if (low + 1 >= samples) return {low, 0};
  const double before = sampling.time(low);
  const double after = sampling.time(low + 1);
  if (time - before <= tolerance) return {low, 0};
  if (after - time <= tolerance) return {low + 1, 0};
  return {low, (time - before) / (after - before)};
}

Xform::Xform(const Archive& archive, const Node& node) : archive_(&archive), path_(node.path) {
  const Properties properties = archive.open(node.properties, ".xform");
  const Property* operations = find(properties, ".ops");
  const Property* values = find(properties, ".vals");
  if (const Property* inherits = find(properties, ".inherits");
      inherits != nullptr && inherits->samples > 0 && inherits->is(ElementType::boolean, 1)) {
    inherits_ = archive.samples(*inherits);
    if (inherits->constant) always_inherits_ = read_inherits(0);
  }
  if (operations == nullptr || values == nullptr || operations->samples == 0 || values->samples == 0) return;

  if (operations->type != ElementType::uint8 || values->type != ElementType::float64)
    archive.refuse(fmt::format("{}: operations or values of an unexpected type", path_));
  if (!operations->constant) archive.refuse(fmt::format("{}: the operations of the transform change", path_));
  operations_ = archive.samples(*operations).values<std::uint8_t>(0);
  for (std::uint8_t& operation : operations_) {
    operation = operation >> 4;  // the low bits are hints for editors
    if (operation >= kChannels.size())
      archive.refuse(fmt::format("{}: unknown transform operation {}", path_, operation));
    channel_count_ += kChannels[operation];
  }
  values_ = archive.samples(*values);
  moves_ = !values->constant;
}

const std::vector<double>& Xform::channels(std::size_t sample, std::size_t slot) {
  Cached& cached = cache_[slot];
  const ogawa::Entry entry = values_.entry(sample);
  if (cached.entry == entry) return cached.channels;
  cached.channels = values_.values<double>(sample);
  cached.entry = entry;
  if (cached.channels.size() != channel_count_)
    archive_->refuse(fmt::format("{}: sample {} of the transform has {} values, its operations take {}", path_, sample,
                                 cached.channels.size(), channel_count_));
  if (!std::ranges::all_of(cached.channels, [](double value) { return std::isfinite(value); }))
    archive_->refuse(fmt::format("{}: sample {} of the transform holds a number that is not finite", path_, sample));
  return cached.channels;
}

Eigen::Matrix4d Xform::local(double time, double tolerance) {
  Eigen::Matrix4d matrix = Eigen::Matrix4d::Identity();
  if (operations_.empty()) return matrix;
  const Property& property = values_.property();
  const SamplePosition at = locate(archive_->samplings()[property.sampling], property.samples, time, tolerance);
  std::vector<double> values = channels(at.sample, 0);
  if (at.blend > 0) {
    const std::vector<double>& next = channels(at.sample + 1, 1);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += at.blend * (next[i] - values[i]);
  }
  const double* channel = values.data();
  for (const std::uint8_t operation : operations_) {
    matrix = matrix * operation_matrix(static_cast<Operation>(operation), channel);
    channel += kChannels[operation];
  }
  return matrix;
}

bool Xform::read_inherits(std::size_t sample) const {
  const std::vector<std::uint8_t> value = inherits_.values<std::uint8_t>(sample);
  return value.empty() || value[0] != 0;
}

bool Xform::inherits(double time, double tolerance) const {
  if (inherits_.empty()) return true;
  if (always_inherits_) return *always_inherits_;
  const Property& property = inherits_.property();
  return read_inherits(locate(archive_->samplings()[property.sampling], property.samples, time, tolerance).sample);
}

Xform* Placement::xform(int node) {
  const Node& object = (*nodes_)[static_cast<std::size_t>(node)];
  if (object.type != "Xform") return nullptr;
  std::optional<Xform>& xform = places_[static_cast<std::size_t>(node)].xform;
  if (!xform) xform.emplace(*archive_, object);
  return &*xform;
}

std::vector<const Xform*> Placement::moving_above(int node) {
  std::vector<const Xform*> out;
  for (int at = node; at != kNoParent; at = (*nodes_)[static_cast<std::size_t>(at)].parent)
    if (const Xform* found = xform(at); found != nullptr && found->moves()) out.push_back(found);
  return out;
}

const Eigen::Matrix4d& Placement::world(int node, double time, double tolerance) {
  Place& place = places_[static_cast<std::size_t>(node)];
  if (place.time == time) return place.world;
  const int parent = (*nodes_)[static_cast<std::size_t>(node)].parent;
  place.world.setIdentity();
  Xform* own = xform(node);
  if (parent != kNoParent && (own == nullptr || own->inherits(time, tolerance)))
    place.world = world(parent, time, tolerance);
  if (own != nullptr) place.world = place.world * own->local(time, tolerance);
  place.time = time;
  return place.world;
}

}  // namespace sinew::alembic
