#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "io/alembic/mesh.h"
#include "io/alembic/scene.h"
#include "io/frame_choice.h"
#include "io/scene/corner_values.h"
#include "sinew/core/error.h"
#include "sinew/io/alembic.h"

namespace sinew {
namespace {

using alembic::Archive;
using alembic::MeshSource;
using alembic::Moment;
using alembic::Node;
using alembic::Placement;
using alembic::Property;

/// Two times are the same moment when they are closer than this, or than this part of the smallest spacing.
constexpr double kTimeTolerance = 1e-6;  // seconds
constexpr double kTimeTolerancePart = 1e-3;

bool matches(const std::string& pattern, const Node& node) {
  const std::string& subject = pattern.find('/') == std::string::npos ? node.name : node.path;
  return pattern.empty() || fnmatch(pattern.c_str(), subject.c_str(), 0) == 0;
}

/// The meshes to read. Throws with the reason when there is none.
std::vector<MeshSource> select_meshes(const Archive& archive, const std::vector<Node>& nodes,
                                      const ReadOptions& options) {
  std::vector<MeshSource> meshes;
  std::size_t all = 0;
  std::size_t matching = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].is_mesh()) continue;
    ++all;
    if (!matches(options.mesh, nodes[i])) continue;
    ++matching;
    if (!nodes[i].shown) continue;
    MeshSource mesh = alembic::open_mesh(archive, nodes, static_cast<int>(i));
    if (mesh.points.empty()) {
      if (options.warn)
        options.warn(fmt::format("{}: {} has no points and is left out", archive.container().name(), nodes[i].path));
      continue;
    }
    meshes.push_back(std::move(mesh));
  }
  if (all == 0) archive.refuse(fmt::format("no mesh found among {} objects", nodes.size()));
  if (matching == 0) archive.refuse(fmt::format("none of {} meshes matches '{}'", all, options.mesh));
  if (meshes.empty()) archive.refuse(fmt::format("all of {} meshes are hidden or without points", matching));
  return meshes;
}

/// Sample times of a set of properties.
class Times {
 public:
  explicit Times(const Archive& archive) : archive_(archive) {}

  void add(const Property& property) {
    if (!seen_.insert({property.sampling, property.samples}).second) return;
    const alembic::TimeSampling& sampling = archive_.samplings()[property.sampling];
    archive_.container().charge(property.samples * sizeof(double));
    for (std::size_t i = 0; i < property.samples; ++i) {
      values_.push_back(sampling.time(i));
      if (i > 0) spacing_ = std::min(spacing_, values_.back() - values_[values_.size() - 2]);
    }
  }

  double spacing() const { return spacing_; }

  /// Sorted, those of one moment once, inside [first, last].
  std::vector<double> within(double first, double last, double tolerance) && {
    std::vector<double> out = std::move(values_);
    std::erase_if(out, [&](double time) { return time < first - tolerance || time > last + tolerance; });
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end(), [&](double a, double b) { return b - a <= tolerance; }), out.end());
    return out;
  }

 private:
  const Archive& archive_;
  std::set<std::pair<std::size_t, std::size_t>> seen_;
  std::vector<double> values_;
  double spacing_ = std::numeric_limits<double>::infinity();
};

/// When the frames of a sequence are.
struct Timeline {
  std::vector<double> times;  // strictly increasing
  double tolerance = 0;

  Moment at(std::size_t f) const { return {times[f], tolerance}; }
};

/// All sample times of the meshes inside the range that those which move have in common. A mesh with several point
/// samples lasts as long as they do; one with a single sample, as long as the transforms above it move.
Timeline make_timeline(const Archive& archive, Placement& placement, const std::vector<MeshSource>& meshes) {
  Times times(archive);
  double first = -std::numeric_limits<double>::infinity();
  double last = std::numeric_limits<double>::infinity();
  const auto span_of = [&](const Property& property) {
    const alembic::TimeSampling& sampling = archive.samplings()[property.sampling];
    return std::pair(sampling.time(0), sampling.time(property.samples - 1));
  };
  bool moves = false;
  for (const MeshSource& mesh : meshes) {
    const std::vector<const alembic::Xform*> above = placement.moving_above(mesh.index);
    const Property& points = mesh.points.property();
    std::pair<double, double> span = span_of(points);
    if (points.samples > 1) times.add(points);
    for (std::size_t i = 0; i < above.size(); ++i) {
      times.add(above[i]->values());
      if (points.samples > 1) continue;
      const std::pair<double, double> own = span_of(above[i]->values());
      span = i == 0 ? own : std::pair(std::min(span.first, own.first), std::max(span.second, own.second));
    }
    if (points.samples <= 1 && above.empty()) continue;
    moves = true;
    first = std::max(first, span.first);
    last = std::min(last, span.second);
  }
  Timeline timeline;
  timeline.tolerance = std::min(kTimeTolerance, kTimeTolerancePart * times.spacing());
  if (!moves) {
    timeline.times = {span_of(meshes.front().points.property()).first};
    return timeline;
  }
  if (first > last + timeline.tolerance)
    archive.refuse(fmt::format("the meshes share no time: one starts at {} s, another ends at {} s", first, last));
  timeline.times = std::move(times).within(first, last, timeline.tolerance);
  return timeline;
}

/// The moment whose pose, transforms and attributes become the rest mesh.
Moment rest_moment(const Archive& archive, const Timeline& timeline, const ReadOptions& options) {
  const std::size_t frame = rest_frame_number(options.rest).value_or(0);
  if (frame >= timeline.times.size())
    throw Error(ErrorKind::usage, fmt::format("{}: rest frame {}, there are {}", archive.container().name(), frame,
                                              timeline.times.size()));
  return timeline.at(frame);
}

void transform(const Eigen::Matrix4d& world, std::span<float> positions) {
  PointsMap points(positions.data(), 3, static_cast<Eigen::Index>(positions.size() / 3));
  const Eigen::Matrix3d A = world.topLeftCorner<3, 3>();
  const Eigen::Vector3d t = world.topRightCorner<3, 1>();
  for (Eigen::Index v = 0; v < points.cols(); ++v) {
    const Eigen::Vector3d p = points.col(v).cast<double>();
    points.col(v) = (A * p + t).cast<float>();
  }
}

/// Puts the points of one mesh at given moments where they belong.
class PointReader {
 public:
  PointReader(const Archive& archive, Placement& placement, const MeshSource& mesh, const Moment& rest)
      : archive_(&archive), placement_(&placement), mesh_(&mesh), rest_(rest) {}

  /// `out` is the mesh's part of a frame; it stays as it is until the next call, or forget().
  void read(const Moment& moment, std::span<float> out) {
    const Property& property = mesh_->points.property();
    const alembic::SamplePosition at =
        locate(archive_->samplings()[property.sampling], property.samples, moment.time, moment.tolerance);
    const Eigen::Matrix4d& world = placement_->world(mesh_->index, moment.time, moment.tolerance);
    const ogawa::Entry entry = mesh_->points.entry(at.sample);
    if (at.blend == 0 && entry == last_entry_ && world == last_world_ && last_.data() != nullptr) {
      std::ranges::copy(last_, out.begin());
    } else {
      load(at.sample, moment.tolerance, out);
      if (at.blend > 0) blend(at, moment.tolerance, out);
      if (!world.isIdentity(0)) transform(world, out);
      check_finite(at.sample, out);
    }
    last_ = at.blend == 0 ? out : std::span<float>{};
    last_entry_ = entry;
    last_world_ = world;
  }

  void forget() { last_ = {}; }

 private:
  void load(std::size_t sample, double tolerance, std::span<float> out) {
    const Property& property = mesh_->points.property();
    const std::size_t found = mesh_->points.items(sample);
    if (found != mesh_->vertices)
      archive_->refuse(fmt::format("{}: topology changes: sample {} has {} vertices, sample {} has {}",
                                   mesh_->node->path, sample, found, rest_.sample(*archive_, property),
                                   mesh_->vertices));
    const Moment now{archive_->samplings()[property.sampling].time(sample), tolerance};
    alembic::check_same_faces(*archive_, *mesh_, rest_, now);
    mesh_->points.read(sample, std::as_writable_bytes(out));
  }

  void blend(const alembic::SamplePosition& at, double tolerance, std::span<float> out) {
    next_.resize(out.size());
    load(at.sample + 1, tolerance, next_);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(out[i] + at.blend * (static_cast<double>(next_[i]) - out[i]));
  }

  void check_finite(std::size_t sample, std::span<const float> out) const {
    // All exponent bits set means not finite; gathered without a branch, so that the loop is vectorised.
    constexpr std::uint32_t kExponent = 0x7f800000;
    std::uint32_t odd = 0;
    for (const float value : out) odd |= (std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent ? 1 : 0;
    if (odd == 0) return;
    const auto bad = std::ranges::find_if(out, [](float value) { return !std::isfinite(value); });
    archive_->refuse(fmt::format("{}: sample {}, vertex {}: position is not finite", mesh_->node->path, sample,
                                 (bad - out.begin()) / 3));
  }

  const Archive* archive_;
  Placement* placement_;
  const MeshSource* mesh_;
  Moment rest_;
  std::span<float> last_;  // what the last call wrote, when it was a whole sample
  ogawa::Entry last_entry_;
  Eigen::Matrix4d last_world_ = Eigen::Matrix4d::Zero();
  std::vector<float> next_;
};

/// Gives every mesh its range of vertices; returns their sum.
std::size_t lay_out_vertices(const Archive& archive, const Moment& rest, const ReadOptions& options,
                             std::vector<MeshSource>& meshes) {
  std::size_t total = 0;
  for (MeshSource& mesh : meshes) mesh.vertices = mesh.points.items(rest.sample(archive, mesh.points.property()));
  std::erase_if(meshes, [&](const MeshSource& mesh) {
    if (mesh.vertices == 0 && options.warn)
      options.warn(fmt::format("{}: {} has no points and is left out", archive.container().name(), mesh.node->path));
    return mesh.vertices == 0;
  });
  if (meshes.empty()) archive.refuse("no mesh has points");
  for (MeshSource& mesh : meshes) {
    mesh.first_vertex = total;
    total += mesh.vertices;
  }
  if (total > std::numeric_limits<Index>::max())
    archive.refuse(fmt::format("{} vertices, at most {} are read", total, std::numeric_limits<Index>::max()));
  return total;
}

/// Names of pieces: of the objects, or their paths where names repeat.
void name_pieces(const std::vector<MeshSource>& meshes, Mesh& mesh) {
  std::map<std::string, int> uses;
  for (const MeshSource& source : meshes) ++uses[source.node->name];
  for (std::size_t i = 0; i < meshes.size(); ++i)
    mesh.pieces[i].name = uses[meshes[i].node->name] > 1 ? meshes[i].node->path.substr(1) : meshes[i].node->name;
}

Sequence read_archive(ogawa::Source source, const ReadOptions& options) {
  const Archive archive(std::move(source));
  const std::vector<Node> nodes = alembic::read_nodes(archive);
  std::vector<MeshSource> meshes = select_meshes(archive, nodes, options);
  Placement placement(archive, nodes);
  const Timeline timeline = make_timeline(archive, placement, meshes);
  const Moment rest = rest_moment(archive, timeline, options);
  const std::vector<std::size_t> kept = kept_frames(archive.container().name(), timeline.times.size(), options);
  const std::size_t vertices = lay_out_vertices(archive, rest, options, meshes);
  if (kept.size() > options.max_bytes / (12 * vertices))
    archive.refuse(fmt::format("{} frames of {} vertices are more than the limit of {} bytes; choose fewer frames",
                               kept.size(), vertices, options.max_bytes));

  Sequence sequence;
  sequence.name = std::filesystem::path(archive.container().name()).stem().string();
  std::vector<PointReader> readers;
  readers.reserve(meshes.size());
  for (const MeshSource& mesh : meshes) readers.emplace_back(archive, placement, mesh, rest);
  const auto read_frame = [&](const Moment& moment, float* frame) {
    for (std::size_t i = 0; i < meshes.size(); ++i)
      readers[i].read(moment, {frame + 3 * meshes[i].first_vertex, 3 * meshes[i].vertices});
  };
  sequence.rest.positions.resize(3, static_cast<Eigen::Index>(vertices));
  read_frame(rest, sequence.rest.positions.data());
  for (std::size_t i = 0; i < meshes.size(); ++i) {
    MeshSource& mesh = meshes[i];
    const Eigen::Matrix4d& world = placement.world(mesh.index, rest.time, rest.tolerance);
    const std::span<float> points(sequence.rest.positions.data() + 3 * mesh.first_vertex, 3 * mesh.vertices);
    if (!rest_frame_number(options.rest) && alembic::read_reference_pose(archive, mesh, rest, points)) {
      mesh.at_reference = true;
      if (!world.isIdentity(0)) transform(world, points);
      readers[i].forget();
    }
    append_mesh(archive, mesh, rest, world, options.warn, sequence.rest);
  }
  name_pieces(meshes, sequence.rest);
  complete_attributes(archive.container().name(), options.warn, sequence.rest);
  sequence.rest.check(archive.container().name());

  sequence.frames = Frames(kept.size(), vertices, options.paging);
  for (std::size_t f = 0; f < kept.size(); ++f) {
    read_frame(timeline.at(kept[f]), sequence.frames[f].data());
    sequence.times.push_back(timeline.times[kept[f]]);
  }
  return sequence;
}

}  // namespace

Sequence read_alembic(const std::filesystem::path& path, const ReadOptions& options) {
  return read_archive(ogawa::Source(path), options);
}

Sequence parse_alembic(std::span<const std::byte> bytes, const std::string& name, const ReadOptions& options) {
  return read_archive(ogawa::Source(name, bytes), options);
}

}  // namespace sinew
