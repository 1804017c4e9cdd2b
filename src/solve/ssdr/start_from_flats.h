#pragma once

#include <vector>

#include "sinew/solve/ssdr.h"

namespace sinew::ssdr {

/// Vertices gathered by where they sit on the closest flat that a few alternations find [Liu2020 §4]: a label per
/// vertex, below `parts`. Those that move by similar transforms sit close together, however far apart they are on the
/// mesh.
std::vector<Index> flat_parts(const Sequence& sequence, const SsdrOptions& options, int parts);

}  // namespace sinew::ssdr
