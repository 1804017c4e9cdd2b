#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "solve/lbs/problem.h"

namespace sinew::skeleton {

/// At most `count` of the vertices, ascending, that stand for all while bones are looked for: half of them spread
/// evenly, half where coarse clusters follow the motion badly, so that small parts that move are among them.
std::vector<Index> vertices_that_move(const lbs::Problem& problem, std::size_t count, std::uint64_t seed);

}  // namespace sinew::skeleton
