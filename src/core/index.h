#pragma once

#include <Eigen/Core>
#include <cstddef>

/// Between the index types of Eigen, of the standard library and of plain counts.
namespace sinew {

constexpr Eigen::Index index(std::size_t i) {
  return static_cast<Eigen::Index>(i);
}

constexpr std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace sinew
