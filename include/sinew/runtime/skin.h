#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sinew/runtime/sinew_runtime.h"

/// C++ side of the runtime: owning buffers for the C structs, prepared once when a model is loaded. Skinning itself is
/// sinew_skin() of sinew_runtime.h, which allocates nothing.
namespace sinew::runtime {

/// Weights in the form that is fastest to read: 16-bit indices where they suffice, as few slots as the fullest row
/// needs, no indices when dense.
struct PackedWeights {
  int influences = 0;                    // 0: dense
  std::vector<std::uint16_t> indices16;  // rows×influences, or empty
  std::vector<std::uint32_t> indices32;  // rows×influences, or empty
  std::vector<float> values;             // rows×influences, or rows×bones

  sinew_weights view() const;
};

/// Packs rows×slots weights. Slots with weight 0 are dropped as far as all rows allow. Rows that use more than half of
/// the bones, and more than 8, become dense: reading the zeros is then cheaper than reading indices.
PackedWeights pack_weights(const std::uint32_t* bones, const float* values, std::size_t rows, std::size_t slots,
                           std::size_t bone_count);

}  // namespace sinew::runtime
