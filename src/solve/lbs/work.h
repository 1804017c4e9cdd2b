#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <limits>

#include "solve/lbs/problem.h"

/// Work is counted, not timed: a search that ends after so much work ends with the same bits on any machine and for any
/// number of threads. One unit is about a nanosecond of one core of 2023.
namespace sinew::lbs {

inline constexpr double kWorkUnit = 1e6;  // of what users are told: about a millisecond

struct Work {
  std::uint64_t done = 0;
};

/// How much work a solve may do. Seconds are turned into work by what the work so far took; the first time that
/// something is not affordable any more the amount is settled, and a solve with that amount as its limit decides alike.
class Budget {
 public:
  /// Seconds from now on, by the clock of the first rank, or `work`; both 0: as much as it takes.
  Budget(double seconds, std::uint64_t work, Ranks& ranks = alone());

  /// Whether `work` more may be done.
  bool affords(std::uint64_t work);
  void spend(std::uint64_t work) { done_ += work; }
  std::uint64_t done() const { return done_; }
  bool limited() const { return seconds_ > 0 || limit_ > 0; }
  /// The limit that repeats this solve: what was settled, or what was done where nothing had to be given up.
  std::uint64_t amount() const;
  /// Units of work per second so far.
  double rate() const;
  /// Share of the budget that is spent; -1 where there is none.
  double fraction() const;

  Eigen::MatrixXd saved() const;
  void take(const Eigen::MatrixXd& saved);

 private:
  double elapsed() const;

  Ranks* ranks_;
  double seconds_;
  std::uint64_t limit_;  // 0: not settled
  double begin_;         // of the clock
  std::uint64_t done_ = 0;
  std::uint64_t granted_ = 0;  // the most that was ever said to be affordable
};

/// One iteration of weights and bones, of which `exchanges` vertices tried to exchange a bone.
std::uint64_t iteration_work(const Problem& problem, int bones, int influences, std::uint64_t exchanges);

/// The part of it that the bones take, however many vertices there are.
std::uint64_t motion_work(std::size_t frames, int bones);

/// One pass that compares every vertex with every bone or candidate.
std::uint64_t comparison_work(const Problem& problem, int bones);

}  // namespace sinew::lbs
