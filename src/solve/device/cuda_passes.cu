#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <climits>

#include "solve/device/passes_on.h"

namespace sinew::device {
namespace {

constexpr int kThreads = 128;  // of a block of items
constexpr int kWarp = 32;
constexpr int kVertexThreads = 64;        // of a block of vertices, at most
constexpr std::size_t kSpreadBlocks = 8;  // per multiprocessor, where memory of vertices does not fit in shared

void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // so that the next call does not report it again
  if (status == cudaErrorMemoryAllocation) throw Failure("the GPU has too little memory");
  throw Failure(std::string("the GPU failed (") + what + ": " + cudaGetErrorString(status) + ")");
}

void require(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw Failure("the GPU has too little memory");
  throw Failure(std::string("the GPU failed (") + what + ": cuBLAS status " + std::to_string(static_cast<int>(status)) +
                ")");
}

/// Some lanes of a warp that share a vertex.
template <int kLanes>
struct WarpLanes {
  static constexpr bool kHolds = true;

  unsigned mask;
  int lane;

  template <class F>
  __device__ void own(int n, const F& f) const {
    for (int j = lane; j < n; j += kLanes) f(j);
  }
  template <class F>
  __device__ void each(int n, const F& f) const {
    own(n, f);
    __syncwarp(mask);
  }
  template <class F>
  __device__ void alone(const F& f) const {
    __syncwarp(mask);
    if (lane == 0) f();
    __syncwarp(mask);
  }
  __device__ void sync() const { __syncwarp(mask); }
  template <class Value, class Allowed>
  __device__ Lowest lowest(int n, double bound, const Value& value, const Allowed& allowed) const {
    Lowest best{bound, -1};
    for (int j = lane; j < n; j += kLanes) {
      const double v = value(j);
      if (v < best.value && allowed(j)) best = {v, j};
    }
    for (int step = kLanes / 2; step > 0; step /= 2) {
      const double v = __shfl_xor_sync(mask, best.value, step);
      const int j = __shfl_xor_sync(mask, best.index, step);
      // The first of equals; a lane that found nothing has the bound, which nothing equals.
      if (j >= 0 && (best.index < 0 || v < best.value || (v == best.value && j < best.index))) best = {v, j};
    }
    return best;
  }
};

template <class Item>
__global__ void __launch_bounds__(kThreads) items_kernel(const Item item, std::size_t count) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * kThreads;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) item(i);
}

/// Where the numbers of one vertex lie.
struct VertexMemory {
  std::size_t doubles;  // with the state
  std::size_t bytes;    // a multiple of 16
  char* spread;         // of all groups of all blocks, or null: in shared memory
};

constexpr std::size_t kStateDoubles = (sizeof(VertexState) + 15) / 16 * 2;

extern __shared__ double2 shared_numbers[];

template <int kLanes, class Body>
__global__ void __launch_bounds__(kVertexThreads)
    vertices_kernel(const Body body, std::size_t count, const VertexMemory memory) {
  const int group = static_cast<int>(threadIdx.x) / kLanes;
  const int groups = static_cast<int>(blockDim.x) / kLanes;
  const int in_warp = static_cast<int>(threadIdx.x) % kWarp;
  const unsigned mask = kLanes == kWarp ? 0xFFFFFFFFU : ((1U << kLanes) - 1) << (in_warp / kLanes * kLanes);
  const WarpLanes<kLanes> lanes{mask, static_cast<int>(threadIdx.x) % kLanes};
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * groups + group;
  char* const mine = memory.spread != nullptr ? memory.spread + first * memory.bytes
                                              : reinterpret_cast<char*>(shared_numbers) + group * memory.bytes;
  auto* const numbers = reinterpret_cast<double*>(mine);
  auto& state = *reinterpret_cast<VertexState*>(mine);
  auto* const integers = reinterpret_cast<int*>(numbers + memory.doubles);
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * groups;
  for (std::size_t i = first; i < count; i += step) body(lanes, i, numbers + kStateDoubles, integers, state);
}

class CudaMachine {
 public:
  explicit CudaMachine(int number) : number_(number) {
    require(cudaSetDevice(number), "device");
    require(cudaGetDeviceProperties(&properties_, number), "properties");
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    require(cublasCreate(&blas_), "cuBLAS");
    require(cublasSetStream(blas_, stream_), "cuBLAS");
    require(cublasSetMathMode(blas_, CUBLAS_PEDANTIC_MATH), "cuBLAS");
    require(cublasSetAtomicsMode(blas_, CUBLAS_ATOMICS_NOT_ALLOWED), "cuBLAS");
  }
  ~CudaMachine() {
    cudaSetDevice(number_);
    if (spread_ != nullptr) cudaFree(spread_);
    if (blas_ != nullptr) cublasDestroy(blas_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  CudaMachine(const CudaMachine&) = delete;
  CudaMachine& operator=(const CudaMachine&) = delete;

  std::string name() const { return properties_.name; }

  void* allocate(std::size_t bytes) {
    void* memory = nullptr;
    require(cudaMalloc(&memory, std::max<std::size_t>(bytes, 1)), "memory");
    return memory;
  }
  void release(void* memory) {
    if (memory != nullptr) cudaFree(memory);
  }
  void up(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0) require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "upload");
  }
  void down(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "download");
    wait();
  }
  void zero(void* to, std::size_t bytes) {
    if (bytes != 0) require(cudaMemsetAsync(to, 0, bytes, stream_), "fill");
  }
  void wait() { require(cudaStreamSynchronize(stream_), "kernels"); }

  void product(bool transpose_a, bool transpose_b, std::size_t m, std::size_t n, std::size_t k, const double* A,
               std::size_t lda, const double* B, std::size_t ldb, double* C, std::size_t ldc) {
    const double one = 1, none = 0;
    require(cublasDgemm(blas_, operation(transpose_a), operation(transpose_b), narrow(m), narrow(n), narrow(k), &one, A,
                        narrow(lda), B, narrow(ldb), &none, C, narrow(ldc)),
            "product");
  }
  void products_by_part(std::size_t parts, std::size_t m, std::size_t n, std::size_t length, const double* A,
                        std::size_t lda, const double* B, std::size_t ldb, double* C) {
    const double one = 1, none = 0;
    require(cublasDgemmStridedBatched(blas_, CUBLAS_OP_N, CUBLAS_OP_T, narrow(m), narrow(n), narrow(length), &one, A,
                                      narrow(lda), static_cast<long long>(length * lda), B, narrow(ldb),
                                      static_cast<long long>(length * ldb), &none, C, narrow(m),
                                      static_cast<long long>(m * n), narrow(parts)),
            "products");
  }

  template <class Item>
  void items(std::size_t count, const Item& item) {
    if (count == 0) return;
    const std::size_t blocks = std::min<std::size_t>((count + kThreads - 1) / kThreads, std::size_t{1} << 20);
    items_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream_>>>(item, count);
    require(cudaGetLastError(), "kernel");
  }

  template <class Body>
  void vertices(std::size_t count, int bones, std::size_t doubles, std::size_t integers, const Body& body) {
    if (count == 0) return;
    if (bones <= 32) return vertices_by<8>(count, doubles, integers, body);
    if (bones <= 64) return vertices_by<16>(count, doubles, integers, body);
    vertices_by<32>(count, doubles, integers, body);
  }

 private:
  static cublasOperation_t operation(bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; }
  static int narrow(std::size_t n) {
    if (n > INT_MAX) throw Failure("the GPU's matrix products do not reach this far");
    return static_cast<int>(n);
  }

  template <int kLanes, class Body>
  void vertices_by(std::size_t count, std::size_t doubles, std::size_t integers, const Body& body) {
    VertexMemory memory{kStateDoubles + doubles, 0, nullptr};
    memory.bytes = (memory.doubles * sizeof(double) + integers * sizeof(int) + 15) / 16 * 16;
    int threads = kVertexThreads;
    const auto shared = [&] { return memory.bytes * static_cast<std::size_t>(threads / kLanes); };
    while (threads > kWarp && shared() > properties_.sharedMemPerBlockOptin) threads /= 2;
    const auto groups = static_cast<std::size_t>(threads / kLanes);
    std::size_t blocks = (count + groups - 1) / groups;
    std::size_t bytes = shared();
    const auto kernel = vertices_kernel<kLanes, Body>;
    if (bytes > properties_.sharedMemPerBlockOptin) {
      blocks = std::min(blocks, kSpreadBlocks * static_cast<std::size_t>(properties_.multiProcessorCount));
      const std::size_t needed = blocks * groups * memory.bytes;
      if (needed > spread_bytes_) {
        if (spread_ != nullptr) cudaFree(spread_);
        spread_ = nullptr;
        spread_bytes_ = 0;
        spread_ = static_cast<char*>(allocate(needed));
        spread_bytes_ = needed;
      }
      memory.spread = spread_;
      bytes = 0;
    } else {
      require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
              "shared memory");
    }
    blocks = std::min<std::size_t>(blocks, INT_MAX);
    kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), bytes, stream_>>>(body, count, memory);
    require(cudaGetLastError(), "kernel");
  }

  int number_;
  cudaDeviceProp properties_{};
  cudaStream_t stream_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  char* spread_ = nullptr;
  std::size_t spread_bytes_ = 0;
};

}  // namespace

int cuda_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

std::unique_ptr<Passes> cuda_passes(int number, const Vertices& vertices) {
  return std::make_unique<PassesOn<CudaMachine>>(vertices, number);
}

}  // namespace sinew::device
