#pragma once

/// Text that is compiled for the processor and, by nvcc, for a GPU as well: C++17 without libraries.
#ifdef __CUDACC__
#define SINEW_TEXT __host__ __device__ inline
#else
#define SINEW_TEXT inline
#endif

namespace sinew {

template <class T>
SINEW_TEXT T larger(T a, T b) {
  return a < b ? b : a;
}

template <class T>
SINEW_TEXT T smaller(T a, T b) {
  return b < a ? b : a;
}

}  // namespace sinew
