#pragma once

#include <barrier>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <queue>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "sinew/core/ranks.h"

/// Ranks that are threads of one process, for tests of what processes do.
namespace sinew::test {

/// What they share.
class Board {
 public:
  explicit Board(int count) : together(count), said(static_cast<std::size_t>(count), false) {}

  void put(int from, int to, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    letters_[{from, to}].emplace(bytes.begin(), bytes.end());
    arrived_.notify_all();
  }
  std::vector<std::byte> get(int from, int to) {
    std::unique_lock lock(mutex_);
    auto& letters = letters_[{from, to}];
    arrived_.wait(lock, [&] { return !letters.empty(); });
    std::vector<std::byte> out = std::move(letters.front());
    letters.pop();
    return out;
  }

  std::barrier<> together;
  std::span<const std::byte> shown;
  std::vector<char> said;

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<int, int>, std::queue<std::vector<std::byte>>> letters_;
};

class ThreadRanks : public Ranks {
 public:
  ThreadRanks(int rank, int count, Board& board) : Ranks(rank, count, count), board_(board) {}

 private:
  void send(int to, std::span<const std::byte> bytes) override { board_.put(rank(), to, bytes); }
  void receive(int from, std::span<std::byte> bytes) override {
    const std::vector<std::byte> letter = board_.get(from, rank());
    std::memcpy(bytes.data(), letter.data(), bytes.size());
  }
  void broadcast(int from, std::span<std::byte> bytes) override {
    if (rank() == from) board_.shown = bytes;
    board_.together.arrive_and_wait();
    if (rank() != from) std::memcpy(bytes.data(), board_.shown.data(), bytes.size());
    board_.together.arrive_and_wait();
  }
  bool agree(bool mine) override {
    board_.said[static_cast<std::size_t>(rank())] = mine ? 1 : 0;
    board_.together.arrive_and_wait();
    bool any = false;
    for (const char said : board_.said) any = any || said != 0;
    board_.together.arrive_and_wait();
    return any;
  }

  Board& board_;
};

/// Runs body(ranks) as `count` ranks. What one of them throws is thrown here.
inline void as_ranks(int count, const std::function<void(Ranks&)>& body) {
  Board board(count);
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(count));
  std::vector<std::thread> team;
  for (int r = 0; r < count; ++r)
    team.emplace_back([&, r] {
      ThreadRanks ranks(r, count, board);
      try {
        body(ranks);
      } catch (...) {
        thrown[static_cast<std::size_t>(r)] = std::current_exception();
        board.together.arrive_and_drop();
      }
    });
  for (std::thread& thread : team) thread.join();
  for (const std::exception_ptr& error : thrown)
    if (error) std::rethrow_exception(error);
}

}  // namespace sinew::test
