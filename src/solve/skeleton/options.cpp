#include "solve/skeleton/options.h"

#include <fmt/format.h>

#include <regex>
#include <string>

#include "sinew/core/error.h"

namespace sinew::skeleton {
namespace {

/// Whether a bone of some skeleton could have this name: root, spine_1, leg_L_2, … (anatomy.h), bone_01, bone_02_L, …
/// (layout.cpp).
bool possible_name(const std::string& name, int most) {
  static const std::regex place(
      "root|pelvis|head|neck|(neck|spine|tail)_[0-9]+|(arm|wing|leg(_front|_mid|_hind|_[0-9]+)?)_[LR]_[0-9]+|"
      "(finger|feather|toe(_front|_mid|_hind|_[0-9]+)?)_[LR]_[0-9]+_[0-9]+");
  if (std::regex_match(name, place)) return true;
  static const std::regex form("bone_([0-9]{2,5})(_[LR])?");
  std::smatch found;
  return std::regex_match(name, found, form) && (most == 0 || std::stoi(found[1]) < most);
}

}  // namespace

void check_options(const SkeletonOptions& options) {
  const auto refuse = [](const std::string& sentence) { throw Error(ErrorKind::usage, sentence); };
  if (options.clusters < 1)
    refuse(fmt::format("skeleton: {} initial clusters, at least 1 is needed", options.clusters));
  if (options.influences < 1 || options.influences > 8)
    refuse(fmt::format("skeleton: {} influences per vertex, 1 to 8 are possible", options.influences));
  if (options.max_bones < 0) refuse(fmt::format("skeleton: at most {} bones are asked for", options.max_bones));
  if (!(options.max_error >= 0)) refuse(fmt::format("skeleton: a largest error of {}", options.max_error));
  if (!(options.smoothness >= 0)) refuse("skeleton: smoothness is negative");
  if (!options.root.empty() && options.root != "auto" && !possible_name(options.root, options.max_bones))
    refuse(
        fmt::format("skeleton: no bone will be called '{}', the root asked for; names are pelvis, spine_1, leg_L_2, "
                    "root, bone_01, bone_02_L, …",
                    options.root));
  if (options.helpers < 0 || options.helpers > 1024)
    refuse(fmt::format("skeleton: {} helper bones to add, expected 0 to 1024", options.helpers));
  if (options.drive_helpers && options.helpers == 0) refuse("skeleton: helpers are to be driven but none is added");
  if (options.symmetric && options.uneven) refuse("skeleton: `symmetric` and `uneven` exclude each other");
  if (options.symmetric && !options.root.empty() && options.root != "auto")
    refuse(
        "skeleton: the root of a symmetric skeleton is on its mirror plane: `root` and `symmetric` exclude each other");
}

}  // namespace sinew::skeleton
