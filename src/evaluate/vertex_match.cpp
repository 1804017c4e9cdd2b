#include "sinew/evaluate/vertex_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/index.h"
#include "math/point_tree.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"

namespace sinew {
namespace {

constexpr std::size_t kCandidates = 12;      // per vertex
constexpr std::size_t kFramesLookedAt = 24;  // to tell candidates apart
constexpr double kTie = 3;                   // as near as this many typical distances: not told apart by place

[[noreturn]] void refuse(const Sequence& sequence, const std::string& sentence) {
  throw Error(ErrorKind::input, fmt::format("the rig is not one of {}: {}", sequence.name, sentence));
}

std::vector<bool> used_by_faces(const Mesh& mesh) {
  std::vector<bool> used(mesh.vertex_count(), mesh.face_count() == 0);
  for (const Index v : mesh.corners) used[v] = true;
  return used;
}

/// Posed positions of some frames.
std::vector<std::pair<Points, Points>> some_frames(const Rig& rig, const Sequence& sequence) {
  std::vector<std::pair<Points, Points>> out;
  const std::size_t frames = sequence.frame_count();
  const std::size_t step = std::max<std::size_t>(1, frames / kFramesLookedAt);
  for (std::size_t f = 0; f < frames; f += step) {
    Points posed(3, index(rig.vertex_count()));
    pose(rig, f, posed);
    out.emplace_back(std::move(posed), Points(sequence.frames[f]));
  }
  return out;
}

/// A vertex of the sequence and one of the rig that it may be.
struct Pair {
  double apart = 0;  // squared, over the frames
  Index wanted = 0;
  Index found = 0;
};

class Matcher {
 public:
  Matcher(const Rig& rig, const Sequence& sequence, double tolerance)
      : rig_(rig),
        sequence_(sequence),
        diagonal_(std::max(1e-30, bounding_box_diagonal(sequence.rest.positions))),
        tolerance_(tolerance * diagonal_),
        frames_(some_frames(rig, sequence)),
        tree_(rig.rest.positions) {}

  VertexMatch match() {
    find_typical_distance();
    std::vector<Pair> pairs = candidates();
    std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.apart < b.apart; });
    out_.of.assign(sequence_.vertex_count(), VertexMatch::kNone);
    std::vector<Index> taken(rig_.vertex_count(), VertexMatch::kNone);
    for (const Pair& pair : pairs)
      if (out_.of[pair.wanted] == VertexMatch::kNone && taken[pair.found] == VertexMatch::kNone) {
        out_.of[pair.wanted] = pair.found;
        taken[pair.found] = pair.wanted;
      }
    take_free(taken);
    share(taken);
    count_copies(taken);
    return out_;
  }

 private:
  double distance(Index wanted, Index found) const {
    return (sequence_.rest.positions.col(wanted) - rig_.rest.positions.col(found)).cast<double>().norm();
  }

  /// The median distance to the nearest vertex: how much the file was rounded.
  void find_typical_distance() {
    std::vector<double> distances;
    nearest_.resize(sequence_.vertex_count());
    for (Index v = 0; v < sequence_.vertex_count(); ++v) {
      nearest_[v] = tree_.nearest(sequence_.rest.positions.col(v), kCandidates);
      distances.push_back(distance(v, nearest_[v].front()));
    }
    const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
    std::nth_element(distances.begin(), middle, distances.end());
    tie_ = kTie * *middle + 1e-6 * diagonal_;
  }

  std::vector<Pair> candidates() {
    std::vector<Pair> out;
    const std::vector<bool> used = used_by_faces(sequence_.rest);
    for (Index v = 0; v < sequence_.vertex_count(); ++v) {
      const double least = distance(v, nearest_[v].front());
      if (least > tolerance_ && used[v])
        refuse(sequence_, fmt::format("vertex {} is {:.3g} % of the diagonal from the rig's nearest at rest", v,
                                      100 * least / diagonal_));
      if (least > tolerance_) continue;
      std::size_t near = 0;
      for (const Index found : nearest_[v]) {
        if (distance(v, found) > std::min(tolerance_, least + tie_)) continue;
        double apart = 0;
        for (const auto& [posed, expected] : frames_)
          apart += (expected.col(v) - posed.col(found)).cast<double>().squaredNorm();
        out.push_back({apart, v, found});
        ++near;
      }
      if (near > 1) ++out_.by_motion;
    }
    return out;
  }

  /// Vertices that are left take the next that is free.
  void take_free(std::vector<Index>& taken) {
    for (Index v = 0; v < sequence_.vertex_count(); ++v)
      for (const Index found : nearest_[v]) {
        if (out_.of[v] != VertexMatch::kNone || distance(v, found) > tolerance_) break;
        if (taken[found] != VertexMatch::kNone) continue;
        out_.of[v] = found;
        taken[found] = v;
      }
  }

  /// Vertices that are left share the partner of one at the same place: the file has them as one vertex.
  void share(std::vector<Index>& taken) {
    const std::vector<bool> used = used_by_faces(sequence_.rest);
    for (Index v = 0; v < sequence_.vertex_count(); ++v) {
      for (const Index found : nearest_[v]) {
        if (out_.of[v] != VertexMatch::kNone) break;
        const Index other = taken[found];
        if (other == VertexMatch::kNone || distance(v, found) > tolerance_) continue;
        const auto apart = sequence_.rest.positions.col(v) - sequence_.rest.positions.col(other);
        if (static_cast<double>(apart.norm()) <= 2 * tie_) out_.of[v] = found;
      }
      if (out_.of[v] == VertexMatch::kNone && used[v])
        refuse(sequence_, fmt::format("vertex {} has no partner of its own; the nearest belongs to vertex {}", v,
                                      taken[nearest_[v].front()]));
      if (out_.of[v] == VertexMatch::kNone)
        ++out_.missing;
      else
        out_.largest_percent = std::max(out_.largest_percent, 100 * distance(v, out_.of[v]) / diagonal_);
    }
  }

  /// Vertices of the rig that are left must be copies of one that is matched.
  void count_copies(const std::vector<Index>& taken) {
    const PointTree places(sequence_.rest.positions);
    for (Index v = 0; v < rig_.vertex_count(); ++v) {
      if (taken[v] != VertexMatch::kNone) continue;
      const Index near = places.nearest(rig_.rest.positions.col(v), 1).front();
      if (distance(near, v) > tolerance_)
        refuse(sequence_, fmt::format("vertex {} of the rig is {:.3g} % of the diagonal from every vertex at rest", v,
                                      100 * distance(near, v) / diagonal_));
      ++out_.copies;
    }
  }

  const Rig& rig_;
  const Sequence& sequence_;
  double diagonal_;
  double tolerance_;
  double tie_ = 0;
  std::vector<std::pair<Points, Points>> frames_;
  PointTree tree_;
  std::vector<std::vector<Index>> nearest_;  // candidates of each vertex
  VertexMatch out_;
};

template <class Values>
Values rows_of(const Values& values, std::size_t width, const std::vector<Index>& rows) {
  Values out;
  out.reserve(rows.size() * width);
  for (const Index row : rows)
    out.insert(out.end(), values.begin() + static_cast<std::ptrdiff_t>(row * width),
               values.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
  return out;
}

/// Vertices of the sequence that have a partner.
std::vector<Index> kept(const VertexMatch& match) {
  std::vector<Index> out;
  for (Index v = 0; v < match.of.size(); ++v)
    if (match.of[v] != VertexMatch::kNone) out.push_back(v);
  return out;
}

/// The positions and faces of a mesh without the vertices that have no partner; a mesh that has lost them keeps all.
Mesh part_of(const Mesh& mesh, const VertexMatch& match) {
  Mesh out;
  if (mesh.vertex_count() != match.of.size()) {
    out.positions = mesh.positions;
    out.face_sizes = mesh.face_sizes;
    out.corners = mesh.corners;
    return out;
  }
  const std::vector<Index> vertices = kept(match);
  out.positions = mesh.positions(Eigen::all, vertices);
  out.face_sizes = mesh.face_sizes;
  std::vector<Index> place(match.of.size(), 0);
  for (Index i = 0; i < vertices.size(); ++i) place[vertices[i]] = i;
  for (const Index corner : mesh.corners) out.corners.push_back(place[corner]);
  return out;
}

}  // namespace

VertexMatch match_vertices(const Rig& rig, const Sequence& sequence, double tolerance) {
  if (rig.frame_count() != sequence.frame_count())
    throw Error(
        ErrorKind::input,
        fmt::format("rig: {} frames, {} has {}; frames at a rate of your choice (--fps) can be compared where the "
                    "key times of another tool are not those of the input",
                    rig.frame_count(), sequence.name, sequence.frame_count()));
  if (rig.vertex_count() == 0 || sequence.vertex_count() == 0)
    throw Error(ErrorKind::input, "rig: no vertices to match");
  return Matcher(rig, sequence, tolerance).match();
}

bool same_vertices(const Rig& rig, const Sequence& sequence) {
  if (rig.vertex_count() != sequence.vertex_count()) return false;
  const std::vector<Index> a = triangles_of(rig.rest);
  return a.empty() || a == triangles_of(sequence.rest);
}

Rig in_order_of(const Rig& rig, const VertexMatch& match, const Sequence& sequence) {
  std::vector<Index> rows;
  for (const Index v : match.of)
    if (v != VertexMatch::kNone) rows.push_back(v);
  Rig out = rig;
  out.rest = part_of(sequence.rest, match);
  out.rest.positions = rig.rest.positions(Eigen::all, rows);
  const auto slots = static_cast<std::size_t>(rig.weights.influences);
  out.weights.bones = rows_of(rig.weights.bones, slots, rows);
  out.weights.values = rows_of(rig.weights.values, slots, rows);
  if (out.corrections) {
    for (Points& offsets : out.corrections->offsets) offsets = Points(offsets(Eigen::all, rows));
    for (Points& offsets : out.corrections->normal_offsets) offsets = Points(offsets(Eigen::all, rows));
  }
  if (out.two_layer) {
    BlendRows& blend = out.two_layer->coefficients;
    const auto width = static_cast<std::size_t>(blend.slots);
    blend.columns = rows_of(blend.columns, width, rows);
    blend.values = rows_of(blend.values, width, rows);
  }
  return out;
}

Sequence matched_part(const Sequence& sequence, const VertexMatch& match) {
  if (match.missing == 0) return sequence;
  Sequence out;
  out.name = sequence.name;
  out.times = sequence.times;
  out.clips = sequence.clips;
  out.rest = part_of(sequence.rest, match);
  const std::vector<Index> vertices = kept(match);
  out.frames = Frames(sequence.frame_count(), vertices.size());
  for (std::size_t f = 0; f < sequence.frame_count(); ++f) out.frames[f] = sequence.frames[f](Eigen::all, vertices);
  return out;
}

}  // namespace sinew
