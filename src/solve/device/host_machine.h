#pragma once

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "solve/device/passes_on.h"

/// The processor in the place of a GPU, for tests: what threads do is done one after another, with the same text and
/// the same indices.
namespace sinew::device {

class HostMachine {
 public:
  /// Memory is out after `most` requests; `alive` counts what is not given back.
  explicit HostMachine(int most = INT_MAX, int* alive = nullptr) : left_(most), alive_(alive) {}

  std::string name() const { return "the processor in its place"; }

  void* allocate(std::size_t bytes) {
    void* const memory = left_-- > 0 ? std::malloc(std::max<std::size_t>(bytes, 1)) : nullptr;
    if (memory == nullptr) throw Failure("out of memory");
    std::memset(memory, 0xFF, bytes);  // numbers that are none: what is not written shows
    if (alive_ != nullptr) ++*alive_;
    return memory;
  }
  void release(void* memory) {
    std::free(memory);
    if (memory != nullptr && alive_ != nullptr) --*alive_;
  }
  void up(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }
  void down(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }
  void zero(void* to, std::size_t bytes) {
    if (bytes != 0) std::memset(to, 0, bytes);
  }
  void wait() {}

  /// C (m×n) = op(A) · op(B), column-major.
  void product(bool transpose_a, bool transpose_b, std::size_t m, std::size_t n, std::size_t k, const double* A,
               std::size_t lda, const double* B, std::size_t ldb, double* C, std::size_t ldc) {
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < m; ++i) {
        double sum = 0;
        for (std::size_t l = 0; l < k; ++l)
          sum += (transpose_a ? A[i * lda + l] : A[l * lda + i]) * (transpose_b ? B[l * ldb + j] : B[j * ldb + l]);
        C[j * ldc + i] = sum;
      }
  }

  /// For every part p: C_p (m×n) = A_p B_pᵀ, A_p and B_p the p-th `length` columns of A and B.
  void products_by_part(std::size_t parts, std::size_t m, std::size_t n, std::size_t length, const double* A,
                        std::size_t lda, const double* B, std::size_t ldb, double* C) {
    for (std::size_t p = 0; p < parts; ++p)
      product(false, true, m, n, length, A + p * length * lda, lda, B + p * length * ldb, ldb, C + p * m * n, m);
  }

  template <class Item>
  void items(std::size_t count, const Item& item) {
    for (std::size_t i = 0; i < count; ++i) item(i);
  }

  template <class Body>
  void vertices(std::size_t count, int /*bones*/, std::size_t doubles, std::size_t integers, const Body& body) {
    std::vector<double> numbers(doubles);
    std::vector<int> indices(integers);
    VertexState state{};
    for (std::size_t i = 0; i < count; ++i) body(HoldingLane{}, i, numbers.data(), indices.data(), state);
  }

 private:
  int left_;
  int* alive_;
};

using HostPasses = PassesOn<HostMachine>;

}  // namespace sinew::device
