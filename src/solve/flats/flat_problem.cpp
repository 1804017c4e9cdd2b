#include "solve/flats/flat_problem.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/index.h"
#include "math/decompositions.h"
#include "math/gemm.h"
#include "math/parallel.h"
#include "sinew/core/bounds.h"
#include "sinew/evaluate/errors.h"
#include "solve/flats/kernels.h"

namespace sinew::flats {
namespace {

/// Homogeneous rest positions, scaled: V×4.
Eigen::MatrixXd scaled_rest(const Sequence& sequence, const Eigen::Vector3d& center, double scale) {
  Eigen::MatrixXd rest(index(sequence.vertex_count()), 4);
  rest.leftCols<3>() = (sequence.rest.positions.transpose().cast<double>().rowwise() - center.transpose()) / scale;
  rest.col(3).setOnes();
  return rest;
}

/// values -= rest · base, for the rows of `rest` from `first` on.
void subtract_base(const Eigen::MatrixXd& rest, std::size_t first, const Eigen::MatrixXd& base,
                   Eigen::MatrixXd& values) {
  gemm_block(Op::none, Op::none, static_cast<int>(values.rows()), static_cast<int>(values.cols()), 4, -1.0,
             rest.data() + first, static_cast<int>(rest.rows()), base.data(), 4, 1.0, values.data(),
             static_cast<int>(values.rows()));
}

/// The largest number that any rank has.
float largest_of_all(Ranks& ranks, float mine) {
  std::vector<float> all(static_cast<std::size_t>(ranks.count()), mine);
  for (int r = 0; r < ranks.count(); ++r)
    ranks.share_from(r, std::as_writable_bytes(std::span(all).subspan(static_cast<std::size_t>(r), 1)));
  return *std::max_element(all.begin(), all.end());
}

VertexBlocks<double> blocked(const Eigen::Ref<const Eigen::MatrixXd>& values) {
  VertexBlocks<double> result(static_cast<std::size_t>(values.rows()), static_cast<int>(values.cols()));
  for (std::size_t b = 0; b < result.block_count(); ++b) {
    const auto first = static_cast<Eigen::Index>(b * kBlock);
    const Eigen::Index count = std::min<Eigen::Index>(kBlock, values.rows() - first);
    Eigen::Map<Eigen::MatrixXd>(result.block(b), kBlock, values.cols()).topRows(count) =
        values.middleRows(first, count);
  }
  return result;
}

}  // namespace

double FlatProblem::e_rms(double sum_of_squares) const {
  const double count = 3.0 * static_cast<double>(vertices) * static_cast<double>(frames);
  return 1000 * std::sqrt(sum_of_squares / count) / radius;
}

Eigen::MatrixXd FewVertices::scaled(const Eigen::Vector3d& center, double scale) const {
  Eigen::MatrixXd values(index(count), index(3 * slab.count()));
  for (std::size_t f = 0; f < slab.count(); ++f)
    values.middleCols<3>(index(3 * f)) =
        (slab[f].middleCols(index(at), index(count)).transpose().cast<double>().rowwise() - center.transpose()) / scale;
  return values;
}

Eigen::MatrixXd sum_over_frames(const Sequence& sequence, Eigen::Index rows, Eigen::Index columns,
                                const std::function<void(const FewVertices&, Eigen::MatrixXd& sum)>& add) {
  Ranks& ranks = sequence.frames.ranks();
  const std::size_t part = part_size(sequence.vertex_count());
  const Eigen::MatrixXd zero = Eigen::MatrixXd::Zero(rows, columns);
  Eigen::MatrixXd total = zero;
  std::vector<Eigen::MatrixXd> own;  // sums of parts that wait for those of the ranks before
  const auto close_part = [&] {
    if (!ranks.alone() || own.empty()) return;
    total += own.back();
    own.pop_back();
  };
  for_each_slab(sequence.frames, kPartStep, [&](const Frames& slab, std::size_t first) {
    for (std::size_t at = 0; at < slab.vertex_count(); at += kPartStep) {
      if ((first + at) % part == 0) {
        close_part();
        own.push_back(zero);
      }
      add({slab, at, first + at, std::min(kPartStep, slab.vertex_count() - at)}, own.back());
    }
  });
  close_part();
  const std::span<double> sum(total.data(), static_cast<std::size_t>(total.size()));
  ranks.take(sum);
  for (const Eigen::MatrixXd& mine : own) total += mine;
  ranks.hand_on(sum);
  ranks.total(sum);
  return total;
}

FlatFrames measure_frames(const Sequence& sequence, FlatUnit unit, int threads) {
  FlatFrames out;
  out.sequence = &sequence;
  const Sphere sphere = smallest_enclosing_sphere(sequence.rest.positions);
  out.center = sphere.center;
  out.scale = sphere.radius > 0 ? sphere.radius : 1;
  if (unit == FlatUnit::box && sphere.radius > 0) {
    const Points& rest = sequence.rest.positions;
    out.center = rest.cast<double>().rowwise().mean();
    out.scale = (rest.rowwise().maxCoeff() - rest.rowwise().minCoeff()).cast<double>().norm() / 2;
    out.radius = sphere.radius / out.scale;
  }
  const Eigen::MatrixXd rest = scaled_rest(sequence, out.center, out.scale);
  const Eigen::Index columns = index(3 * sequence.frame_count());
  // Largest coordinate in the input's unit: its last float32 digit bounds what rounding did to any of them.
  float largest = sequence.rest.positions.cwiseAbs().maxCoeff();
  const Eigen::MatrixXd moments = sum_over_frames(sequence, 4, columns, [&](const FewVertices& few, auto& sum) {
    for (std::size_t f = 0; f < few.slab.count(); ++f)
      largest = std::max(largest, few.slab[f].middleCols(index(few.at), index(few.count)).cwiseAbs().maxCoeff());
    const Eigen::MatrixXd values = few.scaled(out.center, out.scale);
    gemm_block(Op::transpose, Op::none, 4, static_cast<int>(columns), static_cast<int>(few.count), 1.0,
               rest.data() + few.first, static_cast<int>(rest.rows()), values.data(), static_cast<int>(few.count), 1.0,
               sum.data(), 4);
  });
  largest = largest_of_all(sequence.frames.ranks(), largest);
  const double digit = static_cast<double>(largest) / out.scale * 0x1p-23;
  out.floor = digit * digit * 3.0 * static_cast<double>(sequence.vertex_count() * sequence.frame_count());
  Eigen::MatrixXd squares(4, 4);
  gemm(Op::transpose, Op::none, 1.0, rest, rest, 0.0, squares, 1);
  const Eigen::MatrixXd W = whitening(squares);
  out.base = W * (W.transpose() * moments);
  out.spread =
      symmetric_eigen(sum_over_frames(sequence, columns, columns, [&](const FewVertices& few, Eigen::MatrixXd& sum) {
        Eigen::MatrixXd values = few.scaled(out.center, out.scale);
        subtract_base(rest, few.first, out.base, values);
        gemm(Op::transpose, Op::none, 1.0, values, values, 1.0, sum, threads);
      }));
  return out;
}

FlatProblem make_flat_problem(const FlatFrames& frames, double truncation, int threads) {
  const Sequence& sequence = *frames.sequence;
  FlatProblem problem;
  problem.vertices = sequence.vertex_count();
  problem.frames = sequence.frame_count();
  problem.floor = frames.floor;
  problem.center = frames.center;
  problem.scale = frames.scale;
  problem.radius = frames.radius;
  problem.base = frames.base;
  const double left_out = truncation * problem.radius / 1000;
  const double allowed = left_out * left_out * 3.0 * static_cast<double>(problem.vertices * problem.frames);
  const Eigen::VectorXd& values = frames.spread.values;
  Eigen::Index dropped = 0;
  while (dropped + 1 < values.size() && problem.truncated + std::max(0.0, values(dropped)) <= allowed)
    problem.truncated += std::max(0.0, values(dropped++));
  problem.directions = frames.spread.vectors.rightCols(values.size() - dropped).rowwise().reverse();
  problem.rank = static_cast<int>(problem.directions.cols());
  problem.reduced_base = problem.base * problem.directions;

  const Eigen::MatrixXd rest = scaled_rest(sequence, problem.center, problem.scale);
  problem.rest = blocked(rest);
  problem.points = VertexBlocks<double>(problem.vertices, problem.rank);
  Ranks& ranks = sequence.frames.ranks();
  const VertexRange mine = ranks.own(problem.vertices);
  const int columns = static_cast<int>(values.size());
  for_each_slab(sequence.frames, kBlock, [&](const Frames& slab, std::size_t first) {
    parallel_for(slab.vertex_count(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
      if (first + begin < mine.first || first + begin >= mine.last) return;  // a block is its first vertex's owner's
      Eigen::MatrixXd some = FewVertices{slab, begin, first + begin, end - begin}.scaled(problem.center, problem.scale);
      subtract_base(rest, first + begin, problem.base, some);
      const int count = static_cast<int>(end - begin);
      gemm_block(Op::none, Op::none, count, problem.rank, columns, 1.0, some.data(), count, problem.directions.data(),
                 columns, 0.0, problem.points.block((first + begin) / kBlock), static_cast<int>(kBlock));
    });
  });
  const auto block_from = [&](std::size_t v) { return problem.points.block((v + kBlock - 1) / kBlock); };
  for (int r = 0; r < ranks.count(); ++r) {
    const VertexRange range = ranks.vertices_of(r, problem.vertices);
    ranks.share_from(r, std::as_writable_bytes(std::span(block_from(range.first), block_from(range.last))));
  }
  return problem;
}

FlatProblem make_flat_problem(const Sequence& sequence, double truncation, FlatUnit unit, int threads) {
  return make_flat_problem(measure_frames(sequence, unit, threads), truncation, threads);
}

FlatProblem make_flat_problem(const Eigen::Ref<const Eigen::MatrixXd>& rest,
                              const Eigen::Ref<const Eigen::MatrixXd>& points) {
  FlatProblem problem;
  problem.vertices = static_cast<std::size_t>(rest.rows());
  problem.frames = static_cast<std::size_t>(std::max<Eigen::Index>(1, points.cols() / 3));
  problem.rank = static_cast<int>(points.cols());
  problem.rest = blocked(rest);
  problem.points = blocked(points);
  problem.directions = Eigen::MatrixXd::Identity(points.cols(), points.cols());
  problem.base = Eigen::MatrixXd::Zero(4, points.cols());
  problem.reduced_base = problem.base;
  return problem;
}

}  // namespace sinew::flats
