#pragma once

#include <span>
#include <vector>

namespace sinew::pack {

/// Multiples of `step` near `x`, one for each, for which the vertex codec takes few bits: it writes the differences of
/// consecutive bytes in groups of 16, every group with 0, 2, 4 or 8 bits a number and a byte more for what does not
/// fit. A number may be one step off the nearest where that saves more than a coarser step would. `first` is the place
/// of x[0] in its stream; none is beyond `most`, at most 127.
std::vector<int> cheap_rounding(std::span<const double> x, int step, int most, std::size_t first);

}  // namespace sinew::pack
