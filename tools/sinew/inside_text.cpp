#include "inside_text.h"

#include <fmt/format.h>

namespace sinew::tool {

Json facts_of(const Inside& inside) {
  return {{"joints", inside.joints},
          {"joint_share", inside.joint_share},
          {"length_share", inside.length_share},
          {"worst_percent", inside.worst_percent},
          {"worst_joint", inside.worst_joint}};
}

std::string inside_text(const Inside& inside) {
  std::string out =
      fmt::format("{:.2f} of {} joints, {:.2f} of the length", inside.joint_share, inside.joints, inside.length_share);
  if (!inside.worst_joint.empty())
    out += fmt::format("; worst joint {} % of the diagonal outside ({})", short_number(inside.worst_percent),
                       inside.worst_joint);
  return out;
}

}  // namespace sinew::tool
