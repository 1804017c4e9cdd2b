#include "math/parallel.h"

// The thread sanitizer cannot see how TBB hands work from thread to thread and takes that for races; WebAssembly has no
// TBB. Their builds share chunks among threads of our own.
#if defined(__SANITIZE_THREAD__) || defined(__EMSCRIPTEN__)
#define SINEW_OWN_THREADS
#else
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#endif
#ifdef __EMSCRIPTEN_PTHREADS__
#include <emscripten.h>
#endif

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace sinew {
namespace {

#ifdef SINEW_OWN_THREADS
#ifdef __EMSCRIPTEN_PTHREADS__
// A page starts the workers that threads run in before the program begins, and says how many (view/wasm/program.js).
int page_helpers() {
  return EM_ASM_INT({ return Module["helpers"] | 0; });
}

const int kMostThreads = 1 + page_helpers();
#elif defined(__EMSCRIPTEN__)
const int kMostThreads = 1;
#else
const int kMostThreads = 1 << 10;
#endif

int available_threads() {
  return std::min(kMostThreads, static_cast<int>(std::thread::hardware_concurrency()));
}

/// Threads that wait between loops. They work on one loop at a time: another one, inside it or beside it, runs in the
/// thread that calls it.
class Team {
 public:
  ~Team() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void run(std::size_t chunks, int workers, const std::function<void(std::size_t)>& run_chunk) {
    Loop loop{chunks, workers - 1, run_chunk};
    const std::unique_lock mine(one_loop_, std::try_to_lock);
    if (mine.owns_lock()) {
      {
        const std::lock_guard lock(mutex_);
        while (static_cast<int>(threads_.size()) < workers - 1) threads_.emplace_back([this] { help(); });
        loop_ = &loop;
        ++number_;
      }
      changed_.notify_all();
    }
    work_on(loop);
    if (mine.owns_lock()) {
      std::unique_lock lock(mutex_);
      loop_ = nullptr;
      changed_.wait(lock, [this] { return helping_ == 0; });
    }
    if (loop.error) std::rethrow_exception(loop.error);
  }

 private:
  struct Loop {
    std::size_t chunks;
    int places;  // for threads of the team, guarded by mutex_
    const std::function<void(std::size_t)>& run_chunk;
    std::atomic<std::size_t> next{0};
    std::exception_ptr error{};  // guarded by mutex_
  };

  void work_on(Loop& loop) {
    try {
      for (std::size_t c = loop.next++; c < loop.chunks; c = loop.next++) loop.run_chunk(c);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      loop.error = std::current_exception();
    }
  }

  void help() {
    std::uint64_t seen = 0;  // number of the last loop that this thread has worked on
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ending_ || (loop_ != nullptr && loop_->places > 0 && number_ != seen); });
      if (ending_) return;
      Loop& loop = *loop_;
      --loop.places;
      ++helping_;
      seen = number_;
      lock.unlock();
      work_on(loop);
      lock.lock();
      if (--helping_ == 0) changed_.notify_all();
    }
  }

  std::mutex one_loop_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
  Loop* loop_ = nullptr;
  std::uint64_t number_ = 0;  // of the loop
  int helping_ = 0;           // threads of the team that work on it
  bool ending_ = false;
};

void run_chunks(std::size_t chunks, int workers, const std::function<void(std::size_t)>& run_chunk) {
  static Team team;
  team.run(chunks, workers, run_chunk);
}
#else
constexpr int kMostThreads = std::numeric_limits<int>::max();

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
  if (threads > 0) return std::min(threads, kMostThreads);
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
