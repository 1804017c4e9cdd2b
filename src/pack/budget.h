#pragma once

#include <string>
#include <vector>

#include "pack/precision.h"

namespace sinew::pack {

/// One way to round one part of a rig: what it costs in bytes and adds to the errors, squared.
struct Rung {
  Precision precision;  // only the part's own numbers count
  double bytes = 0;
  double e_squared = 0;
  double normals_squared = 0;
  std::string text;
};

/// The ways to round one part, from fine to coarse.
struct Ladder {
  std::string name;
  void (*apply)(const Precision& from, Precision& to);  // copies the part's own numbers
  std::vector<Rung> rungs;
  std::size_t chosen = 0;
};

/// Chooses a rung of every ladder so that the sums of what they add stay within both bounds: as long as one fits, the
/// step that saves most bytes for the share of the bounds that it takes.
void share_out(double e_squared, double normals_squared, std::vector<Ladder>& ladders);

}  // namespace sinew::pack
