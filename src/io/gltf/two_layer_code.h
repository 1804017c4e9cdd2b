#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "io/gltf/two_layer_pack.h"
#include "sinew/core/rig.h"

/// A two-layer model and its motion in as few bytes as the error allows: whole numbers, predicted and range-coded.
/// docs/formats.md, "Two-layer models".
namespace sinew::gltf {

/// What the numbers of a model are multiples of.
struct TwoLayerSteps {
  int coefficient_bits = 16;  // 2^-bits; 4..16
  int dictionary_bits = 16;
  int linear_bits = 20;      // of the linear parts of the motion; 6..20
  int translation_step = 0;  // exponent of two, -100..100
};

/// The model with its virtual bones in the order in which its vertices first use them, without those that none does.
TwoLayer in_order_of_use(const TwoLayer& model);

/// What is left of a model and its motion: rows have their largest value first, which takes what rounding leaves of
/// their sum of 1, and values that became 0 last.
TwoLayer rounded_to(const TwoLayerSteps& steps, const TwoLayer& model);
Motion rounded_to(const TwoLayerSteps& steps, const Motion& motion);

/// The bytes of a model in order of use, rounded to these steps. Throws Error{output} where a number is too large for
/// its step.
std::vector<std::byte> code_two_layer(const TwoLayer& model, const Motion& motion, const TwoLayerSteps& steps);

/// The inverse. Throws Error{input} starting with `name` on anything else.
void decode_two_layer(std::span<const std::byte> bytes, const PackedSizes& sizes, const std::string& name,
                      TwoLayer& model, Motion& motion);

}  // namespace sinew::gltf
