#include "sinew/math/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <optional>

namespace sinew {
namespace {

/// What TBB promises, said so that the thread sanitizer, which cannot see into TBB, knows it: what came before
/// parallel_for happens before every chunk, and every chunk before what follows. Chunks stay unordered among themselves.
struct ForkAndJoin {
#ifdef __SANITIZE_THREAD__
  std::atomic<int> fork{0};
  std::atomic<int> join{0};
  ForkAndJoin() { fork.store(1, std::memory_order_release); }
  void begin_chunk() { fork.load(std::memory_order_acquire); }
  void end_chunk() { join.fetch_add(1, std::memory_order_release); }
  ~ForkAndJoin() { join.load(std::memory_order_acquire); }
#else
  void begin_chunk() {}
  void end_chunk() {}
#endif
};

}  // namespace

int resolve_threads(int threads) {
  if (threads > 0) return threads;
  return std::max(1, tbb::info::default_concurrency());  // cores that this process may use
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
  // Where the process may use fewer cores, TBB would grant less and write a warning to stderr, which is the program's.
  std::optional<tbb::global_control> allowed;
  if (workers > tbb::info::default_concurrency())
    allowed.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers));
  tbb::task_arena arena(workers);
  ForkAndJoin order;
  arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, chunks, 1),
        [&](const tbb::blocked_range<std::size_t>& range) {
          order.begin_chunk();
          for (std::size_t c = range.begin(); c < range.end(); ++c) run_chunk(c);
          order.end_chunk();
        },
        tbb::simple_partitioner());
  });
}

}  // namespace sinew
