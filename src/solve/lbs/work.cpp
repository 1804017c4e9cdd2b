#include "solve/lbs/work.h"

#include <algorithm>
#include <cmath>

#include "sinew/core/checkpoint.h"
#include "sinew/core/error.h"
#include "sinew/core/fit_report.h"

namespace sinew::lbs {
namespace {

// Nanoseconds of the parts of an iteration, about (docs/algorithms/ssdr.md, "Any amount of time"). They stay where
// passes become faster: an amount of work gives the same rig, sooner.
constexpr double kProduct = 0.012;  // per multiply-add of DᵀY
constexpr double kSum = 0.06;       // per multiply-add of C
constexpr double kVertex = 150;     // per vertex
constexpr double kSupport = 1.4;    // per vertex, influence and bone
constexpr double kExchange = 4.5;   // per exchange, influence squared and bone
constexpr double kRotation = 220;   // per bone, frame and sweep
constexpr double kDense = 0.12;     // per multiply-add of M, D S and what bones exchange

constexpr double kUnitsPerSecond = 1e9;  // until it was measured

}  // namespace

Budget::Budget(double seconds, std::uint64_t work, Ranks& ranks)
    : ranks_(&ranks), seconds_(work > 0 ? 0 : seconds), limit_(work), begin_(now_seconds()) {}

double Budget::elapsed() const {
  return ranks_->of_first(now_seconds() - begin_);
}

double Budget::rate() const {
  return static_cast<double>(done_) / std::max(1e-6, elapsed());
}

bool Budget::affords(std::uint64_t work) {
  if (limit_ == 0 && seconds_ > 0) {
    const double more = std::max(0.0, seconds_ - elapsed()) * (done_ > 0 ? rate() : kUnitsPerSecond);
    if (static_cast<double>(work) > more)
      limit_ = std::max<std::uint64_t>({granted_, done_ + static_cast<std::uint64_t>(more), 1});
  }
  const bool enough = limit_ == 0 || done_ + work <= limit_;
  if (enough) granted_ = std::max(granted_, done_ + work);
  return enough;
}

std::uint64_t Budget::amount() const {
  return limit_ > 0 ? limit_ : std::max(granted_, done_);
}

double Budget::fraction() const {
  if (limit_ > 0) return std::min(1.0, static_cast<double>(done_) / static_cast<double>(limit_));
  return seconds_ > 0 ? std::min(1.0, elapsed() / seconds_) : -1;
}

/// Numbers beyond 2^53 are rounded: that is 100 days of work.
Eigen::MatrixXd Budget::saved() const {
  return numbers({static_cast<double>(limit_), elapsed(), static_cast<double>(done_), static_cast<double>(granted_)});
}

void Budget::take(const Eigen::MatrixXd& saved) {
  if (saved.rows() != 4 || saved.cols() != 1 || saved.minCoeff() < 0 || saved.maxCoeff() > 1e16)
    throw Error(ErrorKind::input, "checkpoint: its budget is not one");
  limit_ = static_cast<std::uint64_t>(saved(0));
  begin_ = now_seconds() - saved(1);
  done_ = static_cast<std::uint64_t>(saved(2));
  granted_ = static_cast<std::uint64_t>(saved(3));
}

namespace {

double motion_nanoseconds(double F, double B) {
  return F * (2 * kRotation * B + kDense * 3 * 16 * 4 * B * B);
}

}  // namespace

std::uint64_t motion_work(std::size_t frames, int bones) {
  return static_cast<std::uint64_t>(motion_nanoseconds(static_cast<double>(frames), bones));
}

std::uint64_t iteration_work(const Problem& problem, int bones, int influences, std::uint64_t exchanges) {
  const auto V = static_cast<double>(problem.vertex_count());
  const auto rows = static_cast<double>(problem.row_count());
  const double B = bones, K = influences;
  const double vertices = V * (kVertex + kProduct * rows * 4 * B + kSum * rows * 4 * K + kSupport * K * B);
  const double motion = motion_nanoseconds(static_cast<double>(problem.frame_count()), bones);
  return static_cast<std::uint64_t>(vertices + motion + kExchange * K * K * B * static_cast<double>(exchanges));
}

std::uint64_t comparison_work(const Problem& problem, int bones) {
  const auto V = static_cast<double>(problem.vertex_count());
  const auto rows = static_cast<double>(problem.row_count());
  return static_cast<std::uint64_t>(V * (kVertex + kProduct * rows * 4 * bones + 10 * kSupport * bones));
}

}  // namespace sinew::lbs
