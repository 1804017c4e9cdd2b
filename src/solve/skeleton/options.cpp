#include "solve/skeleton/options.h"

#include <fmt/format.h>

#include "sinew/core/error.h"

namespace sinew::skeleton {

void check_options(const SkeletonOptions& options) {
  const auto refuse = [](const std::string& sentence) { throw Error(ErrorKind::usage, sentence); };
  if (options.clusters < 1)
    refuse(fmt::format("skeleton: {} initial clusters, at least 1 is needed", options.clusters));
  if (options.influences < 1 || options.influences > 8)
    refuse(fmt::format("skeleton: {} influences per vertex, 1 to 8 are possible", options.influences));
  if (options.max_bones < 0) refuse(fmt::format("skeleton: at most {} bones are asked for", options.max_bones));
  if (!(options.smoothness >= 0)) refuse("skeleton: smoothness is negative");
  if (options.symmetric && !options.root.empty() && options.root != "auto")
    refuse(
        "skeleton: the root of a symmetric skeleton is on its mirror plane: `root` and `symmetric` exclude each other");
}

}  // namespace sinew::skeleton
