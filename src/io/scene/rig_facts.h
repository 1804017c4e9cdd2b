#pragma once

#include <nlohmann/json.hpp>

#include "sinew/core/rig.h"

namespace sinew {

/// What file formats have no place for, as one JSON object that goes with the file: kind of transforms, original names,
/// tails, influences, notes. `hierarchy` says whether the file tells the parents of the bones itself.
nlohmann::json rig_facts(const Rig& rig, bool hierarchy);

}  // namespace sinew
