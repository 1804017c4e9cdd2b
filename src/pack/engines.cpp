#include "sinew/pack/engines.h"

#include <algorithm>
#include <array>

namespace sinew {
namespace {

constexpr std::array<Engine, 6> kEngines{{
    {.name = "babylon", .influences = 8},
    {.name = "filament", .influences = 4, .bones = 256},
    {.name = "godot", .influences = 8, .meshopt = false, .safe_names = true},
    {.name = "three", .influences = 4, .safe_names = true},
    {.name = "unity", .influences = 4},
    {.name = "unreal", .influences = 8, .shear = false, .meshopt = false, .safe_names = true},
}};

}  // namespace

std::span<const Engine> engines() {
  return kEngines;
}

const Engine* find_engine(std::string_view name) {
  const auto found = std::find_if(kEngines.begin(), kEngines.end(), [&](const Engine& e) { return e.name == name; });
  return found == kEngines.end() ? nullptr : &*found;
}

}  // namespace sinew
