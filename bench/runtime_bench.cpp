// Times of the runtime kernels, in nanoseconds per vertex and as ratios to their floors, all from one run: the
// contestants of a comparison take turns, and the smallest time of each counts. Results are verified after timing.
//   runtime_bench [--vertices N]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "runtime/kernels.h"
#include "sinew/runtime/skin.h"

namespace {

using namespace sinew::runtime;

/// Palettes start at a cache line, as docs/runtime.md recommends.
template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class U>
  explicit LineAllocator(const LineAllocator<U>& /*other*/) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(64))); }
  void deallocate(T* p, std::size_t /*n*/) { ::operator delete(p, std::align_val_t(64)); }
  bool operator==(const LineAllocator& /*other*/) const { return true; }
};
using Palette = std::vector<float, LineAllocator<float>>;

struct Bench {
  std::size_t vertices;
  std::size_t bones;
  std::vector<float> rest, normals, out, out_normals;
  Palette palette, scratch;
  PackedWeights weights, dictionary;
  sinew_model model{};
  sinew_poses poses{};
};

/// Weights as meshes have them: neighbours share their bones, and the bones wander along the vertex order.
PackedWeights local_weights(std::size_t rows, std::size_t slots, std::size_t bones, std::mt19937& random) {
  std::vector<std::uint32_t> index(rows * slots);
  std::vector<float> value(rows * slots);
  std::uniform_real_distribution<float> uniform(0.05F, 1.0F);
  for (std::size_t row = 0; row < rows; ++row) {
    float sum = 0;
    for (std::size_t k = 0; k < slots; ++k) {
      const std::size_t near = row * bones / rows + (row / 7 + 3 * k) % std::min<std::size_t>(bones, 16);
      index[row * slots + k] = static_cast<std::uint32_t>(near % bones);
      sum += value[row * slots + k] = uniform(random);
    }
    for (std::size_t k = 0; k < slots; ++k) value[row * slots + k] /= sum;
  }
  return pack_weights(index.data(), value.data(), rows, slots, bones);
}

PackedWeights dense_weights(std::size_t rows, std::size_t bones, std::mt19937& random) {
  PackedWeights out;
  std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
  out.values.resize(rows * bones);
  for (float& w : out.values) w = 2 * uniform(random) / static_cast<float>(bones);
  return out;
}

/// slots = 0: dense. virtual_bones != 0: two layers, the dictionary dense over the bones.
Bench make_bench(std::size_t vertices, std::size_t bones, std::size_t slots, std::size_t virtual_bones) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  Bench b{vertices, bones, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  b.rest.resize(3 * vertices);
  b.normals.resize(3 * vertices);
  b.palette.resize(16 * bones);
  b.out.assign(3 * vertices, 0);
  b.out_normals.assign(3 * vertices, 0);
  b.scratch.resize(16 * virtual_bones);
  for (auto* values : {&b.rest, &b.normals})
    for (float& x : *values) x = uniform(random);
  for (float& x : b.palette) x = uniform(random);
  const std::size_t over = virtual_bones != 0 ? virtual_bones : bones;
  b.weights = slots == 0 ? dense_weights(vertices, bones, random) : local_weights(vertices, slots, over, random);
  if (virtual_bones != 0) b.dictionary = dense_weights(virtual_bones, bones, random);
  return b;
}

enum class Normals { none, linear, cofactors };

void connect(Bench& b, Normals wanted) {
  const bool normals = wanted != Normals::none;
  b.model = {};
  b.model.vertices = b.vertices;
  b.model.bones = b.bones;
  b.model.positions = {b.rest.data(), 12};
  if (normals) b.model.normals = {b.normals.data(), 12};
  b.model.normal_rule = wanted == Normals::cofactors ? sinew_normals_cofactors : sinew_normals_linear;
  b.model.weights = b.weights.view();
  b.model.virtual_bones = b.scratch.size() / 16;
  if (b.model.virtual_bones != 0) b.model.dictionary = b.dictionary.view();
  b.poses = {};
  b.poses.count = 1;
  b.poses.palettes = b.palette.data();
  b.poses.palette_stride = b.palette.size() * sizeof(float);
  b.poses.positions = {b.out.data(), 12, 12 * b.vertices};
  if (normals) b.poses.normals = {b.out_normals.data(), 12, 12 * b.vertices};
  b.poses.scratch = b.scratch.data();
}

/// Smallest seconds of each contestant; they take turns.
std::vector<double> race(const std::vector<std::function<void()>>& contestants, int rounds, int repeats) {
  std::vector<double> best(contestants.size(), 1e30);
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      for (int r = 0; r < repeats; ++r) contestants[i]();
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      best[i] = std::min(best[i], seconds.count() / repeats);
    }
  return best;
}

/// Stops the program when the result of the best kernels is not the oracle's.
void verify(Bench& b) {
  sinew_skin(&b.model, &b.poses);
  const std::vector<float> got = b.out;
  skin_with(scalar_kernels(), b.model, b.poses);
  for (std::size_t i = 0; i < got.size(); ++i)
    if (std::abs(got[i] - b.out[i]) > 1e-5F * (1 + std::abs(got[i]))) {
      std::fprintf(stderr, "runtime_bench: float %zu is %g, the oracle says %g\n", i, got[i], b.out[i]);
      std::exit(1);
    }
}

/// What somebody writes who needs skinning today: four influences, positions and normals by the linear formula, no
/// thought of lanes. The compiler may do with it what it likes.
void plain_loop(Bench& b) {
  const std::uint16_t* index = b.weights.indices16.data();
  const float* weight = b.weights.values.data();
  for (std::size_t v = 0; v < b.vertices; ++v) {
    float m[16] = {};
    for (std::size_t k = 0; k < 4; ++k) {
      const float* bone = b.palette.data() + 16 * std::size_t{index[4 * v + k]};
      for (std::size_t i = 0; i < 16; ++i) m[i] += weight[4 * v + k] * bone[i];
    }
    const float* p = b.rest.data() + 3 * v;
    const float* n = b.normals.data() + 3 * v;
    float turned[3];
    for (std::size_t i = 0; i < 3; ++i) {
      b.out[3 * v + i] = m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i];
      turned[i] = m[i] * n[0] + m[4 + i] * n[1] + m[8 + i] * n[2];
    }
    const float squared = turned[0] * turned[0] + turned[1] * turned[1] + turned[2] * turned[2];
    const float scale = squared > 0 ? 1 / std::sqrt(squared) : 0;
    for (std::size_t i = 0; i < 3; ++i) b.out_normals[3 * v + i] = scale * turned[i];
  }
}

double bytes_per_vertex(const Bench& b) {
  const double weights = static_cast<double>(b.weights.values.size() * 4 + b.weights.indices16.size() * 2 +
                                             b.weights.indices32.size() * 4);
  return weights / static_cast<double>(b.vertices) + 12 + 12;
}

void line(const char* what, double seconds, std::size_t vertices, double ratio, const char* to) {
  std::printf("%-46s %8.2f ns/vertex  %6.2f x %s\n", what, 1e9 * seconds / static_cast<double>(vertices), ratio, to);
}

void out_of_cache(std::size_t vertices) {
  std::printf("out of cache, %zu vertices\n", vertices);
  Bench lbs = make_bench(vertices, 30, 4, 0);
  Bench dense = make_bench(vertices, 30, 0, 0);
  Bench two_layer = make_bench(vertices, 30, 2, 2 * vertices / 31);
  for (Bench* b : {&lbs, &dense, &two_layer}) connect(*b, Normals::none);
  const auto half = static_cast<std::size_t>(bytes_per_vertex(lbs) / 2 * static_cast<double>(vertices));
  std::vector<char> from(half, 1), to(half, 2);
  const auto skin = [](Bench& b) { return [&b] { sinew_skin(&b.model, &b.poses); }; };
  const std::vector<double> t =
      race({[&] { std::memcpy(to.data(), from.data(), half); }, skin(lbs), skin(dense), skin(two_layer)}, 15, 1);
  for (Bench* b : {&lbs, &dense, &two_layer}) verify(*b);
  if (to != from) std::exit(1);
  std::printf("  LBS K=4 reads and writes %.0f bytes per vertex; memcpy reads %.0f and writes %.0f\n",
              bytes_per_vertex(lbs), bytes_per_vertex(lbs) / 2, bytes_per_vertex(lbs) / 2);
  line("  memcpy of the same bytes", t[0], vertices, 1, "memcpy");
  line("  LBS K=4, positions", t[1], vertices, t[1] / t[0], "memcpy");
  line("  dense, 30 bones", t[2], vertices, t[2] / t[3], "two-layer");
  line("  two-layer, 4 blends/vertex", t[3], vertices, t[3] / t[1], "LBS K=4");
}

/// Positions and normals, four influences: the kernels, the loop, and the kernels where results do not lie at the same
/// place of a page as what is read (arrays of this size begin at the start of one).
void beside_a_plain_loop() {
  constexpr std::size_t kVertices = 10000;
  std::printf("positions and normals of %zu vertices, 4 influences\n", kVertices);
  Bench b = make_bench(kVertices, 30, 4, 0);
  connect(b, Normals::linear);
  Bench apart = make_bench(kVertices, 30, 4, 0);
  apart.out.resize(apart.out.size() + 512);
  apart.out_normals.resize(apart.out_normals.size() + 512);
  connect(apart, Normals::linear);
  apart.poses.positions.data = apart.out.data() + 336;
  apart.poses.normals.data = apart.out_normals.data() + 464;
  const std::vector<double> t = race({[&] { plain_loop(b); }, [&] { sinew_skin(&b.model, &b.poses); },
                                      [&] { sinew_skin(&apart.model, &apart.poses); }},
                                     40, 5);
  const std::vector<float> ours = b.out_normals;
  plain_loop(b);
  for (std::size_t i = 0; i < ours.size(); ++i)
    if (std::abs(ours[i] - b.out_normals[i]) > 1e-4F) {
      std::fprintf(stderr, "runtime_bench: float %zu of the normals is %g, the loop says %g\n", i, ours[i],
                   b.out_normals[i]);
      std::exit(1);
    }
  line("  plain C++ loop", t[0], kVertices, 1, "the loop");
  line("  sinew_skin", t[1], kVertices, t[0] / t[1], "faster than the loop");
  line("  sinew_skin, arrays apart", t[2], kVertices, t[0] / t[2], "faster than the loop");
}

void in_cache() {
  constexpr std::size_t kVertices = 10000;  // 480 kB with 4 influences
  std::printf("in the second-level cache, %zu vertices\n", kVertices);
  for (const Normals normals : {Normals::none, Normals::linear, Normals::cofactors})
    for (const std::size_t slots : {1, 2, 4, 8, 0}) {
      Bench b = make_bench(kVertices, 30, slots, 0);
      connect(b, normals);
      std::vector<std::function<void()>> contestants{[&] { skin_with(scalar_kernels(), b.model, b.poses); }};
      const std::vector<const Kernels*> sets = all_simd_kernels();
      for (const Kernels* set : sets) contestants.emplace_back([&b, set] { skin_with(*set, b.model, b.poses); });
      const std::vector<double> t = race(contestants, 20, 5);
      verify(b);
      const char* with = normals == Normals::none     ? ""
                         : normals == Normals::linear ? " + normals"
                                                      : " + normals by cofactors";
      const std::string what = (slots == 0 ? std::string("  dense 30") : "  LBS K=" + std::to_string(slots)) + with;
      line((what + ", scalar").c_str(), t[0], kVertices, 1, "scalar");
      for (std::size_t i = 0; i < sets.size(); ++i)
        line((what + ", " + sets[i]->name).c_str(), t[i + 1], kVertices, t[0] / t[i + 1], "faster than scalar");
    }
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t vertices = argc == 3 && std::string(argv[1]) == "--vertices" ? std::stoul(argv[2]) : 1'000'000;
  std::printf("runtime target: %s\n", sinew_runtime_target());
  out_of_cache(vertices);
  beside_a_plain_loop();
  in_cache();
  return 0;
}
