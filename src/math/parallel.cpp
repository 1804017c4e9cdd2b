#include "sinew/math/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <thread>

namespace sinew {

int resolve_threads(int threads) {
  if (threads > 0) return threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void parallel_for(std::size_t n, std::size_t grain, int threads,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  const std::size_t step = std::max<std::size_t>(1, grain);
  const std::size_t chunks = (n + step - 1) / step;
  const auto run_chunk = [&](std::size_t c) { body(c * step, std::min(n, (c + 1) * step)); };
  const int workers = resolve_threads(threads);
  if (workers == 1 || chunks <= 1) {
    for (std::size_t c = 0; c < chunks; ++c) run_chunk(c);
    return;
  }
  tbb::task_arena arena(workers);
  arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, chunks, 1),
        [&](const tbb::blocked_range<std::size_t>& range) {
          for (std::size_t c = range.begin(); c < range.end(); ++c) run_chunk(c);
        },
        tbb::simple_partitioner());
  });
}

}  // namespace sinew
