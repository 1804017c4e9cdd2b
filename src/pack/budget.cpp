#include "pack/budget.h"

#include <algorithm>

namespace sinew::pack {
namespace {

/// A share of a bound; what a bound of nothing does not allow costs more than all.
double share(double squares, double bound) {
  if (squares <= 0) return 0;
  return bound > 0 ? squares / bound : 1e9;
}

struct Step {
  std::size_t ladder = 0;
  std::size_t rung = 0;
  double gain = 0;  // bytes for the share of the bounds
};

}  // namespace

void share_out(double e_squared, double normals_squared, std::vector<Ladder>& ladders) {
  for (Ladder& ladder : ladders) ladder.chosen = 0;
  const auto total = [&](double Rung::*what) {
    double sum = 0;
    for (const Ladder& ladder : ladders) sum += ladder.rungs[ladder.chosen].*what;
    return sum;
  };
  for (;;) {
    Step best;
    const double e = total(&Rung::e_squared);
    const double n = total(&Rung::normals_squared);
    for (std::size_t i = 0; i < ladders.size(); ++i) {
      const Rung& now = ladders[i].rungs[ladders[i].chosen];
      for (std::size_t r = ladders[i].chosen + 1; r < ladders[i].rungs.size(); ++r) {
        const Rung& then = ladders[i].rungs[r];
        const double saved = now.bytes - then.bytes;
        const double more_e = then.e_squared - now.e_squared;
        const double more_n = then.normals_squared - now.normals_squared;
        const bool fits = share(e + more_e, e_squared) <= 1 && share(n + more_n, normals_squared) <= 1;
        if (saved <= 0 || !fits) continue;
        const double cost = std::max({1e-6, share(more_e, e_squared), share(more_n, normals_squared)});
        if (saved / cost > best.gain) best = {i, r, saved / cost};
      }
    }
    if (best.gain == 0) return;
    ladders[best.ladder].chosen = best.rung;
  }
}

}  // namespace sinew::pack
