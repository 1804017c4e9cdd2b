#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>

#include "core/index.h"
#include "math/decompositions.h"
#include "math/parallel.h"
#include "rework/animated_quadric.h"
#include "rework/chosen_frames.h"
#include "rework/collapse_mesh.h"
#include "rework/fit_level.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"
#include "sinew/refine/reduce_weights.h"
#include "sinew/rework/lod.h"

/// p rest position, M(f) = Σ w_b T(f, b) blend of the bones, u(f) = Σ c_r(f) o_r correction, x(f) = M(f) (p + u(f)).
/// Lengths are divided by the rest diagonal, and every frame is moved to the origin.
///
/// Along an edge weights, corrections and shapes go straight from one end to the other: M and u do too. With both ends'
/// quadrics the cost of a vertex at p with M, u of a place on the edge is a quadric of p, for all frames at once.
namespace sinew {
namespace {

using Blend = Eigen::Matrix<float, 3, 4>;

constexpr double kLine = 4;     // planes that hold borders and seams, against those of triangles
constexpr double kStay = 1e-5;  // a pull to the place between, where planes leave it open
constexpr double kTurn = 0.2;   // cosine of the angle by which a triangle may turn in one step
constexpr double kUv = 0.05;    // what a texture's width is worth, in diagonals
constexpr double kColour = 0.02;
constexpr double kNormal = 0.02;
constexpr std::array<double, 3> kPlaces{0.5, 0.0, 1.0};  // on the edge, from what goes to what stays

/// What a vertex has beside its place: what M and u are made of, kept until the end.
struct Baggage {
  std::vector<std::pair<Index, double>> weights;  // bones, ascending
  Eigen::Matrix3Xd offsets;                       // 3×(R + S): corrections and shapes

  void blend(const Baggage& other, double share) {
    std::vector<std::pair<Index, double>> all;
    auto a = weights.begin();
    auto b = other.weights.begin();
    while (a != weights.end() || b != other.weights.end()) {
      const bool first = b == other.weights.end() || (a != weights.end() && a->first <= b->first);
      const bool second = a == weights.end() || (b != other.weights.end() && b->first <= a->first);
      const double w = (first ? (1 - share) * a->second : 0) + (second ? share * b->second : 0);
      if (w > 0) all.emplace_back(first ? a->first : b->first, w);
      if (first) ++a;
      if (second) ++b;
    }
    weights = std::move(all);
    offsets = (1 - share) * offsets + share * other.offsets;
  }
};

/// A place for what remains of an edge.
struct Place {
  double cost = std::numeric_limits<double>::infinity();
  double area = 0;   // of the surface around both ends, summed over the frames
  double share = 1;  // 0 at the vertex that goes, 1 at the one that stays
  Eigen::Vector3d at = Eigen::Vector3d::Zero();
};

struct Candidate {
  double cost = 0;
  Index a = 0, b = 0;
  std::uint32_t version_a = 0, version_b = 0;

  bool operator<(const Candidate& other) const {  // the cheapest is on top; ties go by number
    return std::tie(cost, a, b) > std::tie(other.cost, other.a, other.b);
  }
};

class Simplifier {
 public:
  Simplifier(const Rig& rig, const LodOptions& options, const ChosenFrames& frames);

  std::size_t triangles() const { return mesh_.alive(); }
  double worst() const { return worst_; }
  /// Collapses edges while there are more triangles than this and costs are within the limit.
  void run(std::size_t target, double limit, const Progress& progress);
  /// The level as it is, and the vertex of it that each vertex of the rig went into.
  Rig result(std::vector<Index>& owner) const;

 private:
  Eigen::Vector3d posed(Index v, std::size_t f) const {
    return posed(position_[v], blend_.data() + v * frames_, offset_.data() + v * frames_, f);
  }
  static Eigen::Vector3d posed(const Eigen::Vector3d& p, const Blend* blend, const Vector3* offset, std::size_t f) {
    return (blend[f].leftCols<3>() * (p.cast<float>() + offset[f]) + blend[f].col(3)).cast<double>();
  }
  void read_vertices(const Rig& rig, const ChosenFrames& frames);
  void read_values();
  void add_quadrics();
  void add_value_quadrics();
  Place place_of(const CollapseMesh::Collapse& collapse) const;
  Place place_at(const CollapseMesh::Collapse& collapse, double share) const;
  bool turns_over(const CollapseMesh::Collapse& collapse, const Place& place) const;
  void apply(const CollapseMesh::Collapse& collapse, const Place& place);
  void push(Index a, Index b);
  std::optional<Candidate> candidate(Index a, Index b) const;

  const Rig& rig_;
  const LodOptions& options_;
  CollapseMesh mesh_;
  std::size_t frames_ = 0;
  double diagonal_ = 1;
  Eigen::Vector3d middle_ = Eigen::Vector3d::Zero();
  std::vector<double> frame_weight_;  // F', sum 1

  std::vector<Eigen::Vector3d> position_;
  std::vector<Blend> blend_;      // V×F'
  std::vector<Vector3> offset_;   // V×F'
  std::vector<Quadric> quadric_;  // V×F'
  std::vector<double> area_;      // V: of the triangles around, over the frames by their weights
  std::vector<Baggage> baggage_;
  std::vector<Index> parent_;  // V: itself, or the vertex that it went into
  std::vector<std::uint32_t> version_;

  Eigen::VectorXd scale_;                    // n: λ of each value
  std::vector<Eigen::VectorXd> value_;       // per wedge
  std::vector<ValueQuadric> value_quadric_;  // per wedge
  std::priority_queue<Candidate> queue_;
  double worst_ = 0;  // largest sqrt(cost / area) so far
};

Simplifier::Simplifier(const Rig& rig, const LodOptions& options, const ChosenFrames& frames)
    : rig_(rig), options_(options), mesh_(rig.rest), frames_(frames.weights.size()), frame_weight_(frames.weights) {
  diagonal_ = std::max(bounding_box_diagonal(rig.rest.positions), 1e-30);
  read_vertices(rig, frames);
  read_values();
  add_quadrics();
  add_value_quadrics();
  std::vector<std::pair<Index, Index>> edges;
  for (Index v = 0; v < rig.vertex_count(); ++v)
    for (const Index u : mesh_.neighbours(v))
      if (v < u) edges.emplace_back(v, u);
  std::vector<std::optional<Candidate>> found(edges.size());
  parallel_for(edges.size(), 256, options.threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t e = begin; e < end; ++e) found[e] = candidate(edges[e].first, edges[e].second);
  });
  for (const auto& entry : found)
    if (entry) queue_.push(*entry);
}

void Simplifier::read_vertices(const Rig& rig, const ChosenFrames& frames) {
  const std::size_t V = rig.vertex_count();
  middle_ = rig.rest.positions.cast<double>().rowwise().mean();
  position_.resize(V);
  blend_.resize(V * frames_);
  offset_.assign(V * frames_, Vector3::Zero());
  baggage_.resize(V);
  parent_.resize(V);
  std::iota(parent_.begin(), parent_.end(), Index{0});
  version_.assign(V, 0);
  const std::size_t rank = rig.corrections ? rig.corrections->rank() : 0;
  const auto slots = at(rig.weights.influences);
  for (std::size_t v = 0; v < V; ++v) {
    position_[v] = (rig.rest.positions.col(index(v)).cast<double>() - middle_) / diagonal_;
    Baggage& baggage = baggage_[v];
    for (std::size_t k = v * slots; k < (v + 1) * slots; ++k)
      if (rig.weights.values[k] > 0)
        baggage.weights.emplace_back(rig.weights.bones[k], static_cast<double>(rig.weights.values[k]));
    std::sort(baggage.weights.begin(), baggage.weights.end());
    baggage.offsets.resize(3, index(rank + rig.rest.shapes.size()));
    for (std::size_t r = 0; r < rank; ++r)
      baggage.offsets.col(index(r)) = rig.corrections->offsets[r].col(index(v)).cast<double>();
    for (std::size_t s = 0; s < rig.rest.shapes.size(); ++s)
      baggage.offsets.col(index(rank + s)) = rig.rest.shapes[s].offsets.col(index(v)).cast<double>();
    for (std::size_t f = 0; f < frames_; ++f) {
      Eigen::Matrix<double, 3, 4> sum = Eigen::Matrix<double, 3, 4>::Zero();
      const std::ptrdiff_t frame = frames.numbers[f];
      for (const auto& [b, w] : baggage.weights)
        sum += w * (frame < 0 ? Motion::identity() : rig.motion(static_cast<std::size_t>(frame), b)).cast<double>();
      // From coordinates about the middle, in diagonals, to the same about the frame's own middle.
      sum.col(3) = (sum.leftCols<3>() * middle_ + sum.col(3) - frames.middles[f]) / diagonal_;
      blend_[v * frames_ + f] = sum.cast<float>();
      for (std::size_t r = 0; r < rank && frame >= 0; ++r)
        offset_[v * frames_ + f] += rig.corrections->coefficients(frame, index(r)) / static_cast<float>(diagonal_) *
                                    rig.corrections->offsets[r].col(index(v));
    }
  }
}

void Simplifier::read_values() {
  const Mesh& mesh = rig_.rest;
  std::vector<double> scale;
  const auto add = [&](const auto& attribute, int width, double worth) {
    if (!attribute.empty()) scale.insert(scale.end(), at(width), worth * worth * options_.attributes);
  };
  add(mesh.normals, 3, kNormal);
  for (const auto& set : mesh.uv_sets) add(set, 2, kUv);
  for (const auto& set : mesh.color_sets) add(set, 4, kColour);
  scale_ = Eigen::Map<const Eigen::VectorXd>(scale.data(), index(scale.size()));
  value_.resize(mesh_.wedge_count(), Eigen::VectorXd(scale_.size()));
  for (std::size_t w = 0; w < value_.size(); ++w) {
    Eigen::Index next = 0;
    const auto read = [&](const auto& attribute, int width) {
      if (attribute.empty()) return;
      const float* from =
          attribute.values.data() + at(width) * attribute.indices[mesh_.corner_of(static_cast<Index>(w))];
      for (int i = 0; i < width; ++i) value_[w][next++] = static_cast<double>(from[i]);
    };
    read(mesh.normals, 3);
    for (const auto& set : mesh.uv_sets) read(set, 2);
    for (const auto& set : mesh.color_sets) read(set, 4);
  }
}

void Simplifier::add_quadrics() {
  quadric_.resize(position_.size() * frames_);
  area_.assign(position_.size(), 0);
  for (const CollapseMesh::Triangle& triangle : mesh_.triangles())
    for (std::size_t f = 0; f < frames_; ++f) {
      std::array<Eigen::Vector3d, 3> x;
      for (std::size_t k = 0; k < 3; ++k) x[k] = posed(triangle.vertex[k], f);
      const Eigen::Vector3d cross = (x[1] - x[0]).cross(x[2] - x[0]);
      const double length = cross.norm();
      if (!(length > 0)) continue;
      const Eigen::Vector3d normal = cross / length;
      const double weight = frame_weight_[f] * length / 6;
      for (std::size_t k = 0; k < 3; ++k) {
        quadric_[triangle.vertex[k] * frames_ + f].add_plane(normal, x[0], weight);
        area_[triangle.vertex[k]] += weight;
        const Index a = triangle.vertex[k];
        const Index b = triangle.vertex[(k + 1) % 3];
        if (!mesh_.on_line(a, b)) continue;
        const Eigen::Vector3d along = x[(k + 1) % 3] - x[k];
        const Eigen::Vector3d wall = along.cross(normal).normalized();
        const double held = kLine * frame_weight_[f] * along.squaredNorm() / 6;
        quadric_[a * frames_ + f].add_plane(wall, x[k], held);
        quadric_[b * frames_ + f].add_plane(wall, x[k], held);
      }
    }
}

void Simplifier::add_value_quadrics() {
  value_quadric_.assign(mesh_.wedge_count(), ValueQuadric(scale_.size()));
  if (scale_.size() == 0) return;
  for (const CollapseMesh::Triangle& triangle : mesh_.triangles()) {
    const Eigen::Vector3d p = position_[triangle.vertex[0]];
    Eigen::Matrix3d frame;  // rows: two edges and the normal
    frame.row(0) = position_[triangle.vertex[1]] - p;
    frame.row(1) = position_[triangle.vertex[2]] - p;
    const Eigen::Vector3d cross = frame.row(0).transpose().cross(Eigen::Vector3d(frame.row(1)));
    const double twice = cross.norm();
    if (!(twice > 1e-14)) continue;
    frame.row(2) = cross / twice;
    Eigen::MatrixXd steps = Eigen::MatrixXd::Zero(3, scale_.size());
    steps.row(0) = value_[triangle.wedge[1]] - value_[triangle.wedge[0]];
    steps.row(1) = value_[triangle.wedge[2]] - value_[triangle.wedge[0]];
    Eigen::Matrix4Xd g(4, scale_.size());
    g.topRows<3>() = frame.inverse() * steps;
    g.row(3) = value_[triangle.wedge[0]].transpose() - p.transpose() * g.topRows<3>();
    if (!g.allFinite()) continue;
    ValueQuadric part(scale_.size());
    part.area = twice / 6;
    part.sum = part.area * g;
    part.square = part.area * g * scale_.asDiagonal() * g.transpose();
    for (const Index wedge : triangle.wedge) value_quadric_[wedge] += part;
  }
}

/// The best place with weights at `share` of the edge; that of the vertex that stays where it may not move.
Place Simplifier::place_at(const CollapseMesh::Collapse& collapse, double share) const {
  const auto [gone, kept] = std::pair{collapse.gone, collapse.kept};
  const Eigen::Vector3d between = (1 - share) * position_[gone] + share * position_[kept];
  const auto part = static_cast<float>(share);
  Quadric sum;
  for (std::size_t f = 0; f < frames_; ++f) {
    const std::size_t g = gone * frames_ + f;
    const std::size_t k = kept * frames_ + f;
    const Blend blend = (1 - part) * blend_[g] + part * blend_[k];
    const Vector3 offset = (1 - part) * offset_[g] + part * offset_[k];
    const Eigen::Matrix3d L = blend.leftCols<3>().cast<double>();
    const Eigen::Vector3d y = (blend.leftCols<3>() * offset + blend.col(3)).cast<double>();
    const Eigen::Matrix3d A = quadric_[g].A + quadric_[k].A;
    const Eigen::Vector3d b = quadric_[g].b + quadric_[k].b;
    const Eigen::Vector3d slope = A * y + b;
    sum.A.noalias() += L.transpose() * A * L;
    sum.b.noalias() += L.transpose() * slope;
    sum.c += y.dot(slope) + y.dot(b) + quadric_[g].c + quadric_[k].c;
  }
  Place out{0, area_[gone] + area_[kept], share, between};
  Quadric all = sum;
  for (const auto& [from, to] : collapse.wedges) {
    if (scale_.size() == 0) break;
    ValueQuadric values = value_quadric_[from];
    values += value_quadric_[to];
    if (collapse.slides)
      all += values.open(scale_);
    else
      all.c += values.cost(position_[kept], value_[to], scale_);
  }
  if (collapse.slides) {
    const double stay = kStay * (all.A.trace() + 1e-30);
    const Eigen::Matrix3d system = all.A + stay * Eigen::Matrix3d::Identity();
    const Eigen::Vector3d best = solve_definite(system, Eigen::Vector3d(stay * between - all.b));
    const double reach = (position_[gone] - position_[kept]).norm();
    if (best.allFinite() && (best - between).norm() <= reach) out.at = best;
  }
  out.cost = std::max(0.0, all(out.at));
  return out;
}

Place Simplifier::place_of(const CollapseMesh::Collapse& collapse) const {
  if (!collapse.slides) return place_at(collapse, 1);
  Place best;
  for (const double share : kPlaces)
    if (const Place place = place_at(collapse, share); place.cost < best.cost) best = place;
  return best;
}

/// Whether a triangle that remains would turn too far in some frame.
bool Simplifier::turns_over(const CollapseMesh::Collapse& collapse, const Place& place) const {
  const auto part = static_cast<float>(place.share);
  for (std::size_t f = 0; f < frames_; ++f) {
    const std::size_t g = collapse.gone * frames_ + f;
    const std::size_t k = collapse.kept * frames_ + f;
    const Blend blend = (1 - part) * blend_[g] + part * blend_[k];
    const Vector3 offset = (1 - part) * offset_[g] + part * offset_[k];
    const Eigen::Vector3d to = posed(place.at, &blend, &offset, 0);
    for (const auto& [moving, other] : {std::pair{collapse.gone, collapse.kept}, {collapse.kept, collapse.gone}})
      for (const Index t : mesh_.around(moving)) {
        const auto& v = mesh_.triangles()[t].vertex;
        if (std::find(v.begin(), v.end(), other) != v.end()) continue;
        std::array<Eigen::Vector3d, 3> x;
        for (std::size_t i = 0; i < 3; ++i) x[i] = posed(v[i], f);
        const Eigen::Vector3d before = (x[1] - x[0]).cross(x[2] - x[0]);
        for (std::size_t i = 0; i < 3; ++i)
          if (v[i] == moving) x[i] = to;
        const Eigen::Vector3d after = (x[1] - x[0]).cross(x[2] - x[0]);
        if (before.dot(after) < kTurn * before.norm() * after.norm()) return true;
      }
  }
  return false;
}

std::optional<Candidate> Simplifier::candidate(Index a, Index b) const {
  const auto collapse = mesh_.collapse_of(a, b);
  if (!collapse) return std::nullopt;
  return Candidate{place_of(*collapse).cost, std::min(a, b), std::max(a, b), version_[std::min(a, b)],
                   version_[std::max(a, b)]};
}

void Simplifier::push(Index a, Index b) {
  if (const auto entry = candidate(a, b)) queue_.push(*entry);
}

void Simplifier::apply(const CollapseMesh::Collapse& collapse, const Place& place) {
  const auto [gone, kept] = std::pair{collapse.gone, collapse.kept};
  const auto part = static_cast<float>(place.share);
  for (std::size_t f = 0; f < frames_; ++f) {
    const std::size_t g = gone * frames_ + f;
    const std::size_t k = kept * frames_ + f;
    quadric_[k] += quadric_[g];
    blend_[k] = (1 - part) * blend_[g] + part * blend_[k];
    offset_[k] = (1 - part) * offset_[g] + part * offset_[k];
  }
  area_[kept] += area_[gone];
  baggage_[kept].blend(baggage_[gone], 1 - place.share);
  baggage_[gone] = {};
  parent_[gone] = kept;
  position_[kept] = place.at;
  for (const auto& [from, to] : collapse.wedges) {
    value_quadric_[to] += value_quadric_[from];
    if (collapse.slides && scale_.size() > 0) value_[to] = value_quadric_[to].best(place.at);
  }
  mesh_.apply(collapse);
  ++version_[gone];
  ++version_[kept];
  worst_ = std::max(worst_, std::sqrt(place.cost / std::max(place.area, 1e-300)));
  for (const Index u : mesh_.neighbours(kept)) push(kept, u);
}

void Simplifier::run(std::size_t target, double limit, const Progress& progress) {
  const std::size_t before = mesh_.alive();
  std::vector<Candidate> late;  // too dear for now: a later level may take them
  std::size_t steps = 0;
  while (mesh_.alive() > target && !queue_.empty()) {
    const Candidate next = queue_.top();
    queue_.pop();
    if (version_[next.a] != next.version_a || version_[next.b] != next.version_b) continue;
    const auto collapse = mesh_.collapse_of(next.a, next.b);
    if (!collapse) continue;
    const Place place = place_of(*collapse);
    if (place.cost > next.cost * (1 + 1e-9) + 1e-300) {  // what surrounds it changed
      queue_.push({place.cost, next.a, next.b, next.version_a, next.version_b});
      continue;
    }
    if (std::sqrt(place.cost / std::max(place.area, 1e-300)) > limit) {
      late.push_back(next);
      continue;
    }
    if (turns_over(*collapse, place)) continue;
    apply(*collapse, place);
    if (++steps % 256 == 0 &&
        !tell(progress, "simplifying",
              static_cast<double>(before - mesh_.alive()) / static_cast<double>(before - std::min(before, target) + 1)))
      throw Error(ErrorKind::interrupted, "lod: stopped");
  }
  for (const Candidate& entry : late) queue_.push(entry);
}

/// Writes the values of the wedges in use back as corner attributes.
template <int N>
CornerAttribute<N> corner_values(const CornerAttribute<N>& from, const std::vector<Index>& wedges,
                                 const std::vector<Eigen::VectorXd>& values, Eigen::Index& first) {
  CornerAttribute<N> out{from.name, {}, {}};
  if (from.empty()) return out;
  std::vector<std::int64_t> number(values.size(), -1);
  for (const Index wedge : wedges) {
    if (number[wedge] < 0) {
      number[wedge] = static_cast<std::int64_t>(out.values.size()) / N;
      Eigen::VectorXd value = values[wedge].segment<N>(first);
      if (N == 3) value = value.norm() > 0 ? Eigen::VectorXd(value.normalized()) : Eigen::VectorXd::Unit(N, 2);
      if (N == 4) value = value.cwiseMax(0).cwiseMin(1);
      for (int i = 0; i < N; ++i) out.values.push_back(static_cast<float>(value[i]));
    }
    out.indices.push_back(static_cast<Index>(number[wedge]));
  }
  first += N;
  return out;
}

Rig Simplifier::result(std::vector<Index>& owner) const {
  Rig out = rig_;
  const Mesh& from = rig_.rest;
  Mesh& to = out.rest;
  std::vector<std::int64_t> number(position_.size(), -1);
  std::vector<Index> kept;
  for (Index v = 0; v < position_.size(); ++v)
    if (!mesh_.around(v).empty()) {
      number[v] = static_cast<std::int64_t>(kept.size());
      kept.push_back(v);
    }
  owner.resize(position_.size());
  for (Index v = 0; v < position_.size(); ++v) {
    Index last = v;
    while (parent_[last] != last) last = parent_[last];
    owner[v] = static_cast<Index>(number[last]);
  }
  to.face_sizes.clear();
  to.corners.clear();
  to.face_materials.clear();
  std::vector<Index> wedges;
  std::vector<Index> faces;  // of the rig, per triangle
  for (std::size_t t = 0; t < mesh_.triangles().size(); ++t) {
    const CollapseMesh::Triangle& triangle = mesh_.triangles()[t];
    if (!triangle.alive) continue;
    for (std::size_t k = 0; k < 3; ++k) {
      to.corners.push_back(static_cast<Index>(number[triangle.vertex[k]]));
      wedges.push_back(triangle.wedge[k]);
    }
    to.face_sizes.push_back(3);
    faces.push_back(mesh_.face_of(t));
    if (!from.face_materials.empty()) to.face_materials.push_back(from.face_materials[faces.back()]);
  }
  for (std::size_t i = 0; i < from.pieces.size(); ++i) {
    const Piece& piece = from.pieces[i];
    const auto below = [](const std::vector<Index>& list, Index limit) {
      return static_cast<Index>(std::lower_bound(list.begin(), list.end(), limit) - list.begin());
    };
    Piece& now = to.pieces[i];
    now.first_vertex = below(kept, piece.first_vertex);
    now.vertices = below(kept, piece.first_vertex + piece.vertices) - now.first_vertex;
    now.first_face = below(faces, piece.first_face);
    now.faces = below(faces, piece.first_face + piece.faces) - now.first_face;
  }
  Eigen::Index first = 0;
  to.normals = corner_values(from.normals, wedges, value_, first);
  for (auto& set : to.uv_sets) set = corner_values(set, wedges, value_, first);
  for (auto& set : to.color_sets) set = corner_values(set, wedges, value_, first);

  const auto count = index(kept.size());
  const auto rank = index(rig_.corrections ? rig_.corrections->rank() : 0);
  to.positions.resize(3, count);
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> weights =
      Eigen::MatrixXd::Zero(count, index(rig_.bone_count()));
  if (out.corrections) {
    out.corrections->normal_offsets.clear();
    for (Points& offset : out.corrections->offsets) offset.resize(3, count);
  }
  for (Shape& shape : to.shapes) {
    shape.offsets.resize(3, count);
    shape.normal_offsets.resize(3, 0);
  }
  for (Eigen::Index i = 0; i < count; ++i) {
    const Index v = kept[static_cast<std::size_t>(i)];
    to.positions.col(i) = (diagonal_ * position_[v] + middle_).cast<float>();
    for (const auto& [b, w] : baggage_[v].weights) weights(i, b) = w;
    for (Eigen::Index r = 0; r < rank; ++r)
      out.corrections->offsets[static_cast<std::size_t>(r)].col(i) = baggage_[v].offsets.col(r).cast<float>();
    for (std::size_t s = 0; s < to.shapes.size(); ++s)
      to.shapes[s].offsets.col(i) = baggage_[v].offsets.col(rank + index(s)).cast<float>();
  }
  out.two_layer.reset();
  out.weights = pack_weights(weights);
  const int most = std::max(1, used_influences(rig_.weights));
  if (used_influences(out.weights) > most) {
    ReduceOptions reduce;
    reduce.influences = most;
    reduce.threads = options_.threads;
    out.weights = reduce_weights(out, nullptr, reduce);
  }
  return out;
}

void check_options(const LodOptions& options) {
  if (!(options.ratio > 0 && options.ratio <= 1))
    throw Error(ErrorKind::usage, fmt::format("lod: a ratio of {}, expected 0 to 1", options.ratio));
  if (options.levels < 1 || options.levels > 16)
    throw Error(ErrorKind::usage, fmt::format("lod: {} levels, expected 1 to 16", options.levels));
  if (!(options.max_error >= 0) || !(options.attributes >= 0) || options.frames < 0)
    throw Error(ErrorKind::usage, "lod: errors, frames and the share of attributes are not negative");
}

}  // namespace

std::vector<LodLevel> simplify(const Rig& rig, const LodOptions& options, LodReport& report, const Progress& progress) {
  check_options(options);
  rig.check();
  if (rig.rest.face_count() == 0) throw Error(ErrorKind::input, "lod: the rig's mesh has no faces");
  const ChosenFrames frames = choose_frames(rig, options.frames);
  report = {};
  for (const std::ptrdiff_t f : frames.numbers)
    if (f >= 0) report.frames.push_back(static_cast<std::size_t>(f));
  Simplifier simplifier(rig, options, frames);
  report.triangles = simplifier.triangles();
  auto target = static_cast<double>(options.triangles);
  const bool by_error = options.triangles == 0 && options.max_error > 0;
  if (options.triangles == 0) target = options.ratio * static_cast<double>(report.triangles);
  double limit = options.max_error > 0 ? options.max_error / 100 : std::numeric_limits<double>::infinity();
  std::vector<LodLevel> out;
  for (int level = 0; level < options.levels; ++level) {
    simplifier.run(by_error ? 0 : static_cast<std::size_t>(std::ceil(target)), limit, progress);
    std::vector<Index> owner;
    Rig made = simplifier.result(owner);
    if (options.fit) fit_level(rig, owner, frames, options.threads, made, progress);
    out.push_back({std::move(made), simplifier.triangles(), 100 * simplifier.worst()});
    target /= 2;
    limit *= 2;
  }
  return out;
}

}  // namespace sinew
