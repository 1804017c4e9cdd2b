#include "sinew/core/two_layer.h"

#include <fmt/format.h>

#include <cmath>

#include "sinew/core/error.h"

namespace sinew {
namespace {

void check_rows(const BlendRows& rows, std::size_t count, std::size_t columns, const char* what) {
  const auto refuse = [&](const std::string& sentence) {
    throw Error(ErrorKind::input, fmt::format("two-layer model: {}: {}", what, sentence));
  };
  if (rows.slots < 1) refuse("no slots");
  const auto slots = static_cast<std::size_t>(rows.slots);
  if (rows.values.size() != count * slots || rows.columns.size() != count * slots)
    refuse(fmt::format("{} values and {} indices, expected {} rows of {}", rows.values.size(), rows.columns.size(),
                       count, slots));
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0;
    double magnitude = 1;
    for (std::size_t slot = i * slots; slot < (i + 1) * slots; ++slot) {
      if (rows.columns[slot] >= columns)
        refuse(fmt::format("row {} refers to column {}, there are {}", i, rows.columns[slot], columns));
      if (!std::isfinite(rows.values[slot])) refuse(fmt::format("row {} holds {}", i, rows.values[slot]));
      sum += rows.values[slot];
      magnitude += std::abs(rows.values[slot]);
    }
    if (std::abs(sum - 1) > 1e-5 * magnitude * rows.slots) refuse(fmt::format("row {} sums to {}", i, sum));
  }
}

}  // namespace

void TwoLayer::check(std::size_t vertices, std::size_t bones) const {
  check_rows(dictionary, virtual_bone_count(), bones, "dictionary");
  check_rows(coefficients, vertices, virtual_bone_count(), "coefficients");
}

}  // namespace sinew
