#include "math/parallel.h"

// The thread sanitizer cannot see how TBB hands work from thread to thread and takes that for races; WebAssembly has no
// TBB. Their builds share chunks among plain threads.
#if defined(__SANITIZE_THREAD__) || defined(__EMSCRIPTEN__)
#define SINEW_PLAIN_THREADS
#else
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#endif

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

namespace sinew {
namespace {

#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
constexpr bool kThreads = false;  // none can be started
#else
constexpr bool kThreads = true;
#endif

#ifdef SINEW_PLAIN_THREADS
int available_threads() {
  return static_cast<int>(std::thread::hardware_concurrency());
}

void run_chunks(std::size_t chunks, int workers, const std::function<void(std::size_t)>& run_chunk) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(workers));
  std::vector<std::thread> team;
  for (std::exception_ptr& error : thrown) {
    team.emplace_back([&] {
      try {
        for (std::size_t c = next++; c < chunks; c = next++) run_chunk(c);
      } catch (...) {
        error = std::current_exception();
      }
    });
  }
  for (std::thread& thread : team) thread.join();
  for (const std::exception_ptr& error : thrown)
    if (error) std::rethrow_exception(error);
}
#else
int available_threads() {
  return tbb::info::default_concurrency();
}

void run_chunks(std::size_t chunks, int workers, const std::function<void(std::size_t)>& run_chunk) {
  // Where the process may use fewer cores, TBB would grant less and write a warning to stderr, which is the program's.
  std::optional<tbb::global_control> allowed;
  if (workers > tbb::info::default_concurrency())
    allowed.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers));
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
#endif

}  // namespace

int resolve_threads(int threads) {
  if (!kThreads) return 1;
  if (threads > 0) return threads;
  return std::max(1, available_threads());  // cores that this process may use
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
  run_chunks(chunks, workers, run_chunk);
}

}  // namespace sinew
