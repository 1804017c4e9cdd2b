#include "sinew/runtime/sinew_tree.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "runtime/triangles.h"

namespace sinew::runtime {
namespace {

/// Rounding of sinew_skin in float, and weights that sum to one within 1e-6 each, against the size of what is added.
constexpr float kPad = 2e-5F;
constexpr std::size_t kStack = 256;  // twice the deepest two trees together
constexpr std::uint32_t kFew = 12;   // bones up to which it is enough to add up what each may do
constexpr std::uint32_t kSome = 24;  // and up to which that they share a vertex is worth its time

constexpr float kInfinite = std::numeric_limits<float>::infinity();

struct Box {
  std::array<float, 3> low{kInfinite, kInfinite, kInfinite};
  std::array<float, 3> high{-kInfinite, -kInfinite, -kInfinite};
};

/// One matrix of a palette: rows of [A | t].
struct Rows {
  float m[3][4];
};

Rows rows_of(const float* palette, std::uint32_t bone) {
  Rows out{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 4; ++k) out.m[i][k] = palette[16 * std::size_t{bone} + 4 * k + i];
  return out;
}

/// Where a box is moved to along one axis: middle, half size, and what rounding may add.
struct Reach {
  float middle = 0;
  float half = 0;
  float size = 0;
};

Reach reach(const Rows& rows, std::size_t axis, const float* middle, const float* half) {
  Reach out{rows.m[axis][3], 0, std::abs(rows.m[axis][3])};
  for (std::size_t k = 0; k < 3; ++k) {
    const float a = rows.m[axis][k];
    out.middle += a * middle[k];
    out.half += std::abs(a) * half[k];
    out.size += std::abs(a) * (std::abs(middle[k]) + half[k]);
  }
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
Box hull(const sinew_tree_pose& pose, const sinew_tree_node& node, const Shift& shift, std::array<float, 3>& pad) {
  Box out;
  for (std::uint32_t i = 0; i < node.follows; ++i) {
    const sinew_tree_follow& follow = pose.tree->follow[node.first_follow + i];
    float middle[3];
    float half[3];
    shifted(shift, follow.middle, follow.half, middle, half);
    const Rows rows = rows_of(pose.palette, follow.bone);
    for (std::size_t k = 0; k < 3; ++k) {
      const Reach at = reach(rows, k, middle, half);
      out.low[k] = std::min(out.low[k], at.middle - at.half);
      out.high[k] = std::max(out.high[k], at.middle + at.half);
      pad[k] = std::max(pad[k], at.size);
    }
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
std::array<float, 2> beyond(const std::array<Away, kSome>& away, std::uint32_t count) {
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
Box blend(const sinew_tree_pose& pose, const sinew_tree_node& node, const Shift& shift, std::array<float, 3>& pad) {
  Rows mean{};
  const sinew_tree_follow* const follows = pose.tree->follow + node.first_follow;
  for (std::uint32_t i = 0; i < node.follows; ++i) {
    const Rows rows = rows_of(pose.palette, follows[i].bone);
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t k = 0; k < 4; ++k) mean.m[a][k] += follows[i].weight * rows.m[a][k];
  }
  float middle[3];
  float half[3];
  shifted(shift, node.middle, node.half, middle, half);
  Box out;
  std::array<float, 3> wide{};
  for (std::size_t k = 0; k < 3; ++k) {
    const Reach at = reach(mean, k, middle, half);
    out.low[k] = out.high[k] = at.middle;
    wide[k] = at.half;
    pad[k] = std::max(pad[k], at.size);
  }
  const bool shared = node.convex != 0 && node.follows > kFew && node.follows <= kSome;
  std::array<std::array<Away, kSome>, 3> away;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled where shared
  std::array<float, 3> apart{};
  for (std::uint32_t i = 0; i < node.follows; ++i) {
    const float weight = follows[i].weight;
    const float spread = std::max(0.0F, follows[i].spread);
    Rows rows = rows_of(pose.palette, follows[i].bone);
    for (std::size_t k = 0; k < 3; ++k) {
      pad[k] = std::max(pad[k], (1 + std::abs(weight)) * reach(rows, k, middle, half).size);
      for (std::size_t c = 0; c < 4; ++c) rows.m[k][c] -= mean.m[k][c];
      const Reach at = reach(rows, k, middle, half);
      apart[k] += spread * (std::abs(at.middle) + at.half);
      if (shared) away[k][i] = {at.middle + at.half, at.middle - at.half, spread, std::min(spread, weight + 1e-6F)};
    }
  }
  for (std::size_t k = 0; k < 3; ++k) {
    const std::array<float, 2> most = shared ? beyond(away[k], node.follows) : std::array{apart[k], apart[k]};
    out.low[k] -= wide[k] + std::min(apart[k], most[0]);
    out.high[k] += wide[k] + std::min(apart[k], most[1]);
  }
  return out;
}

/// Whether a box is more than twice as large as its node is at rest: bones then lie far apart, or far off.
bool is_loose(const Box& box, const sinew_tree_node& node) {
  float posed = 0;
  float rest = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    posed += box.high[k] - box.low[k];
    rest += 2 * node.half[k];
  }
  return posed > 2 * rest;
}

void make_box(const sinew_tree_pose& pose, std::size_t number, float* out) {
  const sinew_tree_node& node = pose.tree->node[number];
  const Shift shift = shift_of(pose, number);
  std::array<float, 3> pad{};
  Box box;
  if (node.convex != 0) box = hull(pose, node, shift, pad);
  if (node.convex == 0 || node.follows <= kFew || (node.follows <= kSome && is_loose(box, node))) {
    const Box other = blend(pose, node, shift, pad);
    for (std::size_t k = 0; k < 3; ++k) {
      box.low[k] = node.convex != 0 ? std::max(box.low[k], other.low[k]) : other.low[k];
      box.high[k] = node.convex != 0 ? std::min(box.high[k], other.high[k]) : other.high[k];
    }
  }
  for (std::size_t k = 0; k < 3; ++k) {
    const float more = kPad * (pad[k] + std::abs(box.low[k]) + std::abs(box.high[k]));
    out[k] = box.low[k] - more;
    out[3 + k] = box.high[k] + more;
  }
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
             Rows& sum) {
  const std::size_t slots = weights.influences == 0 ? bones : static_cast<std::size_t>(weights.influences);
  for (std::size_t k = 0; k < slots; ++k) {
    const float w = share * weights.values[row * slots + k];
    if (w == 0) continue;
    const std::size_t bone = weights.influences == 0 ? k : index_of(weights, row * slots + k);
    const float* const m = palette + 16 * bone;
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t c = 0; c < 4; ++c) sum.m[i][c] += w * m[4 * c + i];
  }
}

Point vertex(const sinew_tree_pose& pose, std::uint32_t v) {
  const sinew_model& model = *pose.model;
  Rows sum{};
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
  Point out;
  for (std::size_t i = 0; i < 3; ++i)
    out[i] = static_cast<double>(sum.m[i][0] * p[0] + sum.m[i][1] * p[1] + sum.m[i][2] * p[2] + sum.m[i][3]);
  return out;
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
