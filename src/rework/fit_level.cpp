#include "rework/fit_level.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "core/index.h"
#include "math/decompositions.h"
#include "math/parallel.h"
#include "math/simplex.h"
#include "math/surface_tree.h"
#include "rework/surface.h"
#include "sinew/core/error.h"

/// Samples s of the rig's surface lie at x_s(f) with normals n_s(f) and areas a_s. Each belongs to the point of a
/// triangle of the level that is nearest at rest, with shares β of its corners. Corner k lies at
/// x_k(f) = M_k(f) (p_k + u_k(f)), M_k = Σ_b w_kb T_b. To be small is
///   E = Σ_f φ_f Σ_s a_s ((n_s(f) · r)² + α |r|²), r = Σ_k β_k x_k(f) − x_s(f),
/// vertex by vertex: in p_k it is a quadric, in w_k a least squares problem over convex rows.
namespace sinew {
namespace {

constexpr int kRounds = 3;        // new places of the samples
constexpr int kSweeps = 3;        // over the vertices in each
constexpr double kAnchor = 0.02;  // pull to where a vertex came from, against what its samples say
constexpr float kAlong = 0.03F;   // what being off along the surface counts, against being off it
constexpr double kFaces = 0.2;    // cosine of the angle by which a triangle may turn, and between sample and triangle

using Blend = Eigen::Matrix<float, 3, 4>;

/// Where a sample belongs: three slots, one per corner of a triangle. None: triangle kNone.
struct Seat {
  std::size_t triangle = 0;
  std::array<float, 3> shares{};
};
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// Vertices and middles of triangles: with these areas they integrate quadratic functions exactly.
struct Samples {
  std::vector<double> area;
  std::vector<Index> owner;  // a vertex of the level nearby
  Eigen::Matrix3Xd rest, rest_normal;
  std::vector<Eigen::Matrix3Xf> point;  // per frame
  std::vector<Eigen::Matrix3Xf> normal;
};

Eigen::Matrix3Xd posed_points(const Rig& rig, std::ptrdiff_t frame) {
  Points out = rig.rest.positions;
  if (frame >= 0) pose(rig, static_cast<std::size_t>(frame), out);
  return out.cast<double>();
}

/// Vertices, then triangles.
void sample(const Eigen::Matrix3Xd& x, const std::vector<Index>& triangles, Eigen::Matrix3Xd& points,
            Eigen::Matrix3Xd& normals) {
  const Eigen::Index V = x.cols();
  points.resize(3, V + index(triangles.size() / 3));
  normals.resize(3, points.cols());
  points.leftCols(V) = x;
  normals.leftCols(V) = unit_normals(x, triangles);
  for (std::size_t t = 0; t < triangles.size(); t += 3) {
    const Eigen::Vector3d a = x.col(triangles[t]), b = x.col(triangles[t + 1]), c = x.col(triangles[t + 2]);
    points.col(V + index(t / 3)) = (a + b + c) / 3;
    const Eigen::Vector3d cross = (b - a).cross(c - a);
    normals.col(V + index(t / 3)) = cross.norm() > 0 ? Eigen::Vector3d(cross.normalized()) : Eigen::Vector3d::Zero();
  }
}

Samples samples_of(const Rig& rig, const std::vector<Index>& owner, const ChosenFrames& frames, int threads) {
  const std::vector<Index> triangles = triangles_of(rig.rest);
  Samples out;
  sample(rig.rest.positions.cast<double>(), triangles, out.rest, out.rest_normal);
  out.owner = owner;
  out.area.assign(owner.size(), 0);
  for (std::size_t t = 0; t < triangles.size(); t += 3) {
    const Eigen::Vector3d a = out.rest.col(triangles[t]);
    const double area = Eigen::Vector3d(out.rest.col(triangles[t + 1]) - a)
                            .cross(Eigen::Vector3d(out.rest.col(triangles[t + 2]) - a))
                            .norm() /
                        2;
    for (std::size_t i = 0; i < 3; ++i) out.area[triangles[t + i]] += area / 12;
    out.area.push_back(0.75 * area);
    out.owner.push_back(owner[triangles[t]]);
  }
  out.point.resize(frames.numbers.size());
  out.normal.resize(frames.numbers.size());
  parallel_for(frames.numbers.size(), 1, threads, [&](std::size_t begin, std::size_t end) {
    Eigen::Matrix3Xd points;
    Eigen::Matrix3Xd normals;
    for (std::size_t f = begin; f < end; ++f) {
      sample(posed_points(rig, frames.numbers[f]), triangles, points, normals);
      out.point[f] = points.cast<float>();
      out.normal[f] = normals.cast<float>();
    }
  });
  return out;
}

class LevelFit {
 public:
  LevelFit(const Samples& samples, const ChosenFrames& frames, int threads, Rig& level);
  void run(const Progress& progress);

 private:
  const Affine& bone(std::size_t f, Index b) const {
    return frames_.numbers[f] < 0 ? still_ : level_.motion(static_cast<std::size_t>(frames_.numbers[f]), b);
  }
  void hold_borders();
  void seat();
  void move(Index k);
  void shift(Index k);
  float farthest(Index k) const;
  bool place(Index k, const Eigen::Vector3d& p, const float* weights);
  Blend blend(Index k, std::size_t f, const float* weights) const;
  Eigen::Vector3f offset(Index k, std::size_t f) const;
  Eigen::Vector3f residual(std::size_t s, std::size_t f) const;
  Eigen::Vector3f cross(Index triangle, std::size_t f) const;

  const Samples& samples_;
  const ChosenFrames& frames_;
  int threads_;
  Rig& level_;
  Affine still_ = Motion::identity();
  std::vector<Index> triangles_;            // of the level
  std::vector<std::vector<Index>> around_;  // its vertices' triangles
  std::vector<bool> held_;
  Eigen::Matrix3Xd origin_;              // where its vertices were
  std::vector<Blend> blend_;             // vertices × frames
  std::vector<Eigen::Vector3f> offset_;  // the same; empty without corrections
  std::vector<Eigen::Vector3f> at_;      // the same: x_k(f)
  std::vector<Eigen::Vector3f> facing_;  // triangles × frames: area vectors before
  std::vector<float> limit_;             // of its vertices: farthest() when the samples got their places
  SimplexWorkspace workspace_;
  std::vector<Seat> seat_;
  std::vector<std::vector<std::pair<Index, int>>> seated_;  // of its vertices: samples, and which corner it is
};

LevelFit::LevelFit(const Samples& samples, const ChosenFrames& frames, int threads, Rig& level)
    : samples_(samples),
      frames_(frames),
      threads_(threads),
      level_(level),
      triangles_(triangles_of(level.rest)),
      around_(level.vertex_count()),
      held_(level.vertex_count(), false),
      origin_(level.rest.positions.cast<double>()) {
  const std::size_t F = frames.numbers.size();
  for (std::size_t c = 0; c < triangles_.size(); ++c) around_[triangles_[c]].push_back(static_cast<Index>(c / 3));
  blend_.resize(level.vertex_count() * F);
  at_.resize(blend_.size());
  const auto slots = at(level.weights.influences);
  if (level.corrections) offset_.assign(blend_.size(), Eigen::Vector3f::Zero());
  for (Index k = 0; k < level.vertex_count(); ++k)
    for (std::size_t f = 0; f < F; ++f) {
      if (level.corrections && frames.numbers[f] >= 0)
        for (std::size_t r = 0; r < level.corrections->rank(); ++r)
          offset_[k * F + f] +=
              level.corrections->coefficients(frames.numbers[f], index(r)) * level.corrections->offsets[r].col(k);
      blend_[k * F + f] = blend(k, f, level.weights.values.data() + k * slots);
      at_[k * F + f] = blend_[k * F + f] * (level.rest.positions.col(k) + offset(k, f)).homogeneous();
    }
  facing_.resize(triangles_.size() / 3 * F);
  for (Index t = 0; t < triangles_.size() / 3; ++t)
    for (std::size_t f = 0; f < F; ++f) facing_[t * F + f] = cross(t, f);
  hold_borders();
}

Eigen::Vector3f LevelFit::offset(Index k, std::size_t f) const {
  return offset_.empty() ? Eigen::Vector3f(Eigen::Vector3f::Zero()) : offset_[k * frames_.numbers.size() + f];
}

Blend LevelFit::blend(Index k, std::size_t f, const float* weights) const {
  const auto slots = at(level_.weights.influences);
  Blend out = Blend::Zero();
  for (std::size_t i = 0; i < slots && weights[i] > 0; ++i)
    out += weights[i] * bone(f, level_.weights.bones[k * slots + i]);
  return out;
}

Eigen::Vector3f LevelFit::cross(Index triangle, std::size_t f) const {
  const std::size_t F = frames_.numbers.size();
  const Index* const v = triangles_.data() + 3 * std::size_t{triangle};
  return (at_[v[1] * F + f] - at_[v[0] * F + f]).cross(at_[v[2] * F + f] - at_[v[0] * F + f]);
}

/// Vertices of edges that two triangles do not share stay.
void LevelFit::hold_borders() {
  std::map<std::pair<Index, Index>, int> count;
  for (std::size_t c = 0; c < triangles_.size(); ++c)
    ++count[std::minmax(triangles_[c], triangles_[c % 3 == 2 ? c - 2 : c + 1])];
  for (const auto& [edge, times] : count)
    if (times != 2) held_[edge.first] = held_[edge.second] = true;
}

/// Gives every sample its place on the triangles around the vertex it came to and that vertex's neighbours.
void LevelFit::seat() {
  const Points& p = level_.rest.positions;
  seat_.assign(samples_.area.size(), Seat{kNone, {}});
  parallel_for(seat_.size(), 256, threads_, [&](std::size_t begin, std::size_t end) {
    std::vector<Index> near;
    for (std::size_t s = begin; s < end; ++s) {
      near.clear();
      if (samples_.owner[s] >= around_.size()) continue;
      for (const Index t : around_[samples_.owner[s]])
        for (std::size_t i = 0; i < 3; ++i) {
          const std::vector<Index>& more = around_[triangles_[3 * std::size_t{t} + i]];
          near.insert(near.end(), more.begin(), more.end());
        }
      std::sort(near.begin(), near.end());
      near.erase(std::unique(near.begin(), near.end()), near.end());
      double least = std::numeric_limits<double>::infinity();
      for (const Index t : near) {
        Eigen::Matrix3d corners;
        for (std::size_t i = 0; i < 3; ++i)
          corners.col(index(i)) = p.col(triangles_[3 * std::size_t{t} + i]).cast<double>();
        const Eigen::Vector3d normal =
            Eigen::Vector3d(corners.col(1) - corners.col(0)).cross(Eigen::Vector3d(corners.col(2) - corners.col(0)));
        if (!(normal.dot(samples_.rest_normal.col(index(s))) > kFaces * normal.norm())) continue;
        const Eigen::Vector3d on = nearest_on(corners, samples_.rest.col(index(s)));
        const double away = (on - samples_.rest.col(index(s))).squaredNorm();
        if (!(away < least)) continue;
        least = away;
        const Eigen::Vector3d shares = shares_on(corners, on);
        seat_[s] = {t, {static_cast<float>(shares[0]), static_cast<float>(shares[1]), static_cast<float>(shares[2])}};
      }
    }
  });
  seated_.assign(level_.vertex_count(), {});
  for (std::size_t s = 0; s < seat_.size(); ++s)
    for (std::size_t i = 0; seat_[s].triangle != kNone && i < 3; ++i)
      if (seat_[s].shares[i] > 0)
        seated_[triangles_[3 * seat_[s].triangle + i]].emplace_back(static_cast<Index>(s), static_cast<int>(i));
  limit_.resize(level_.vertex_count());
  for (Index k = 0; k < limit_.size(); ++k) limit_[k] = farthest(k);
}

/// By how much the place of a sample misses it.
Eigen::Vector3f LevelFit::residual(std::size_t s, std::size_t f) const {
  const std::size_t F = frames_.numbers.size();
  Eigen::Vector3f sum = -samples_.point[f].col(index(s));
  for (std::size_t i = 0; i < 3; ++i) sum += seat_[s].shares[i] * at_[triangles_[3 * seat_[s].triangle + i] * F + f];
  return sum;
}

/// The most by which a sample that a vertex has a share in is missed, squared.
float LevelFit::farthest(Index k) const {
  float most = 0;
  for (const auto& [s, corner] : seated_[k])
    for (std::size_t f = 0; f < frames_.numbers.size(); ++f) most = std::max(most, residual(s, f).squaredNorm());
  return most;
}

/// Puts a vertex there unless a triangle around it turned too far in some frame, or a sample were missed by more than
/// any was before.
bool LevelFit::place(Index k, const Eigen::Vector3d& p, const float* weights) {
  const std::size_t F = frames_.numbers.size();
  const auto slots = at(level_.weights.influences);
  const auto first = blend_.begin() + index(k * F);
  const std::vector<Blend> blends(first, first + index(F));
  const std::vector<Eigen::Vector3f> before(at_.begin() + index(k * F), at_.begin() + index((k + 1) * F));
  for (std::size_t f = 0; f < F; ++f) {
    if (weights != level_.weights.values.data() + k * slots) blend_[k * F + f] = blend(k, f, weights);
    at_[k * F + f] = blend_[k * F + f] * (p.cast<float>() + offset(k, f)).homogeneous();
  }
  bool good = true;
  for (std::size_t f = 0; good && f < F; ++f)
    for (const Index t : around_[k]) {
      const Eigen::Vector3f& was = facing_[t * F + f];
      const Eigen::Vector3f now = cross(t, f);
      good = good && now.dot(was) >= static_cast<float>(kFaces) * now.norm() * was.norm();
    }
  good = good && farthest(k) <= limit_[k];
  if (!good) {
    std::copy(blends.begin(), blends.end(), first);
    std::copy(before.begin(), before.end(), at_.begin() + index(k * F));
    return false;
  }
  level_.rest.positions.col(k) = p.cast<float>();
  std::copy_n(weights, slots, level_.weights.values.begin() + index(k * slots));
  return true;
}

void LevelFit::move(Index k) {
  const std::size_t F = frames_.numbers.size();
  Eigen::Matrix3d A = Eigen::Matrix3d::Zero();
  Eigen::Vector3d b = Eigen::Vector3d::Zero();
  for (std::size_t f = 0; f < F; ++f) {
    const Eigen::Matrix3f turn = blend_[k * F + f].leftCols<3>().transpose();
    Eigen::Matrix3f part = Eigen::Matrix3f::Zero();  // in the frame
    Eigen::Vector3f right = Eigen::Vector3f::Zero();
    for (const auto& [s, corner] : seated_[k]) {
      const float share = seat_[s].shares[static_cast<std::size_t>(corner)];
      const Eigen::Vector3f n = samples_.normal[f].col(s);
      const Eigen::Vector3f missed = residual(s, f);
      const float area = share * static_cast<float>(samples_.area[s]);
      part.noalias() += area * share * n * n.transpose();
      part.diagonal().array() += area * share * kAlong;
      right += area * (n.dot(missed) * n + kAlong * missed);
    }
    A += frames_.weights[f] * (turn * part * turn.transpose()).cast<double>();
    b += frames_.weights[f] * (turn * right).cast<double>();
  }
  const double stay = kAnchor * A.trace() / 3;
  if (!(stay > 0)) return;
  const Eigen::Vector3d p = level_.rest.positions.col(k).cast<double>();
  A.diagonal().array() += stay;
  const Eigen::Vector3d step = solve_definite(A, Eigen::Vector3d(stay * (origin_.col(k) - p) - b));
  const float* const weights = level_.weights.values.data() + k * at(level_.weights.influences);
  if (step.allFinite() && !place(k, p + step, weights)) place(k, p + 0.5 * step, weights);
}

void LevelFit::shift(Index k) {
  const std::size_t F = frames_.numbers.size();
  const auto slots = at(level_.weights.influences);
  float* const row = level_.weights.values.data() + k * slots;
  const auto n = static_cast<int>(std::find(row, row + slots, 0.0F) - row);
  if (n < 2) return;
  Eigen::MatrixXd G = Eigen::MatrixXd::Zero(n, n);
  Eigen::VectorXd g = Eigen::VectorXd::Zero(n);
  Eigen::VectorXd w(n);
  for (int i = 0; i < n; ++i) w[i] = static_cast<double>(row[i]);
  Eigen::Matrix3Xf places(3, n);
  Eigen::VectorXf c(n);
  for (std::size_t f = 0; f < F; ++f) {
    const auto p = (level_.rest.positions.col(k) + offset(k, f)).homogeneous().eval();
    for (int i = 0; i < n; ++i) places.col(i) = bone(f, level_.weights.bones[k * slots + at(i)]) * p;
    places.colwise() -= at_[k * F + f];  // rows sum to one: what places have in common does not matter
    Eigen::MatrixXf part = Eigen::MatrixXf::Zero(n, n);
    Eigen::VectorXf right = Eigen::VectorXf::Zero(n);
    float squares = 0;
    for (const auto& [s, corner] : seated_[k]) {
      const float share = seat_[s].shares[static_cast<std::size_t>(corner)];
      const Eigen::Vector3f normal = samples_.normal[f].col(s);
      const Eigen::Vector3f missed = residual(s, f);
      const float area = share * static_cast<float>(samples_.area[s]);
      c.noalias() = places.transpose() * normal;
      part.noalias() += area * share * c * c.transpose();
      right.noalias() -= area * (normal.dot(missed) * c + kAlong * (places.transpose() * missed));
      squares += area * share;
    }
    part.noalias() += kAlong * squares * (places.transpose() * places);
    G += frames_.weights[f] * part.cast<double>();
    g += frames_.weights[f] * right.cast<double>();
  }
  const double stay = kAnchor * G.trace() / n;
  if (!(stay > 0)) return;
  G.diagonal().array() += stay;
  g += stay * w;
  simplex_least_squares(G, g, w, workspace_);
  std::vector<float> next(slots, 0);
  for (int i = 0; i < n; ++i) next[at(i)] = static_cast<float>(w[i]);
  place(k, level_.rest.positions.col(k).cast<double>(), next.data());
}

void LevelFit::run(const Progress& progress) {
  for (int round = 0; round < kRounds; ++round) {
    seat();
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      if (!tell(progress, "fitting", static_cast<double>(kSweeps * round + sweep) / (kSweeps * kRounds)))
        throw Error(ErrorKind::interrupted, "lod: stopped");
      for (Index k = 0; k < level_.vertex_count(); ++k) {
        if (held_[k]) continue;
        move(k);
        shift(k);
      }
    }
  }
}

}  // namespace

void fit_level(const Rig& rig, const std::vector<Index>& owner, const ChosenFrames& frames, int threads, Rig& level,
               const Progress& progress) {
  const Samples samples = samples_of(rig, owner, frames, threads);
  LevelFit(samples, frames, threads, level).run(progress);
  level.weights =
      pack_weights(unpack_weights(level.weights, level.bone_count()).cast<double>(), level.weights.influences);
}

}  // namespace sinew
