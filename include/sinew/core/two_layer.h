#pragma once

#include <cstddef>
#include <vector>

#include "sinew/core/types.h"

namespace sinew {

/// Rows of a sparse matrix with the same number of slots each: slot k of row i is column columns[i*K + k] with value
/// values[i*K + k]. Values may be negative; each row sums to 1 within 1e-5·K·(1 + sum of |values|); unused slots are
/// {column 0, value 0}.
struct BlendRows {
  int slots = 0;               // K
  std::vector<Index> columns;  // rows×K
  std::vector<float> values;   // rows×K

  std::size_t row_count() const { return slots == 0 ? 0 : values.size() / static_cast<std::size_t>(slots); }
};

/// Two-layer blend skinning [LeDeng2013 §3.1]: every virtual bone is a blend of (master) bones, every vertex a blend of
/// virtual bones. In frame f vertex v moves by Σ_j coefficients(v, j) Σ_b dictionary(j, b) T(f, b).
struct TwoLayer {
  BlendRows dictionary;    // M×c: virtual bones over bones
  BlendRows coefficients;  // V×q: vertices over virtual bones

  std::size_t virtual_bone_count() const { return dictionary.row_count(); }

  /// Throws Error{input} with a sentence that names the first violation of what is said above.
  void check(std::size_t vertices, std::size_t bones) const;
};

}  // namespace sinew
