// Times of the player on a GPU against its floors, all from one run: the card's own copy bandwidth, dense weights, and
// vertices streamed from the host. Contestants take turns and the median counts. Results are verified after timing.
//   cuda_bench [--vertices N] [--poses N] [--bones N] [--plans]
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "cuda/skin.h"
#include "sinew/cuda/sinew_cuda.h"
#include "sinew/runtime/skin.h"

namespace {

using sinew::cuda::SkinPlan;
using sinew::runtime::PackedWeights;

constexpr int kRounds = 41;

void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "cuda_bench: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

/// Device memory; the program frees nothing before its end.
template <class T>
T* device(const std::vector<T>& values) {
  if (values.empty()) return nullptr;
  void* pointer = nullptr;
  require(cudaMalloc(&pointer, values.size() * sizeof(T)), "memory");
  require(cudaMemcpy(pointer, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "copy");
  return static_cast<T*>(pointer);
}
float* device_floats(std::size_t count) {
  void* pointer = nullptr;
  require(cudaMalloc(&pointer, std::max<std::size_t>(count, 4) * sizeof(float)), "memory");
  require(cudaMemset(pointer, 0xFF, count * sizeof(float)), "fill");
  return static_cast<float*>(pointer);
}

struct Size {
  std::size_t vertices = 8192, poses = 1000, bones = 60;
};

enum class Order { mesh, ring, scattered };

/// Weights as meshes have them: neighbours share their bones, and the bones wander along the vertex order. Ring: a row
/// has `slots` bones that follow each other. Scattered: every row has bones of its own choice.
PackedWeights sparse_weights(std::size_t rows, std::size_t slots, std::size_t bones, Order order,
                             std::mt19937& random) {
  std::vector<std::uint32_t> index(rows * slots);
  std::vector<float> value(rows * slots);
  std::uniform_real_distribution<float> uniform(0.05F, 1.0F);
  for (std::size_t row = 0; row < rows; ++row) {
    float sum = 0;
    for (std::size_t k = 0; k < slots; ++k) {
      const std::size_t from = row * bones / rows;
      const std::size_t near = from + (row / 7 + 3 * k) % std::min<std::size_t>(bones, 16);
      const std::size_t bone = order == Order::mesh ? near : order == Order::ring ? from + k : random();
      index[row * slots + k] = static_cast<std::uint32_t>(bone % bones);
      sum += value[row * slots + k] = uniform(random);
    }
    for (std::size_t k = 0; k < slots; ++k) value[row * slots + k] /= sum;
  }
  return sinew::runtime::pack_weights(index.data(), value.data(), rows, slots, bones);
}

PackedWeights dense_weights(std::size_t rows, std::size_t bones, std::mt19937& random) {
  PackedWeights out;
  std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
  out.values.resize(rows * bones);
  for (float& w : out.values) w = 2 * uniform(random) / static_cast<float>(bones);
  return out;
}

/// A model twice: in the host's memory and in the device's.
struct Bench {
  std::vector<float> rest, normals, palettes, offsets, coefficients;
  PackedWeights weights, dictionary;
  sinew_model host{}, model{};
  sinew_poses poses{};
};

struct Shape {
  std::size_t slots = 4;  // 0: dense
  std::size_t virtual_bones = 0;
  std::size_t dictionary_slots = 0;  // 0: dense
  std::size_t corrections = 0;
  bool scattered = false;
};

Bench make_bench(const Size& size, const Shape& shape) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  Bench b;
  b.rest.resize(3 * size.vertices);
  b.normals.resize(3 * size.vertices);
  b.palettes.resize(16 * size.bones * size.poses);
  b.offsets.resize(3 * shape.corrections * size.vertices);
  b.coefficients.resize(shape.corrections * size.poses);
  for (auto* values : {&b.rest, &b.normals, &b.palettes, &b.offsets, &b.coefficients})
    for (float& x : *values) x = uniform(random);
  const std::size_t over = shape.virtual_bones != 0 ? shape.virtual_bones : size.bones;
  b.weights = shape.slots == 0 ? dense_weights(size.vertices, size.bones, random)
                               : sparse_weights(size.vertices, shape.slots, over,
                                                shape.scattered ? Order::scattered : Order::mesh, random);
  if (shape.virtual_bones != 0)
    b.dictionary = shape.dictionary_slots == 0
                       ? dense_weights(shape.virtual_bones, size.bones, random)
                       : sparse_weights(shape.virtual_bones, shape.dictionary_slots, size.bones, Order::ring, random);
  const auto up = [](const PackedWeights& w) {
    return sinew_weights{w.influences, device(w.indices16), device(w.indices32), device(w.values)};
  };
  b.host.vertices = size.vertices;
  b.host.bones = size.bones;
  b.host.positions = {b.rest.data(), 12};
  b.host.normals = {b.normals.data(), 12};
  b.host.weights = b.weights.view();
  b.host.virtual_bones = shape.virtual_bones;
  b.host.corrections = shape.corrections;
  b.host.position_offsets = b.offsets.data();
  b.model = b.host;
  if (shape.virtual_bones != 0) b.host.dictionary = b.dictionary.view(), b.model.dictionary = up(b.dictionary);
  b.model.positions.data = device(b.rest);
  b.model.normals.data = device(b.normals);
  b.model.weights = up(b.weights);
  b.model.position_offsets = device(b.offsets);
  b.poses.count = size.poses;
  b.poses.palettes = device(b.palettes);
  b.poses.palette_stride = size.bones * 64;
  b.poses.coefficients = device(b.coefficients);
  b.poses.scratch = device_floats(sinew_cuda_scratch_floats(&b.model, size.poses));
  return b;
}

/// All models write into the same buffers: one at a time.
void connect(Bench& b, float* positions, float* normals) {
  const std::size_t stride = 12 * b.model.vertices;
  b.poses.positions = {positions, 12, stride};
  b.poses.normals = {normals, 12, stride};
}

/// Stops the program where a pose is not, bit for bit, what the CPU makes of it.
void verify(Bench& b, const char* what) {
  const std::size_t floats = 3 * b.model.vertices;
  require(cudaMemset(b.poses.positions.data, 0xFF, 4 * floats * b.poses.count), "fill");
  require(cudaMemset(b.poses.normals.data, 0xFF, 4 * floats * b.poses.count), "fill");
  if (sinew_cuda_skin(&b.model, &b.poses, nullptr) != sinew_ok) std::exit(1);
  std::vector<float> got(2 * floats), expected(2 * floats), scratch(sinew_scratch_floats(&b.host));
  for (const std::size_t pose : {std::size_t{0}, b.poses.count / 3, b.poses.count - 1}) {
    const std::size_t from = pose * floats;
    require(
        cudaMemcpy(got.data(), static_cast<float*>(b.poses.positions.data) + from, 4 * floats, cudaMemcpyDeviceToHost),
        what);
    require(cudaMemcpy(got.data() + floats, static_cast<float*>(b.poses.normals.data) + from, 4 * floats,
                       cudaMemcpyDeviceToHost),
            what);
    sinew_poses one{};
    one.count = 1;
    one.palettes = b.palettes.data() + 16 * b.host.bones * pose;
    one.coefficients = b.coefficients.data() + b.host.corrections * pose;
    one.positions = {expected.data(), 12, 4 * floats};
    one.normals = {expected.data() + floats, 12, 4 * floats};
    one.scratch = scratch.data();
    if (sinew_skin(&b.host, &one) != sinew_ok) std::exit(1);
    if (std::memcmp(got.data(), expected.data(), 4 * got.size()) != 0) {
      std::fprintf(stderr, "cuda_bench: %s: pose %zu differs from the CPU's\n", what, pose);
      std::exit(1);
    }
  }
}

/// Median seconds of each contestant; they take turns.
std::vector<double> race(const std::vector<std::function<void()>>& contestants) {
  std::vector<std::vector<double>> times(contestants.size());
  cudaEvent_t start = nullptr, end = nullptr;
  require(cudaEventCreate(&start), "event");
  require(cudaEventCreate(&end), "event");
  for (int round = -3; round < kRounds; ++round)
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      require(cudaEventRecord(start), "event");
      contestants[i]();
      require(cudaEventRecord(end), "event");
      require(cudaEventSynchronize(end), "kernels");
      float milliseconds = 0;
      require(cudaEventElapsedTime(&milliseconds, start, end), "event");
      if (round >= 0) times[i].push_back(milliseconds / 1000.0);
    }
  std::vector<double> medians;
  for (auto& t : times) {
    std::nth_element(t.begin(), t.begin() + t.size() / 2, t.end());
    medians.push_back(t[t.size() / 2]);
  }
  return medians;
}

std::function<void()> skinning(Bench& b) {
  return [&b] {
    if (sinew_cuda_skin(&b.model, &b.poses, nullptr) != sinew_ok) std::exit(1);
  };
}

void line(const char* what, double seconds, const char* ratio_of, double ratio) {
  std::printf("%-52s %9.1f us  %6.2f %s\n", what, 1e6 * seconds, ratio, ratio_of);
}

/// Every plan for a model: how kernels were tuned.
void plans(const char* what, Bench& b) {
  for (const std::uint32_t at_once : {0, 1, 2, 4})
    for (const std::size_t run : {4, 8, 16, 32}) {
      if (at_once * sinew::cuda::blended_bones(b.model) > 800) continue;
      const SkinPlan plan{at_once, run, run};
      const double t = race({[&] {
        if (skin_planned(b.model, b.poses, plan, nullptr) != sinew_ok) std::exit(1);
      }})[0];
      std::printf("  %-28s %u palettes at once, %2zu poses per block %9.1f us\n", what, at_once, run, 1e6 * t);
    }
}

void run(const Size& size, bool all_plans) {
  const std::size_t floats = 3 * size.vertices * size.poses;
  const double written = 8.0 * static_cast<double>(floats);
  float* const positions = device_floats(floats);
  float* const normals = device_floats(floats);
  const std::size_t masters = 2 * size.vertices / size.bones;  // two layers with 4 blends per vertex in all
  Bench lbs = make_bench(size, {});
  Bench scattered = make_bench(size, {.scattered = true});
  Bench dense = make_bench(size, {.slots = 0});
  Bench two = make_bench(size, {.slots = 2, .virtual_bones = masters});
  Bench sparse_two = make_bench(size, {.slots = 2, .virtual_bones = 2 * size.vertices / 24, .dictionary_slots = 24});
  Bench corrected = make_bench(size, {.corrections = 10});
  const std::map<const char*, Bench*> all{{"LBS", &lbs},
                                          {"scattered", &scattered},
                                          {"dense", &dense},
                                          {"two-layer, dense dictionary", &two},
                                          {"two-layer, 24 bones each", &sparse_two},
                                          {"corrected", &corrected}};
  for (const auto& [name, b] : all) connect(*b, positions, normals);

  constexpr std::size_t kCopy = std::size_t{1} << 30;
  float* const from = device_floats(kCopy / 4);
  float* const to = device_floats(kCopy / 4);
  void* host = nullptr;
  require(cudaMallocHost(&host, 4 * floats), "pinned memory");
  std::memset(host, 1, 4 * floats);
  const auto stream_vertices = [&] {
    require(cudaMemcpyAsync(positions, host, 4 * floats, cudaMemcpyHostToDevice), "copy");
    require(cudaMemcpyAsync(normals, host, 4 * floats, cudaMemcpyHostToDevice), "copy");
  };
  const auto with_palettes = [&] {
    const std::size_t bytes = 64 * size.bones * size.poses;
    require(cudaMemcpyAsync(const_cast<float*>(lbs.poses.palettes), lbs.palettes.data(), bytes, cudaMemcpyHostToDevice),
            "copy");
    skinning(lbs)();
  };
  const std::vector<double> t =
      race({[&] { require(cudaMemcpyAsync(to, from, kCopy, cudaMemcpyDeviceToDevice), "copy"); },
            [&] { require(cudaMemsetAsync(to, 1, kCopy), "fill"); }, skinning(lbs), skinning(scattered), skinning(two),
            skinning(sparse_two), skinning(dense), skinning(corrected), stream_vertices, with_palettes});
  for (const auto& [name, b] : all) verify(*b, name);
  const double copy = 2.0 * kCopy / t[0];
  const double model = static_cast<double>(size.vertices) * 48;  // 4 influences, positions and normals at rest
  const double bytes = written + 64.0 * static_cast<double>(size.bones * size.poses) + model;
  std::printf("copy %.3f TB/s (read and written), fill %.3f TB/s\n", copy / 1e12, kCopy / t[1] / 1e12);
  std::printf("%zu poses of %zu vertices, %zu bones, positions and normals: %.1f MB through memory at least\n",
              size.poses, size.vertices, size.bones, bytes / 1e6);
  line("LBS, 4 influences", t[2], "of copy bandwidth", bytes / t[2] / copy);
  line("  every vertex with bones of its own choice", t[3], "of copy bandwidth", bytes / t[3] / copy);
  line("  with 10 corrections", t[7], "x LBS", t[7] / t[2]);
  line("two-layer, 4 blends per vertex, dense dictionary", t[4], "x LBS", t[4] / t[2]);
  line("two-layer, 4 blends per vertex, 24 bones each", t[5], "x LBS", t[5] / t[2]);
  line("dense", t[6], "x the slower two-layer", t[6] / std::max(t[4], t[5]));
  line("LBS with its palettes from the host", t[9], "x LBS", t[9] / t[2]);
  line("vertices streamed from pinned host memory", t[8], "x LBS with its palettes from the host", t[8] / t[9]);
  if (!all_plans) return;
  plans("LBS", lbs);
  plans("two-layer, dense dictionary", two);
  plans("two-layer, 24 bones each", sparse_two);
}

}  // namespace

int main(int argc, char** argv) {
  Size size;
  bool all_plans = false;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--plans") {
      all_plans = true;
      continue;
    }
    std::size_t* value = name == "--vertices" ? &size.vertices
                         : name == "--poses"  ? &size.poses
                         : name == "--bones"  ? &size.bones
                                              : nullptr;
    if (value == nullptr || i + 1 == argc) {
      std::fprintf(stderr, "usage: cuda_bench [--vertices N] [--poses N] [--bones N] [--plans]\n");
      return 2;
    }
    *value = std::stoul(argv[++i]);
  }
  if (sinew_cuda_devices() == 0) {
    std::fprintf(stderr, "cuda_bench: there is no GPU\n");
    return 2;
  }
  cudaDeviceProp properties{};
  int driver = 0, toolkit = 0;
  require(cudaGetDeviceProperties(&properties, 0), "properties");
  require(cudaDriverGetVersion(&driver), "driver");
  require(cudaRuntimeGetVersion(&toolkit), "runtime");
  std::printf("%s, %d multiprocessors, CUDA driver %d, runtime %d\n", properties.name, properties.multiProcessorCount,
              driver, toolkit);
  run(size, all_plans);
  return 0;
}
