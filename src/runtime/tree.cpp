#include "sinew/runtime/sinew_tree.h"

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>

#include "runtime/triangles.h"

namespace sinew::runtime {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Rounding of sinew_skin in float, and weights that sum to one within 1e-6 each, against the size of what is added.
constexpr float kPad = 2e-5F;
constexpr std::size_t kStack = 256;  // twice the deepest two trees together
constexpr std::uint32_t kFew = 12;   // bones up to which it is enough to add up what each may do
constexpr std::uint32_t kSome = 24;  // and up to which that they share a vertex is worth its time

constexpr float kInfinite = std::numeric_limits<float>::infinity();

/// Three axes side by side, and a fourth lane that holds whatever the palette has there.
using Tag = hn::FixedTag<float, 4>;
using Lanes = hn::Vec<Tag>;

Lanes all(float x) {
  return hn::Set(Tag(), x);
}

Lanes times_add(Lanes a, float b, Lanes c) {
  return hn::Add(hn::Mul(a, all(b)), c);
}

struct Box {
  Lanes low;
  Lanes high;
};

std::array<float, 4> values(Lanes x) {
  std::array<float, 4> out;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
  hn::StoreU(x, Tag(), out.data());
  return out;
}

/// One matrix of a palette, or a sum of some: its columns.
struct Columns {
  Lanes c[4];
};

Columns columns_of(const float* palette, std::size_t bone) {
  const float* const m = palette + 16 * bone;
  return {{hn::LoadU(Tag(), m), hn::LoadU(Tag(), m + 4), hn::LoadU(Tag(), m + 8), hn::LoadU(Tag(), m + 12)}};
}

/// Adds the product of a matrix and a weight.
void add(Columns& sum, const Columns& m, float weight) {
  for (std::size_t c = 0; c < 4; ++c) sum.c[c] = times_add(m.c[c], weight, sum.c[c]);
}

/// Where a box is moved to along each axis: middle and half size.
struct Reach {
  Lanes middle;
  Lanes half;
};

Reach reach(const Columns& m, const float* middle, const float* half) {
  Reach out{m.c[3], hn::Zero(Tag())};
  for (std::size_t c = 0; c < 3; ++c) {
    out.middle = times_add(m.c[c], middle[c], out.middle);
    out.half = times_add(hn::Abs(m.c[c]), half[c], out.half);
  }
  return out;
}

/// What `reach` adds up without signs: what rounding may be a share of.
Lanes size_of(const Columns& m, const float* middle, const float* half) {
  Lanes out = hn::Abs(m.c[3]);
  for (std::size_t c = 0; c < 3; ++c) out = times_add(hn::Abs(m.c[c]), std::abs(middle[c]) + half[c], out);
  return out;
}

/// By how much the corrections of a pose move a node's vertices at rest.
struct Shift {
  std::array<float, 3> middle{};
  std::array<float, 3> half{};
};

Shift shift_of(const sinew_tree_pose& pose, std::size_t node) {
  Shift out;
  const sinew_tree& tree = *pose.tree;
  if (tree.shifts == nullptr || pose.coefficients == nullptr) return out;
  for (std::size_t r = 0; r < tree.corrections; ++r) {
    const float* const box = tree.shifts + 6 * (node * tree.corrections + r);
    for (std::size_t k = 0; k < 3; ++k) {
      out.middle[k] += pose.coefficients[r] * box[k];
      out.half[k] += std::abs(pose.coefficients[r]) * box[3 + k];
    }
  }
  return out;
}

void shifted(const Shift& shift, const float* middle, const float* half, float* to_middle, float* to_half) {
  for (std::size_t k = 0; k < 3; ++k) {
    to_middle[k] = middle[k] + shift.middle[k];
    to_half[k] = half[k] + shift.half[k];
  }
}

/// Every vertex is between the places its bones carry it to: the box around all of those.
Box hull(const sinew_tree_pose& pose, const sinew_tree_node& node, const Shift& shift, Lanes& pad) {
  Box out{all(kInfinite), all(-kInfinite)};
  for (std::uint32_t i = 0; i < node.follows; ++i) {
    const sinew_tree_follow& follow = pose.tree->follow[node.first_follow + i];
    float middle[3];
    float half[3];
    shifted(shift, follow.middle, follow.half, middle, half);
    const Columns bone = columns_of(pose.palette, follow.bone);
    const Reach at = reach(bone, middle, half);
    out.low = hn::Min(out.low, hn::Sub(at.middle, at.half));
    out.high = hn::Max(out.high, hn::Add(at.middle, at.half));
    pad = hn::Max(pad, size_of(bone, middle, half));
  }
  return out;
}

/// What a bone may add to the mean of a node along one axis: for a weight that is larger, and for one that is smaller.
struct Away {
  float high = 0;  // of (T_b − T̄) p
  float low = 0;
  float more = 0;  // by how much a weight may be larger than the mean
  float less = 0;
};

/// The most that `weights` of a total of 0 can add up: as much of the bones that add most as of those that take away
/// least, in turn, while that pays. `gain[i]` and `loss[i]` number the bones by what they do, the most first.
float most_of(const std::array<Away, kSome>& away, const std::array<std::uint8_t, kSome>& gain,
              const std::array<std::uint8_t, kSome>& loss, std::uint32_t count, bool up) {
  float sum = 0;
  float left = 1;  // no weight is more than one
  std::uint32_t i = 0;
  std::uint32_t j = 0;
  float more = away[gain[0]].more;
  float less = away[loss[0]].less;
  while (left > 0) {
    const float by = up ? away[gain[i]].high - away[loss[j]].low : away[loss[j]].high - away[gain[i]].low;
    if (!(by > 0)) break;
    const float mass = std::min({left, more, less});
    sum += mass * by;
    left -= mass;
    more -= mass;
    less -= mass;
    if (more <= 0) {
      if (++i == count) break;
      more = away[gain[i]].more;
    }
    if (less <= 0) {
      if (++j == count) break;
      less = away[loss[j]].less;
    }
  }
  return sum;
}

/// By how much weights that vary can move a vertex beyond the mean, down and up.
std::pair<float, float> beyond(const std::array<Away, kSome>& away, std::uint32_t count) {
  std::array<std::uint8_t, kSome> by_high;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled as they are sorted
  std::array<std::uint8_t, kSome> by_low;   // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (std::uint32_t n = 0; n < count; ++n) {
    std::uint32_t i = n;
    for (; i > 0 && away[by_high[i - 1]].high < away[n].high; --i) by_high[i] = by_high[i - 1];
    by_high[i] = static_cast<std::uint8_t>(n);
    for (i = n; i > 0 && away[by_low[i - 1]].low > away[n].low; --i) by_low[i] = by_low[i - 1];
    by_low[i] = static_cast<std::uint8_t>(n);
  }
  return {most_of(away, by_low, by_high, count, false), most_of(away, by_high, by_low, count, true)};
}

/// x = T̄ p + Σ (w_b − w̄_b) (T_b − T̄) p, with T̄ = Σ w̄_b T_b: near T̄ p where weights hardly vary.
Box blend(const sinew_tree_pose& pose, const sinew_tree_node& node, const Shift& shift, Lanes& pad) {
  const Lanes zero = hn::Zero(Tag());
  Columns mean{{zero, zero, zero, zero}};
  const sinew_tree_follow* const follows = pose.tree->follow + node.first_follow;
  for (std::uint32_t i = 0; i < node.follows; ++i)
    add(mean, columns_of(pose.palette, follows[i].bone), follows[i].weight);
  float middle[3];
  float half[3];
  shifted(shift, node.middle, node.half, middle, half);
  const Reach of_mean = reach(mean, middle, half);
  pad = hn::Max(pad, size_of(mean, middle, half));
  const bool shared = node.convex != 0 && node.follows > kFew && node.follows <= kSome;
  std::array<std::array<Away, kSome>, 3> away;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled where shared
  Lanes apart = zero;
  for (std::uint32_t i = 0; i < node.follows; ++i) {
    const float weight = follows[i].weight;
    const float spread = std::max(0.0F, follows[i].spread);
    Columns bone = columns_of(pose.palette, follows[i].bone);
    pad = hn::Max(pad, hn::Mul(size_of(bone, middle, half), all(1 + std::abs(weight))));
    for (std::size_t c = 0; c < 4; ++c) bone.c[c] = hn::Sub(bone.c[c], mean.c[c]);
    const Reach at = reach(bone, middle, half);
    apart = times_add(hn::Add(hn::Abs(at.middle), at.half), spread, apart);
    if (!shared) continue;
    const std::array<float, 4> high = values(hn::Add(at.middle, at.half));
    const std::array<float, 4> low = values(hn::Sub(at.middle, at.half));
    for (std::size_t k = 0; k < 3; ++k) away[k][i] = {high[k], low[k], spread, std::min(spread, weight + 1e-6F)};
  }
  Box out{apart, apart};
  if (shared) {
    std::array<float, 4> down{};
    std::array<float, 4> up{};
    for (std::size_t k = 0; k < 3; ++k) std::tie(down[k], up[k]) = beyond(away[k], node.follows);
    out = {hn::Min(apart, hn::LoadU(Tag(), down.data())), hn::Min(apart, hn::LoadU(Tag(), up.data()))};
  }
  return {hn::Sub(of_mean.middle, hn::Add(of_mean.half, out.low)),
          hn::Add(of_mean.middle, hn::Add(of_mean.half, out.high))};
}

/// Whether a box is more than twice as large as its node is at rest: bones then lie far apart, or far off.
bool is_loose(const Box& box, const sinew_tree_node& node) {
  const std::array<float, 4> posed = values(hn::Sub(box.high, box.low));
  return posed[0] + posed[1] + posed[2] > 4 * (node.half[0] + node.half[1] + node.half[2]);
}

void make_box(const sinew_tree_pose& pose, std::size_t number, float* out) {
  const sinew_tree_node& node = pose.tree->node[number];
  const Shift shift = shift_of(pose, number);
  Lanes pad = hn::Zero(Tag());
  Box box{all(-kInfinite), all(kInfinite)};
  if (node.convex != 0) box = hull(pose, node, shift, pad);
  if (node.convex == 0 || node.follows <= kFew || (node.follows <= kSome && is_loose(box, node))) {
    const Box other = blend(pose, node, shift, pad);
    box = {hn::Max(box.low, other.low), hn::Min(box.high, other.high)};
  }
  const Lanes more = hn::Mul(hn::Add(pad, hn::Add(hn::Abs(box.low), hn::Abs(box.high))), all(kPad));
  const std::array<float, 4> low = values(hn::Sub(box.low, more));
  const std::array<float, 4> high = values(hn::Add(box.high, more));
  std::copy_n(low.data(), 3, out);
  std::copy_n(high.data(), 3, out + 3);
}

const float* box_of(sinew_tree_pose& pose, std::size_t node) {
  float* const box = pose.boxes + 6 * node;
  if (pose.stamps[node] != pose.stamp) {
    make_box(pose, node, box);
    pose.stamps[node] = pose.stamp;
  }
  return box;
}

std::uint32_t index_of(const sinew_weights& weights, std::size_t i) {
  return weights.indices16 != nullptr ? weights.indices16[i] : weights.indices32[i];
}

/// Adds a row of weights over bones, times `share`, to a matrix.
void add_row(const sinew_weights& weights, std::size_t row, std::size_t bones, const float* palette, float share,
             Columns& sum) {
  const std::size_t slots = weights.influences == 0 ? bones : static_cast<std::size_t>(weights.influences);
  for (std::size_t k = 0; k < slots; ++k) {
    const float w = share * weights.values[row * slots + k];
    if (w == 0) continue;
    const std::size_t bone = weights.influences == 0 ? k : index_of(weights, row * slots + k);
    add(sum, columns_of(palette, bone), w);
  }
}

Point vertex(const sinew_tree_pose& pose, std::uint32_t v) {
  const sinew_model& model = *pose.model;
  const Lanes zero = hn::Zero(Tag());
  Columns sum{{zero, zero, zero, zero}};
  if (model.virtual_bones == 0) {
    add_row(model.weights, v, model.bones, pose.palette, 1, sum);
  } else {
    const std::size_t slots =
        model.weights.influences == 0 ? model.virtual_bones : static_cast<std::size_t>(model.weights.influences);
    for (std::size_t k = 0; k < slots; ++k) {
      const float share = model.weights.values[v * slots + k];
      const std::size_t row = model.weights.influences == 0 ? k : index_of(model.weights, v * slots + k);
      if (share != 0) add_row(model.dictionary, row, model.bones, pose.palette, share, sum);
    }
  }
  float p[3];
  std::memcpy(p, static_cast<const unsigned char*>(model.positions.data) + v * model.positions.stride, sizeof(p));
  for (std::size_t r = 0; pose.coefficients != nullptr && r < model.corrections; ++r)
    for (std::size_t k = 0; k < 3; ++k)
      p[k] += pose.coefficients[r] * model.position_offsets[3 * (r * model.vertices + v) + k];
  const Lanes along = times_add(sum.c[2], p[2], times_add(sum.c[1], p[1], hn::Mul(sum.c[0], all(p[0]))));
  const std::array<float, 4> out = values(hn::Add(along, sum.c[3]));
  return {static_cast<double>(out[0]), static_cast<double>(out[1]), static_cast<double>(out[2])};
}

Triangle triangle(const sinew_tree_pose& pose, std::size_t t) {
  const std::uint32_t* const corner = pose.tree->corners + 3 * t;
  return {vertex(pose, corner[0]), vertex(pose, corner[1]), vertex(pose, corner[2])};
}

Point point(const float* x) {
  return {static_cast<double>(x[0]), static_cast<double>(x[1]), static_cast<double>(x[2])};
}

void write_hit(const sinew_tree_pose& pose, std::size_t t, const Triangle& triangle, const Point& weights,
               double distance, sinew_tree_hit* hit) {
  hit->triangle = pose.tree->numbers[t];
  hit->distance = static_cast<float>(distance);
  for (std::size_t k = 0; k < 3; ++k) {
    hit->weights[k] = static_cast<float>(weights[k]);
    hit->position[k] =
        static_cast<float>(weights[0] * triangle[0][k] + weights[1] * triangle[1][k] + weights[2] * triangle[2][k]);
  }
}

/// Where a ray enters a box; infinity where it does not before `longest`.
double enters(const float* box, const Point& origin, const Point& inverse, double longest) {
  double first = 0;
  double last = longest;
  for (std::size_t k = 0; k < 3; ++k) {
    if (std::isinf(inverse[k])) {
      if (origin[k] < static_cast<double>(box[k]) || origin[k] > static_cast<double>(box[3 + k]))
        return std::numeric_limits<double>::infinity();
      continue;
    }
    const double a = (static_cast<double>(box[k]) - origin[k]) * inverse[k];
    const double b = (static_cast<double>(box[3 + k]) - origin[k]) * inverse[k];
    first = std::max(first, std::min(a, b));
    last = std::min(last, std::max(a, b));
  }
  return first <= last * (1 + 1e-12) + 1e-300 ? first : std::numeric_limits<double>::infinity();
}

double squared_distance(const float* box, const Point& x) {
  double sum = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const double d = std::max({static_cast<double>(box[k]) - x[k], x[k] - static_cast<double>(box[3 + k]), 0.0});
    sum += d * d;
  }
  return sum;
}

bool apart(const float* a, const float* b) {
  for (std::size_t k = 0; k < 3; ++k)
    if (a[k] > b[3 + k] || b[k] > a[3 + k]) return true;
  return false;
}

float size_of(const float* box) {
  return box[3] - box[0] + box[4] - box[1] + box[5] - box[2];
}

/// What a best-first walk still has to look at.
struct Ahead {
  std::uint32_t node;
  double from;
};

/// Visits leaves in the order in which they come nearer, while `measure(box)` is below `limit`.
template <class Measure, class Leaf>
void walk(sinew_tree_pose& pose, const double& limit, const Measure& measure, const Leaf& leaf) {
  if (pose.tree->nodes == 0) return;
  std::array<Ahead, kStack> stack;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled as it grows
  std::size_t depth = 0;
  stack[depth++] = {0, measure(box_of(pose, 0))};
  while (depth > 0) {
    const Ahead next = stack[--depth];
    if (!(next.from <= limit)) continue;
    const sinew_tree_node& node = pose.tree->node[next.node];
    if (node.right == 0) {
      leaf(node);
      continue;
    }
    Ahead near{next.node + 1, measure(box_of(pose, next.node + 1))};
    Ahead far{node.right, measure(box_of(pose, node.right))};
    if (far.from < near.from) std::swap(near, far);
    if (far.from <= limit) stack[depth++] = far;
    if (near.from <= limit) stack[depth++] = near;
  }
}

}  // namespace
}  // namespace sinew::runtime

using namespace sinew::runtime;

sinew_status sinew_tree_check(const sinew_tree* tree, const sinew_model* model) {
  const auto in = [](std::size_t first, std::size_t count, std::size_t all) {
    return first <= all && count <= all - first;
  };
  if (tree->nodes == 0) return sinew_ok;
  if (tree->node == nullptr || tree->follow == nullptr || tree->corners == nullptr || tree->numbers == nullptr)
    return sinew_missing_buffer;
  if (tree->corrections != model->corrections) return sinew_bad_size;
  if (tree->corrections != 0 && tree->shifts == nullptr) return sinew_missing_buffer;
  std::size_t depth = 0;  // children come after their parent, so the walk below ends
  std::array<std::uint32_t, kStack / 4> stack{};
  std::size_t seen = 0;
  stack[depth++] = 0;
  while (depth > 0) {
    const std::uint32_t number = stack[--depth];
    if (++seen > tree->nodes) return sinew_bad_size;
    const sinew_tree_node& node = tree->node[number];
    if (!in(node.first_triangle, node.triangles, tree->triangles) ||
        !in(node.first_follow, node.follows, tree->follows))
      return sinew_bad_index;
    if (node.right == 0) continue;
    if (node.right <= number + 1 || node.right >= tree->nodes || depth + 2 > stack.size()) return sinew_bad_index;
    stack[depth++] = node.right;
    stack[depth++] = number + 1;
  }
  for (std::size_t i = 0; i < tree->follows; ++i)
    if (tree->follow[i].bone >= model->bones) return sinew_bad_index;
  for (std::size_t i = 0; i < 3 * tree->triangles; ++i)
    if (tree->corners[i] >= model->vertices) return sinew_bad_index;
  return sinew_ok;
}

void sinew_tree_begin(sinew_tree_pose* pose) {
  if (++pose->stamp != 0) return;
  std::fill_n(pose->stamps, pose->tree->nodes, 0U);
  pose->stamp = 1;
}

void sinew_tree_box(sinew_tree_pose* pose, float* box) {
  if (pose->tree->nodes == 0) {
    std::fill_n(box, 3, kInfinite);
    std::fill_n(box + 3, 3, -kInfinite);
    return;
  }
  std::copy_n(box_of(*pose, 0), 6, box);
}

int sinew_tree_in_front(sinew_tree_pose* pose, const float* planes, size_t count) {
  float box[6];
  sinew_tree_box(pose, box);
  if (!(box[0] <= box[3])) return 0;
  for (std::size_t i = 0; i < count; ++i) {
    const float* const plane = planes + 4 * i;
    double most = static_cast<double>(plane[3]);
    for (std::size_t k = 0; k < 3; ++k)
      most += static_cast<double>(plane[k]) * static_cast<double>(plane[k] >= 0 ? box[3 + k] : box[k]);
    if (most < 0) return 0;
  }
  return 1;
}

int sinew_tree_ray(sinew_tree_pose* pose, const float* origin, const float* direction, float longest,
                   sinew_tree_hit* hit) {
  const Point from = point(origin);
  const Point along = point(direction);
  const Point inverse{1 / along[0], 1 / along[1], 1 / along[2]};
  auto limit = static_cast<double>(longest);
  int found = 0;
  walk(
      *pose, limit, [&](const float* box) { return enters(box, from, inverse, limit); },
      [&](const sinew_tree_node& node) {
        for (std::size_t t = node.first_triangle; t < node.first_triangle + node.triangles; ++t) {
          const Triangle x = triangle(*pose, t);
          Point weights{};
          const double away = meets_ray(x, from, along, weights);
          if (!(away <= limit)) continue;
          limit = away;
          found = 1;
          write_hit(*pose, t, x, weights, away, hit);
        }
      });
  return found;
}

int sinew_tree_nearest(sinew_tree_pose* pose, const float* at, float farthest, sinew_tree_hit* hit) {
  const Point x = point(at);
  double limit = static_cast<double>(farthest) * static_cast<double>(farthest);
  int found = 0;
  walk(
      *pose, limit, [&](const float* box) { return squared_distance(box, x); },
      [&](const sinew_tree_node& node) {
        for (std::size_t t = node.first_triangle; t < node.first_triangle + node.triangles; ++t) {
          const Triangle corners = triangle(*pose, t);
          Point weights{};
          const double away = squared_distance(corners, x, weights);
          if (!(away <= limit)) continue;
          limit = away;
          found = 1;
          write_hit(*pose, t, corners, weights, std::sqrt(away), hit);
        }
      });
  return found;
}

size_t sinew_tree_ball(sinew_tree_pose* pose, const float* centre, float radius, uint32_t* triangles, size_t room) {
  const Point x = point(centre);
  const double limit = static_cast<double>(radius) * static_cast<double>(radius);
  std::size_t count = 0;
  walk(
      *pose, limit, [&](const float* box) { return squared_distance(box, x); },
      [&](const sinew_tree_node& node) {
        for (std::size_t t = node.first_triangle; t < node.first_triangle + node.triangles; ++t) {
          Point weights{};
          if (!(squared_distance(triangle(*pose, t), x, weights) <= limit)) continue;
          if (count < room) triangles[count] = pose->tree->numbers[t];
          ++count;
        }
      });
  return count;
}

size_t sinew_tree_overlap(sinew_tree_pose* a, sinew_tree_pose* b, uint32_t* pairs, size_t room) {
  if (a->tree->nodes == 0 || b->tree->nodes == 0) return 0;
  std::array<std::array<std::uint32_t, 2>, kStack>
      stack;  // NOLINT(cppcoreguidelines-pro-type-member-init): as it grows
  std::size_t depth = 0;
  std::size_t count = 0;
  stack[depth++] = {0, 0};
  while (depth > 0) {
    const auto [i, k] = stack[--depth];
    const float* const one = box_of(*a, i);
    const float* const other = box_of(*b, k);
    if (apart(one, other)) continue;
    const sinew_tree_node& p = a->tree->node[i];
    const sinew_tree_node& q = b->tree->node[k];
    if (p.right != 0 && (q.right == 0 || size_of(one) >= size_of(other))) {
      stack[depth++] = {p.right, k};
      stack[depth++] = {i + 1, k};
      continue;
    }
    if (q.right != 0) {
      stack[depth++] = {i, q.right};
      stack[depth++] = {i, k + 1};
      continue;
    }
    for (std::size_t s = p.first_triangle; s < p.first_triangle + p.triangles; ++s) {
      const Triangle x = triangle(*a, s);
      for (std::size_t t = q.first_triangle; t < q.first_triangle + q.triangles; ++t) {
        if (!meet(x, triangle(*b, t))) continue;
        if (count < room) {
          pairs[2 * count] = a->tree->numbers[s];
          pairs[2 * count + 1] = b->tree->numbers[t];
        }
        ++count;
        if (room == 1) return count;
      }
    }
  }
  return count;
}
