#pragma once

#include <functional>
#include <string_view>

namespace sinew {

/// Called now and then during long work with what is being done and how much of it is done (0..1; negative: unknown).
/// Returning false asks the work to stop soon; the work then ends with its best result so far and says so.
using Progress = std::function<bool(std::string_view step, double fraction)>;

/// Tells `progress`, if there is one, how far the work is; true means go on.
inline bool tell(const Progress& progress, std::string_view step, double fraction) {
  return !progress || progress(step, fraction);
}

}  // namespace sinew
