#include "pack/cheap_rounding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace sinew::pack {
namespace {

constexpr std::size_t kGroup = 16;
constexpr int kStates = 3;                           // the nearest multiple and its neighbours
constexpr std::array<int, 4> kModes = {0, 2, 4, 8};  // bits a number
// Of a squared step: what a bit less costs where the step itself is made coarser, 2 ln 2 / 12.
constexpr double kBit = 0.1155;

using Costs = std::array<double, kStates>;
using Numbers = std::array<int, kStates>;
using Steps = std::array<std::array<std::uint8_t, kStates>, kGroup>;  // the state before, of each state of a group

double bits(int mode, int difference) {
  const auto byte = static_cast<std::int8_t>(difference);
  const int folded = byte >= 0 ? 2 * byte : -2 * byte - 1;
  if (mode == 0) return folded == 0 ? 0 : std::numeric_limits<double>::infinity();
  if (mode == 8) return 8;
  return folded < (1 << mode) - 1 ? mode : mode + 8;
}

/// The cheapest way through a group with one mode.
struct Path {
  Costs costs{};
  Steps before{};
};

Path walk(std::span<const double> x, std::span<const Numbers> numbers, const Numbers& last, const Costs& start,
          int step, int mode) {
  Path path;
  Costs now = start;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Numbers& previous = i == 0 ? last : numbers[i - 1];
    Costs next;
    for (std::size_t s = 0; s < kStates; ++s) {
      next[s] = std::numeric_limits<double>::infinity();
      for (std::size_t t = 0; t < kStates; ++t) {
        const double cost = now[t] + kBit * bits(mode, numbers[i][s] - previous[t]);
        if (cost >= next[s]) continue;
        next[s] = cost;
        path.before[i][s] = static_cast<std::uint8_t>(t);
      }
      const double missed = (numbers[i][s] - x[i]) / step;
      next[s] += missed * missed;
    }
    now = next;
  }
  path.costs = now;
  return path;
}

}  // namespace

std::vector<int> cheap_rounding(std::span<const double> x, int step, int most, std::size_t first) {
  std::vector<Numbers> numbers;
  const int highest = most / step;
  for (const double value : x) {
    const int nearest = static_cast<int>(std::lround(value / step));
    Numbers& candidates = numbers.emplace_back();
    for (int s = 0; s < kStates; ++s)
      candidates[static_cast<std::size_t>(s)] = step * std::clamp(nearest + s - 1, -highest, highest);
  }
  // Each group's way to end in each state, and the state before the group.
  std::vector<std::array<Steps, kStates>> ways;
  std::vector<std::size_t> starts;
  Costs costs{};
  Numbers last = numbers.empty() ? Numbers{} : numbers.front();
  for (std::size_t from = 0; from < x.size();) {
    const std::size_t size = std::min(kGroup - (first + from) % kGroup, x.size() - from);
    const auto part = std::span(numbers).subspan(from, size);
    Costs least;
    least.fill(std::numeric_limits<double>::infinity());
    std::array<Steps, kStates>& way = ways.emplace_back();
    for (const int mode : kModes) {
      const Path path = walk(x.subspan(from, size), part, last, costs, step, mode);
      for (std::size_t s = 0; s < kStates; ++s) {
        if (path.costs[s] >= least[s]) continue;
        least[s] = path.costs[s];
        way[s] = path.before;
      }
    }
    starts.push_back(from);
    costs = least;
    last = part.back();
    from += size;
  }
  std::vector<int> out(x.size());
  auto state = static_cast<std::size_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
  std::size_t end = x.size();
  for (std::size_t g = ways.size(); g-- > 0;) {
    const Steps way = ways[g][state];
    for (std::size_t i = end; i-- > starts[g];) {
      out[i] = numbers[i][state];
      state = way[i - starts[g]][state];
    }
    end = starts[g];
  }
  return out;
}

}  // namespace sinew::pack
