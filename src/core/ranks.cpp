#include "sinew/core/ranks.h"

#include <algorithm>

namespace sinew {
namespace {

constexpr std::size_t kParts = 32;                // at most, unless they were larger than the next number
constexpr std::size_t kLargestPart = 1ULL << 18;  // so that many ranks find work in many vertices

}  // namespace

std::size_t part_size(std::size_t vertices) {
  const std::size_t steps = (vertices + kPartStep - 1) / kPartStep;
  return std::clamp<std::size_t>((steps + kParts - 1) / kParts * kPartStep, kPartStep, kLargestPart);
}

VertexRange Ranks::vertices_of(int rank, std::size_t vertices) const {
  const std::size_t size = part_size(vertices);
  const std::size_t parts = (vertices + size - 1) / size;
  const auto start = [&](int r) {
    return std::min(vertices, parts * static_cast<std::size_t>(r) / static_cast<std::size_t>(count_) * size);
  };
  return {start(rank), start(rank + 1)};
}

VertexRange Ranks::held(std::size_t vertices, std::size_t step) const {
  const VertexRange range = own(vertices);
  if (range.count() == 0) return range;
  return {range.first / step * step, std::min(vertices, (range.last + step - 1) / step * step)};
}

void Ranks::take(std::span<double> sum) {
  if (rank_ == 0) return;
  receive(rank_ - 1, std::as_writable_bytes(sum));
  traffic_.sums += sum.size_bytes();
}

void Ranks::hand_on(std::span<const double> sum) {
  if (rank_ + 1 < count_) send(rank_ + 1, std::as_bytes(sum));
}

void Ranks::total(std::span<double> sum) {
  if (alone()) return;
  broadcast(count_ - 1, std::as_writable_bytes(sum));
  if (rank_ + 1 < count_) traffic_.sums += sum.size_bytes();
}

void Ranks::share_from(int rank, std::span<std::byte> bytes) {
  if (alone() || bytes.empty()) return;
  broadcast(rank, bytes);
  if (rank != rank_) traffic_.vertices += bytes.size();
}

void Ranks::from_first(std::span<std::byte> bytes) {
  if (!alone()) broadcast(0, bytes);
}

bool Ranks::any(bool mine) {
  return alone() ? mine : agree(mine);
}

Ranks& alone() {
  static Ranks one;
  return one;
}

}  // namespace sinew
