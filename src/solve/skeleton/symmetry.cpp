#include "solve/skeleton/symmetry.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "core/index.h"
#include "sinew/core/error.h"
#include "solve/skeleton/moves.h"
#include "solve/skeleton/strict.h"

namespace sinew::skeleton {
namespace {

constexpr double kOnPlane = 0.03;  // of the mesh's radius: a bone whose middle is nearer is its own mirror image
constexpr int kSettleRounds = 12;  // before the two halves are compared

/// Which bones mirror which, and on which side of the plane they are.
struct Sides {
  std::vector<int> partner;  // B; the bone whose weights are most like the mirrored ones, -1 where that is not mutual
  std::vector<int> side;     // B; -1, 0 on the plane, 1
  int root = 0;              // the bone on the plane nearest the middle
};

/// How alike the weights of bone a are to the mirrored ones of bone b, 0 to 1.
Eigen::MatrixXd likeness(const SparseWeights& w, const std::vector<MirrorImage>& image, int bones) {
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(bones, bones);
  Eigen::VectorXd square = Eigen::VectorXd::Constant(bones, 1e-30);
  for (std::size_t v = 0; v < w.vertex_count(); ++v) {
    const std::size_t m = image[v].point[0];
    for (std::size_t k = w.slot(v); k < w.slot(v) + w.count[v]; ++k) {
      square[w.bone[k]] += static_cast<double>(w.value[k]) * static_cast<double>(w.value[k]);
      for (std::size_t j = w.slot(m); j < w.slot(m) + w.count[m]; ++j)
        out(w.bone[k], w.bone[j]) += static_cast<double>(w.value[k]) * static_cast<double>(w.value[j]);
    }
  }
  const Eigen::VectorXd scale = square.cwiseSqrt().cwiseInverse();
  return scale.asDiagonal() * (out + out.transpose()) * scale.asDiagonal() / 2;
}

Sides sides_of(const SkeletonFit& fit, const MirrorPlane& plane, const std::vector<MirrorImage>& image) {
  const int B = fit.state.bones();
  const Eigen::MatrixXd alike = likeness(fit.state.weights, image, B);
  const Eigen::Matrix3Xd centroid = bone_centroids(fit.state, *fit.problem);
  std::vector<int> nearest(at(B));
  for (int b = 0; b < B; ++b) alike.row(b).maxCoeff(&nearest[at(b)]);
  Sides out{std::vector<int>(at(B), -1), std::vector<int>(at(B), 0), 0};
  Eigen::VectorXd height(B);
  for (int b = 0; b < B; ++b) {
    height[b] = plane.normal.dot(centroid.col(b)) - plane.offset;
    if (nearest[at(nearest[at(b)])] == b) out.partner[at(b)] = nearest[at(b)];
  }
  for (int b = 0; b < B; ++b) {
    const int p = out.partner[at(b)];
    if (p == b || (p < 0 && std::abs(height[b]) < kOnPlane)) continue;
    const double lean = p >= 0 ? height[b] - height[p] : height[b];
    out.side[at(b)] = lean > 0 || (lean == 0 && b > p) ? 1 : -1;
  }
  // A symmetric tree needs a bone on the plane to hang from.
  const Eigen::Vector3d middle = fit.problem->rest().rowwise().mean();
  double best = std::numeric_limits<double>::infinity();
  const bool any = std::find(out.side.begin(), out.side.end(), 0) != out.side.end();
  for (int b = 0; b < B; ++b) {
    const double away = any ? (centroid.col(b) - middle).norm() : std::abs(height[b]);
    if ((any && out.side[at(b)] != 0) || away >= best) continue;
    best = away;
    out.root = b;
  }
  if (const int p = out.partner[at(out.root)]; !any && p >= 0) out.side[at(p)] = -out.side[at(out.root)];
  out.side[at(out.root)] = 0;
  return out;
}

/// Bones of one half and the plane that stay, the most needed where there may not be more than `most` in the end.
std::vector<bool> kept_bones(const SkeletonFit& fit, const Sides& sides, int side, int most) {
  const int B = fit.state.bones();
  std::vector<bool> kept(at(B), false);
  int count = 0;
  for (int b = 0; b < B; ++b) {
    kept[at(b)] = sides.side[at(b)] == 0 || sides.side[at(b)] == side;
    if (kept[at(b)]) count += sides.side[at(b)] == 0 ? 1 : 2;
  }
  const std::vector<double> costs =
      removal_costs(*fit.problem, bone_gram(*fit.problem, fit.state.D), fit.state.weights);
  while (most > 0 && count > most && count > 1) {
    int cheapest = -1;
    for (int b = 0; b < B; ++b)
      if (kept[at(b)] && b != sides.root && (cheapest < 0 || costs[at(b)] < costs[at(cheapest)])) cheapest = b;
    kept[at(cheapest)] = false;
    count -= sides.side[at(cheapest)] == 0 ? 1 : 2;
  }
  return kept;
}

/// A symmetric skeleton under construction: bone id[b] is old bone b, partner[id[b]] its mirror image.
struct Half {
  std::vector<int> id;       // old bones; -1 where it does not stay
  std::vector<int> heir;     // old bones; the new bone that gets its weight on the kept side
  std::vector<int> partner;  // new bones
};

Half number_bones(const Sides& sides, const std::vector<bool>& kept, const std::vector<int>& parent) {
  const auto B = static_cast<int>(kept.size());
  Half out{std::vector<int>(at(B), -1), std::vector<int>(at(B), -1), {}};
  for (int b = 0; b < B; ++b) {
    if (!kept[at(b)]) continue;
    const auto n = static_cast<int>(out.partner.size());
    out.id[at(b)] = n;
    if (sides.side[at(b)] == 0) {
      out.partner.push_back(n);
    } else {
      out.partner.push_back(n + 1);
      out.partner.push_back(n);
    }
  }
  for (int b = 0; b < B; ++b) {
    const int p = sides.partner[at(b)];
    int heir = b;
    if (!kept[at(b)] && p >= 0 && kept[at(p)]) {
      out.heir[at(b)] = out.partner[at(out.id[at(p)])];
      continue;
    }
    while (!kept[at(heir)]) heir = parent[at(heir)];
    out.heir[at(b)] = out.id[at(heir)];
  }
  return out;
}

/// Weights of the kept side, and their mirror image on the other; on the plane the mean of both.
SparseWeights mirrored_weights(const SkeletonFit& fit, const MirrorPlane& plane, const std::vector<MirrorImage>& image,
                               const Half& half, int side) {
  const SparseWeights& w = fit.state.weights;
  SparseWeights out(w.vertex_count(), w.capacity);
  std::vector<double> share(half.partner.size());
  for (std::size_t v = 0; v < w.vertex_count(); ++v) {
    const double height =
        side * (plane.normal.dot(fit.problem->rest().col(static_cast<Eigen::Index>(v))) - plane.offset);
    std::fill(share.begin(), share.end(), 0);
    const auto add = [&](std::size_t from, bool mirrored) {
      for (std::size_t k = w.slot(from); k < w.slot(from) + w.count[from]; ++k) {
        const int b = half.heir[w.bone[k]];
        share[at(mirrored ? half.partner[at(b)] : b)] += static_cast<double>(w.value[k]);
      }
    };
    if (height > -1e-3) add(v, false);
    if (height < 1e-3) add(image[v].point[0], true);
    std::vector<int> order;
    for (std::size_t b = 0; b < share.size(); ++b)
      if (share[b] > 0) order.push_back(static_cast<int>(b));
    std::stable_sort(order.begin(), order.end(), [&](int x, int y) { return share[at(x)] > share[at(y)]; });
    order.resize(std::min(order.size(), static_cast<std::size_t>(w.capacity)));
    double sum = 0;
    for (const int b : order) sum += share[at(b)];
    out.count[v] = static_cast<std::uint16_t>(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) {
      out.bone[out.slot(v) + k] = static_cast<std::uint16_t>(order[k]);
      out.value[out.slot(v) + k] = static_cast<float>(share[at(order[k])] / sum);
    }
  }
  return out;
}

/// Motions of the kept bones and their mirror images: what bone b does in the mirrored frame, mirrored.
Eigen::MatrixXd mirrored_motion(const SkeletonFit& fit, const MirrorPlane& plane, const Half& half) {
  const Eigen::MatrixXd& common = fit.problem->common();
  const Eigen::Index rows = common.rows();
  Eigen::Matrix4d mirror = Eigen::Matrix4d::Identity();
  mirror.topLeftCorner<3, 3>() -= 2 * plane.normal * plane.normal.transpose();
  mirror.topRightCorner<3, 1>() = 2 * plane.offset * plane.normal;
  Eigen::MatrixXd out(rows, 4 * static_cast<Eigen::Index>(half.partner.size()));
  for (int b = 0; b < fit.state.bones(); ++b) {
    const int n = half.id[at(b)];
    if (n < 0) continue;
    const Eigen::MatrixXd T = fit.state.D.middleCols<4>(4 * b) + common;
    if (const int m = half.partner[at(n)]; m != n)
      for (Eigen::Index f = 0; f < rows; f += 3) {
        Eigen::Matrix4d whole = Eigen::Matrix4d::Identity();
        whole.topRows<3>() = T.middleRows<3>((f + rows / 2) % rows);
        out.block<3, 4>(f, 4 * m) = (mirror * whole * mirror).topRows<3>() - common.middleRows<3>(f);
      }
    out.middleCols<4>(4 * n) = fit.state.D.middleCols<4>(4 * b);
  }
  return out;
}

/// Edges between the kept bones, each with its mirror image. A bone whose parent does not stay hangs from the next
/// above; one on the plane from the next above that is on it too.
std::vector<TreeEdge> mirrored_edges(const std::vector<TreeEdge>& directed, const std::vector<int>& parent,
                                     const MirrorPlane& plane, const Sides& sides, const Half& half) {
  std::vector<TreeEdge> out;
  for (const TreeEdge& edge : directed) {
    const int n = half.id[at(edge.to)];
    if (n < 0) continue;
    const bool central = sides.side[at(edge.to)] == 0;
    int above = edge.from;
    while (half.id[at(above)] < 0 || (central && sides.side[at(above)] != 0)) above = parent[at(above)];
    const Eigen::Vector3d image = plane.mirrored(edge.joint);
    const int p = half.id[at(above)];
    if (central) {
      out.push_back({p, n, 0.5 * (edge.joint + image)});
    } else {
      out.push_back({p, n, edge.joint});
      out.push_back({half.partner[at(p)], half.partner[at(n)], image});
    }
  }
  return out;
}

SkeletonFit mirror_half(const SkeletonFit& fit, const MirrorPlane& plane, const std::vector<MirrorImage>& image,
                        const Sides& sides, int side, int most) {
  const std::vector<TreeEdge> directed = directed_edges(edges_of(fit.tree), sides.root);
  std::vector<int> parent(at(fit.state.bones()), -1);
  for (const TreeEdge& edge : directed) parent[at(edge.to)] = edge.from;
  const Half half = number_bones(sides, kept_bones(fit, sides, side, most), parent);
  SkeletonFit out = fit;
  out.state = {};
  out.state.weights = mirrored_weights(fit, plane, image, half, side);
  out.state.D = mirrored_motion(fit, plane, half);
  const std::vector<TreeEdge> edges =
      directed_edges(mirrored_edges(directed, parent, plane, sides, half), half.id[at(sides.root)]);
  out.tree = adopt_edges(edges, out.state);
  if (edges.empty()) out.tree.parent[0] = -1;
  std::vector<int> number(half.partner.size(), 0);
  for (std::size_t i = 0; i < edges.size(); ++i) number[at(edges[i].to)] = static_cast<int>(i) + 1;
  out.symmetry.plane = plane;
  out.symmetry.partner.resize(half.partner.size());
  for (std::size_t n = 0; n < half.partner.size(); ++n)
    out.symmetry.partner[at(number[n])] = number[at(half.partner[n])];
  update_weights(out);
  strict_rounds(out, 1, 8);
  converge(out, kSettleRounds);
  return out;
}

}  // namespace

MirrorPlane required_mirror_plane(const Sequence& sequence) {
  const MirrorFit best = best_mirror_plane(sequence.rest.positions.cast<double>());
  if (best.share < kMirroredShare)
    throw Error(
        ErrorKind::input,
        fmt::format("{}: the rest shape has no mirror plane for a symmetric skeleton: across the best, {:.1f} % of "
                    "the vertices have an image within 1.5 % of the diagonal, {:.0f} % are needed",
                    sequence.name.empty() ? "sequence" : sequence.name, 100 * best.share, 100 * kMirroredShare));
  return best.plane;
}

Sequence with_mirrored_frames(const Sequence& sequence, const MirrorPlane& plane) {
  const std::size_t F = sequence.frame_count();
  const std::vector<MirrorImage> image = mirror_images(sequence.rest.positions.cast<double>(), plane);
  Sequence out;
  out.name = sequence.name;
  out.rest = sequence.rest;
  out.frames = Frames(2 * F, sequence.vertex_count(), sequence.frames.paging() ? *sequence.frames.paging() : Paging{});
  out.times = uniform_times(2 * F);
  for (std::size_t f = 0; f < F; ++f) {
    const ConstPointsMap shown = sequence.frames[f];
    out.frames[f] = shown;
    for (std::size_t v = 0; v < image.size(); ++v) {
      Eigen::Vector3d there = Eigen::Vector3d::Zero();
      for (int i = 0; i < image[v].count; ++i)
        there += image[v].weight[at(i)] * shown.col(image[v].point[at(i)]).cast<double>();
      out.frames[F + f].col(static_cast<Eigen::Index>(v)) = plane.mirrored(there).cast<float>();
    }
  }
  return out;
}

void make_symmetric(SkeletonFit& fit, const MirrorPlane& plane, int most) {
  const Scaling& scaling = fit.problem->scaling();
  const MirrorPlane scaled{plane.normal, (plane.offset - plane.normal.dot(scaling.center)) * scaling.scale};
  const std::vector<MirrorImage> image = mirror_images(fit.problem->rest(), scaled);
  const Sides sides = sides_of(fit, scaled, image);
  SkeletonFit left = mirror_half(fit, scaled, image, sides, 1, most);
  SkeletonFit right = mirror_half(fit, scaled, image, sides, -1, most);
  fit = right.state.squares < left.state.squares ? std::move(right) : std::move(left);
}

std::vector<int> mirrored_bones(const SkeletonFit& fit, const MirrorPlane& plane) {
  return sides_of(fit, plane, mirror_images(fit.problem->rest(), plane)).partner;
}

void take_first_half(const SkeletonFit& both, SkeletonFit& fit) {
  const Eigen::MatrixXd& common = fit.problem->common();
  fit.tree = both.tree;
  fit.symmetry = both.symmetry;
  fit.joints_stay = true;
  fit.state.D = (both.state.D + both.problem->common().replicate(1, both.state.bones())).topRows(common.rows()) -
                common.replicate(1, both.state.bones());
  fit.state.weights = both.state.weights;
}

}  // namespace sinew::skeleton
