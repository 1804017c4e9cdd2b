#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "sinew/core/rig.h"

namespace sinew::test {

/// A rig that the glTF tests write: read back by us, by three.js, by Babylon, by Blender and by the Khronos validator.
struct GltfCase {
  std::string name;
  Rig rig;
};

inline void PrintTo(const GltfCase& entry, std::ostream* out) {
  *out << entry.name;
}

/// One of each kind that the writer treats differently.
std::vector<GltfCase> gltf_cases();

/// The case of that name.
Rig gltf_case(const std::string& name);

}  // namespace sinew::test
