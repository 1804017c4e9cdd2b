#include "sinew/evaluate/sted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/index.h"
#include "math/adjacency.h"
#include "math/parallel.h"
#include "sinew/core/error.h"

namespace sinew {
namespace {

constexpr std::size_t kGrain = 512;  // vertices
constexpr std::size_t kWindow = 3;   // steps in time that deviate together

/// Weighted standard deviation of what is added.
class Deviation {
 public:
  void add(double value, double weight) {
    weight_ += weight;
    sum_ += weight * value;
    squares_ += weight * value * value;
  }
  double value() const {
    if (!(weight_ > 0)) return 0;
    const double mean = sum_ / weight_;
    return std::sqrt(std::max(0.0, squares_ / weight_ - mean * mean));
  }

 private:
  double weight_ = 0, sum_ = 0, squares_ = 0;
};

/// Sum over the vertices of how relative differences of edge lengths deviate among the edges of each.
double spatial_sum(const Adjacency& adjacency, const Eigen::Ref<const Points>& expected, const Points& posed,
                   int threads) {
  const auto partial = [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t v = begin; v < end; ++v) {
      Deviation around;
      for (const Index w : adjacency[v]) {
        const double length = (expected.col(index(v)) - expected.col(index(w))).cast<double>().norm();
        if (!(length > 0)) continue;
        const double found = (posed.col(index(v)) - posed.col(index(w))).cast<double>().norm();
        around.add((found - length) / length, length);
      }
      sum += around.value();
    }
    return sum;
  };
  return parallel_reduce(adjacency.vertex_count(), kGrain, threads, 0.0, partial, std::plus<>());
}

/// Length of a step in space and time, the time between frames measured as the mean step.
double step_length(const Eigen::Vector3f& from, const Eigen::Vector3f& to, double time) {
  return std::sqrt((to - from).cast<double>().squaredNorm() + time * time);
}

double mean_step(const Sequence& sequence, const std::vector<std::uint8_t>& follows) {
  double sum = 0;
  std::size_t steps = 0;
  for (std::size_t f = 1; f < sequence.frame_count(); ++f) {
    if (follows[f] == 0) continue;
    sum += (sequence.frames[f] - sequence.frames[f - 1]).cast<double>().colwise().norm().mean();
    ++steps;
  }
  return steps > 0 ? sum / static_cast<double>(steps) : 0;
}

/// Relative differences of the steps of every vertex into this frame.
void step_differences(const Eigen::Ref<const Points>& before, const Eigen::Ref<const Points>& now,
                      const Points& posed_before, const Points& posed, double time, Eigen::VectorXd& out) {
  for (Eigen::Index v = 0; v < out.size(); ++v) {
    const double length = step_length(before.col(v), now.col(v), time);
    out[v] = (step_length(posed_before.col(v), posed.col(v), time) - length) / length;
  }
}

EdgeErrors edges_with(const std::function<void(std::size_t, Points&)>& pose_frame, const Sequence& sequence,
                      int threads) {
  const std::size_t frames = sequence.frame_count();
  const auto vertices = index(sequence.vertex_count());
  const Adjacency adjacency = mesh_adjacency(sequence.rest);
  std::vector<std::uint8_t> follows(frames, 1);  // the frame before, in the same clip
  follows[0] = 0;
  for (const Clip& clip : sequence.clips)
    if (clip.first_frame < frames) follows[clip.first_frame] = 0;
  const double time = mean_step(sequence, follows);
  std::vector<Eigen::VectorXd> steps(kWindow, Eigen::VectorXd(vertices));
  Points before(3, vertices), posed(3, vertices);
  std::size_t run = 0;  // steps in a row so far
  std::size_t windows = 0;
  double spatial = 0, temporal = 0;
  for (std::size_t f = 0; f < frames; ++f, std::swap(before, posed)) {
    pose_frame(f, posed);
    spatial += spatial_sum(adjacency, sequence.frames[f], posed, threads);
    run = follows[f] != 0 ? run + 1 : 0;
    if (run == 0 || !(time > 0)) continue;
    step_differences(sequence.frames[f - 1], sequence.frames[f], before, posed, time, steps[f % kWindow]);
    if (run < kWindow) continue;
    ++windows;
    for (Eigen::Index v = 0; v < vertices; ++v) {
      Deviation over;
      for (const Eigen::VectorXd& step : steps) over.add(step[v], 1);
      temporal += over.value();
    }
  }
  EdgeErrors errors;
  const auto count = static_cast<double>(sequence.vertex_count());
  errors.spatial_percent = 100 * spatial / (count * static_cast<double>(frames));
  if (windows > 0) errors.temporal_percent = 100 * temporal / (count * static_cast<double>(windows));
  return errors;
}

void check_counts(std::size_t vertices, std::size_t frames, const Sequence& sequence) {
  if (vertices == sequence.vertex_count() && frames == sequence.frame_count() && frames > 0) return;
  throw Error(ErrorKind::input, fmt::format("model: {} vertices and {} frames, {} has {} and {}", vertices, frames,
                                            sequence.name, sequence.vertex_count(), sequence.frame_count()));
}

}  // namespace

EdgeErrors evaluate_edges(const Rig& rig, const Sequence& sequence, int threads) {
  check_counts(rig.vertex_count(), rig.frame_count(), sequence);
  return edges_with([&](std::size_t frame, Points& out) { pose(rig, frame, out); }, sequence, threads);
}

EdgeErrors evaluate_edges(const Frames& posed, const Sequence& sequence, int threads) {
  check_counts(posed.vertex_count(), posed.count(), sequence);
  return edges_with([&](std::size_t frame, Points& out) { out = posed[frame]; }, sequence, threads);
}

}  // namespace sinew
