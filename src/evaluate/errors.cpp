#include "sinew/evaluate/errors.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "core/index.h"
#include "math/parallel.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"

namespace sinew {
namespace {

constexpr std::size_t kBlock = 16;  // frames that are held at once: bounds the memory, fixes the order of sums

/// Gives the posed positions or normals of one frame.
using Poser = std::function<void(std::size_t frame, Points& out)>;

/// What is compared: positions, and normals as they are played where there are such.
struct Posers {
  Poser positions;
  Poser normals;
};

/// Sums over one frame.
struct FrameSums {
  double squares = 0;       // sum_v |d|²
  double angles = 0;        // sum_v area·angle²
  double played = 0;        // the same for played normals
  double area = 0;          // sum_v area, where the frame has a normal
  double largest = -1;      // max_v |d|²
  std::size_t vertex = 0;   // where that is
  Eigen::VectorXd squared;  // V: |d|²
};

/// Area vectors of the vertices: sum of those of the triangles around them, twice over.
Eigen::Matrix3Xd vertex_areas(const Eigen::Ref<const Points>& points, const std::vector<Index>& triangles,
                              Eigen::VectorXd* areas) {
  Eigen::Matrix3Xd out = Eigen::Matrix3Xd::Zero(3, points.cols());
  if (areas != nullptr) *areas = Eigen::VectorXd::Zero(points.cols());
  for (std::size_t t = 0; t + 2 < triangles.size(); t += 3) {
    const Eigen::Vector3d a = points.col(triangles[t]).cast<double>();
    const Eigen::Vector3d b = points.col(triangles[t + 1]).cast<double>();
    const Eigen::Vector3d c = points.col(triangles[t + 2]).cast<double>();
    const Eigen::Vector3d n = (b - a).cross(c - a);
    const double area = n.norm();
    for (std::size_t corner = t; corner < t + 3; ++corner) {
      out.col(triangles[corner]) += n;
      if (areas != nullptr) (*areas)[triangles[corner]] += area;
    }
  }
  return out;
}

/// Angle between two directions, accurate for small ones too; a right angle where the model has no direction.
double angle_between(const Eigen::Vector3d& expected, const Eigen::Vector3d& found) {
  if (!(found.squaredNorm() > 0)) return std::numbers::pi / 2;
  return std::atan2(expected.cross(found).norm(), expected.dot(found));
}

/// `played` has no columns where there are no played normals.
void compare_frame(const Eigen::Ref<const Points>& expected, const Points& posed, const Points& played,
                   const std::vector<Index>& triangles, FrameSums& sums) {
  const Eigen::Index vertices = expected.cols();
  sums.squared.resize(vertices);
  for (Eigen::Index v = 0; v < vertices; ++v) {
    const Eigen::Vector3d p = expected.col(v).cast<double>();
    const double d = (posed.col(v).cast<double>() - p).squaredNorm();
    sums.squared[v] = d;
    sums.squares += d;
    if (d > sums.largest) {
      sums.largest = d;
      sums.vertex = static_cast<std::size_t>(v);
    }
  }
  Eigen::VectorXd areas;
  const Eigen::Matrix3Xd expected_normals = vertex_areas(expected, triangles, &areas);
  const Eigen::Matrix3Xd posed_normals = vertex_areas(posed, triangles, nullptr);
  for (Eigen::Index v = 0; v < vertices; ++v) {
    if (!(expected_normals.col(v).squaredNorm() > 0)) continue;
    const double angle = angle_between(expected_normals.col(v), posed_normals.col(v));
    sums.angles += areas[v] * angle * angle;
    if (played.cols() != 0) {
      const double shown = angle_between(expected_normals.col(v), played.col(v).cast<double>());
      sums.played += areas[v] * shown * shown;
    }
    sums.area += areas[v];
  }
}

/// Sum over all frames and vertices of |p - time average of p|², found in one pass: positions are counted from those of
/// the first frame, which costs no accuracy since that frame is one of them.
class FromAverage {
 public:
  explicit FromAverage(const Sequence& sequence)
      : first_(sequence.frames[0]), sum_(Eigen::Matrix3Xd::Zero(3, first_.cols())) {}

  void add(const std::vector<ConstPointsMap>& frames, int threads) {
    const auto partial = [&](std::size_t begin, std::size_t end) {
      double squares = 0;
      for (const ConstPointsMap& frame : frames)
        for (auto v = index(begin); v < index(end); ++v) {
          const Eigen::Vector3d d = frame.col(v).cast<double>() - first_.col(v).cast<double>();
          sum_.col(v) += d;
          squares += d.squaredNorm();
        }
      return squares;
    };
    squares_ += parallel_reduce(static_cast<std::size_t>(first_.cols()), 4096, threads, 0.0, partial, std::plus<>());
  }

  double value(std::size_t frames) const {
    return std::max(0.0, squares_ - sum_.squaredNorm() / static_cast<double>(frames));
  }

 private:
  Points first_;
  Eigen::Matrix3Xd sum_;
  double squares_ = 0;
};

/// Errors of a rig half-way between frames, of which some are shown at a time, in order.
class HalfwayErrors {
 public:
  HalfwayErrors(const Rig& halfway, const Sequence& sequence) : halfway_(halfway), sequence_(sequence) {
    std::vector<std::size_t> starts;  // of clips
    for (const Clip& clip : sequence.clips) starts.push_back(clip.first_frame);
    if (sequence.clips.empty()) {  // not every format keeps them: then those of the rig count
      std::size_t start = 0;
      for (const Clip& clip : halfway.clips) {
        starts.push_back(start);
        start += clip.frames + 1;
      }
    }
    for (std::size_t f = 0; f + 1 < sequence.frame_count(); ++f)
      if (std::find(starts.begin(), starts.end(), f + 1) == starts.end()) before_.push_back(f);
    if (before_.empty()) return;
    if (halfway.vertex_count() != sequence.vertex_count() || halfway.frame_count() != before_.size())
      throw Error(ErrorKind::input,
                  fmt::format("rig: {} vertices at {} places between keys, {} has {} at {}", halfway.vertex_count(),
                              halfway.frame_count(), sequence.name, sequence.vertex_count(), before_.size()));
    squares_.resize(before_.size(), 0);
    largest_.resize(before_.size(), 0);
  }

  /// Frames first, first + 1, …, which follow those of the last call.
  void add(const std::vector<ConstPointsMap>& frames, std::size_t first, int threads) {
    const std::size_t start = done_;
    while (done_ < before_.size() && before_[done_] + 1 < first + frames.size()) ++done_;
    parallel_for(done_ - start, 1, threads, [&](std::size_t begin, std::size_t end) {
      Points posed(3, index(sequence_.vertex_count()));
      for (std::size_t i = start + begin; i < start + end; ++i) {
        pose(halfway_, i, posed);
        const std::size_t f = before_[i];
        const ConstPointsMap from = f < first ? ConstPointsMap(last_.data(), 3, last_.cols()) : frames[f - first];
        const ConstPointsMap& to = frames[f + 1 - first];
        for (Eigen::Index v = 0; v < posed.cols(); ++v) {
          const Eigen::Vector3d middle = 0.5 * (from.col(v).cast<double>() + to.col(v).cast<double>());
          const double d = (posed.col(v).cast<double>() - middle).squaredNorm();
          squares_[i] += d;
          largest_[i] = std::max(largest_[i], d);
        }
      }
    });
    if (done_ < before_.size()) last_ = frames.back();
  }

  ErrorsBetween errors() const {
    ErrorsBetween out;
    out.places = before_.size();
    if (before_.empty()) return out;
    double sum = 0;
    for (const double s : squares_) sum += s;
    const double diagonal = bounding_box_diagonal(sequence_.rest.positions);
    const double percent = 100 / (diagonal > 0 ? diagonal : 1);
    const double count = static_cast<double>(before_.size()) * static_cast<double>(sequence_.vertex_count());
    out.rmse_percent = percent * std::sqrt(sum / count);
    out.max_percent = percent * std::sqrt(*std::max_element(largest_.begin(), largest_.end()));
    return out;
  }

 private:
  const Rig& halfway_;
  const Sequence& sequence_;
  std::vector<std::size_t> before_;  // frames that another of the same clip follows
  std::size_t done_ = 0;             // of them
  std::vector<double> squares_;
  std::vector<double> largest_;
  Points last_;  // the last frame that was shown
};

/// `halfway`: what looks at the same frames in the same pass; null: nothing.
Errors evaluate_with(const Posers& posers, const Sequence& sequence, int threads, HalfwayErrors* halfway = nullptr) {
  const std::size_t frames = sequence.frame_count();
  const std::size_t vertices = sequence.vertex_count();
  const std::vector<Index> triangles = triangles_of(sequence.rest);
  FromAverage deviation(sequence);
  const double diagonal = bounding_box_diagonal(sequence.rest.positions);
  const double percent = 100 / (diagonal > 0 ? diagonal : 1);

  Errors errors;
  errors.per_frame.resize(frames);
  Eigen::VectorXd squared = Eigen::VectorXd::Zero(index(vertices));
  FrameSums total;
  for (std::size_t first = 0; first < frames; first += kBlock) {
    std::vector<FrameSums> block(std::min(kBlock, frames - first));
    std::vector<ConstPointsMap> shown;
    for (std::size_t i = 0; i < block.size(); ++i) shown.push_back(sequence.frames[first + i]);
    deviation.add(shown, threads);
    if (halfway != nullptr) halfway->add(shown, first, threads);
    parallel_for(block.size(), 1, threads, [&](std::size_t begin, std::size_t end) {
      Points posed(3, index(vertices));
      Points played(3, posers.normals ? index(vertices) : 0);
      for (std::size_t i = begin; i < end; ++i) {
        posers.positions(first + i, posed);
        if (posers.normals) posers.normals(first + i, played);
        compare_frame(shown[i], posed, played, triangles, block[i]);
      }
    });
    for (std::size_t i = 0; i < block.size(); ++i) {
      const FrameSums& frame = block[i];
      total.squares += frame.squares;
      total.angles += frame.angles;
      total.played += frame.played;
      total.area += frame.area;
      squared += frame.squared;
      errors.per_frame[first + i] = percent * std::sqrt(frame.squares / static_cast<double>(vertices));
      if (frame.largest > total.largest) {
        total.largest = frame.largest;
        errors.worst_frame = first + i;
        errors.worst_vertex = frame.vertex;
      }
    }
  }
  const double count = static_cast<double>(vertices) * static_cast<double>(frames);
  errors.e_rms = e_rms_of(total.squares, vertices, frames, smallest_enclosing_sphere(sequence.rest.positions).radius);
  errors.rmse_percent = percent * std::sqrt(total.squares / count);
  errors.distortion_percent = total.squares > 0 ? 100 * std::sqrt(total.squares / deviation.value(frames)) : 0;
  const auto degrees = [&](double squares) {
    return total.area > 0 ? std::sqrt(squares / total.area) * 180 / std::numbers::pi : 0;
  };
  errors.normal_degrees = degrees(total.angles);
  errors.played_degrees = degrees(total.played);
  errors.max_distance = std::sqrt(std::max(0.0, total.largest));
  errors.max_percent = percent * errors.max_distance;
  errors.per_vertex.resize(vertices);
  for (std::size_t v = 0; v < vertices; ++v)
    errors.per_vertex[v] = percent * std::sqrt(squared[index(v)] / static_cast<double>(frames));
  return errors;
}

void check_counts(const char* what, std::size_t vertices, std::size_t frames, const Sequence& sequence) {
  if (vertices != sequence.vertex_count())
    throw Error(ErrorKind::input,
                fmt::format("{}: {} vertices, {} has {}", what, vertices, sequence.name, sequence.vertex_count()));
  if (frames != sequence.frame_count())
    throw Error(ErrorKind::input,
                fmt::format("{}: {} frames, {} has {}", what, frames, sequence.name, sequence.frame_count()));
  if (vertices == 0 || frames == 0)
    throw Error(ErrorKind::input, fmt::format("{}: no vertices or no frames to compare", what));
}

Errors evaluate_rig(const Rig& rig, const Sequence& sequence, int threads, HalfwayErrors* halfway) {
  check_counts("rig", rig.vertex_count(), rig.frame_count(), sequence);
  const Points rest =
      vertex_areas(rig.rest.positions, triangles_of(rig.rest), nullptr).colwise().normalized().cast<float>();
  return evaluate_with({[&](std::size_t frame, Points& out) { pose(rig, frame, out); },
                        [&](std::size_t frame, Points& out) { pose_normals(rig, frame, rest, out); }},
                       sequence, threads, halfway);
}

}  // namespace

Errors evaluate(const Rig& rig, const Sequence& sequence, int threads) {
  return evaluate_rig(rig, sequence, threads, nullptr);
}

Errors evaluate(const Rig& rig, const Rig& halfway, const Sequence& sequence, ErrorsBetween& between, int threads) {
  check_counts("rig", rig.vertex_count(), rig.frame_count(), sequence);
  HalfwayErrors beside(halfway, sequence);
  const Errors errors = evaluate_rig(rig, sequence, threads, &beside);
  between = beside.errors();
  return errors;
}

Errors evaluate(const Frames& posed, const Sequence& sequence, int threads) {
  check_counts("posed frames", posed.vertex_count(), posed.count(), sequence);
  return evaluate_with({[&](std::size_t frame, Points& out) { out = posed[frame]; }, nullptr}, sequence, threads);
}

ErrorsBetween evaluate_between(const Rig& halfway, const Sequence& sequence, int threads) {
  HalfwayErrors errors(halfway, sequence);
  for (std::size_t first = 0; first < sequence.frame_count(); first += kBlock) {
    std::vector<ConstPointsMap> shown;
    for (std::size_t f = first; f < std::min(first + kBlock, sequence.frame_count()); ++f)
      shown.push_back(sequence.frames[f]);
    errors.add(shown, first, threads);
  }
  return errors.errors();
}

double e_rms_of(double sum_of_squares, std::size_t vertices, std::size_t frames, double radius) {
  const double scale = radius > 0 ? radius : 1;
  return 1000 * std::sqrt(sum_of_squares / (3 * static_cast<double>(vertices) * static_cast<double>(frames))) / scale;
}

}  // namespace sinew
