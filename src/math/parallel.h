#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace sinew {

/// Runs body(begin, end) over [0, n) cut into fixed chunks of `grain`. The chunks depend on n and grain alone, never on
/// `threads`, and each is run by one thread: as long as a body only writes what belongs to its chunk, the result has
/// the same bits for any thread count. threads = 0 takes all cores; 1 runs in this thread. Exceptions reach the caller.
void parallel_for(std::size_t n, std::size_t grain, int threads,
                  const std::function<void(std::size_t, std::size_t)>& body);

/// Ordered reduction: partial(begin, end) of every fixed chunk, folded with join(total, part) in chunk order.
template <class T, class Partial, class Join>
T parallel_reduce(std::size_t n, std::size_t grain, int threads, T identity, const Partial& partial, const Join& join) {
  const std::size_t step = std::max<std::size_t>(1, grain);
  const std::size_t chunks = (n + step - 1) / step;
  std::vector<T> parts(chunks, identity);
  parallel_for(chunks, 1, threads, [&](std::size_t first, std::size_t last) {
    for (std::size_t c = first; c < last; ++c) parts[c] = partial(c * step, std::min(n, (c + 1) * step));
  });
  for (const T& part : parts) identity = join(std::move(identity), part);
  return identity;
}

/// The number of threads that `threads` stands for.
int resolve_threads(int threads);

}  // namespace sinew
