#include "solve/lbs/problem.h"
#include "core/index.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "math/decompositions.h"
#include "math/gemm.h"
#include "math/parallel.h"
#include "math/rotation.h"
#include "sinew/core/bounds.h"
#include "sinew/evaluate/errors.h"

namespace sinew::lbs {
namespace {

constexpr std::size_t kBlock = 256;              // vertices handled together
constexpr std::size_t kFreeBytes = 96ULL << 20;  // a copy of the frames up to this size is always kept
constexpr std::size_t kLargestBasis = 192;       // columns tried for a reduced basis
constexpr std::size_t kBasisVertices = 3000;     // vertices whose trajectories the basis is learnt from

Eigen::MatrixXf orthonormal(const Eigen::MatrixXf& A) {
  return orthonormal_columns(A.cast<double>()).cast<float>();
}

}  // namespace

std::vector<Index> spread_vertices(std::size_t vertices, std::size_t count) {
  std::vector<Index> chosen(std::min(vertices, count));
  for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = static_cast<Index>(i * vertices / chosen.size());
  return chosen;
}

Problem::Problem(const Sequence& sequence, const ProblemOptions& options)
    : sequence_(&sequence), threads_(resolve_threads(options.threads)) {
  sequence.check();
  frames_ = sequence.frame_count();
  rows_ = 3 * frames_;
  const Sphere sphere = smallest_enclosing_sphere(sequence.rest.positions);
  scaling_.center = sphere.center;
  scaling_.scale = sphere.radius > 0 ? 1 / sphere.radius : 1;
  rest_ = (sequence.rest.positions.cast<double>().colwise() - scaling_.center) * scaling_.scale;
  adjacency_ = mesh_adjacency(sequence.rest);
  find_common_motion();

  const std::size_t vertices = vertex_count();
  const std::size_t bytes = rows_ * vertices * sizeof(float);
  if (bytes <= kFreeBytes) {
    Eigen::MatrixXf all(index(rows_), index(vertices));
    parallel_for(vertices, kBlock, threads_,
                 [&](std::size_t begin, std::size_t end) { gather(begin, end - begin, all.data() + begin * rows_); });
    stored_ = std::move(all);
  }
  energy_.resize(vertices);
  parallel_for(vertices, kBlock, threads_, [&](std::size_t begin, std::size_t end) {
    std::vector<float> scratch;
    const float* y = block(begin, end - begin, scratch);
    for (std::size_t v = begin; v < end; ++v, y += rows_) {
      energy_[v] = Eigen::Map<const Eigen::VectorXf>(y, index(rows_)).cast<double>().squaredNorm();
    }
  });
  for (const double e : energy_) total_energy_ += e;
  if (options.truncation > 0) reduce(options.truncation, options.seed);
}

Problem Problem::sample(const std::vector<Index>& vertices, double truncation, std::uint64_t seed) const {
  Problem part;
  part.sequence_ = sequence_;
  part.frames_ = frames_;
  part.rows_ = rows_;
  part.threads_ = threads_;
  part.scaling_ = scaling_;
  part.common_ = common_;
  part.basis_ = basis_;
  part.rest_.resize(3, index(vertices.size()));
  part.stored_.resize(index(rows_), index(vertices.size()));
  part.energy_.resize(vertices.size());
  part.adjacency_.starts.assign(vertices.size() + 1, 0);
  std::vector<float> scratch;
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    part.rest_.col(index(i)) = rest_.col(vertices[i]);
    const float* y = block(vertices[i], 1, scratch);
    std::copy(y, y + rows_, part.stored_.data() + i * rows_);
    part.energy_[i] = energy_[vertices[i]];
    part.total_energy_ += part.energy_[i];
  }
  if (truncation > 0 && !part.reduced()) part.reduce(truncation, seed);
  return part;
}

Problem Problem::aimed_at(Eigen::MatrixXf trajectories, std::vector<double> importance) const {
  Problem other;
  other.sequence_ = sequence_;
  other.frames_ = frames_;
  other.rows_ = rows_;
  other.threads_ = threads_;
  other.scaling_ = scaling_;
  other.rest_ = rest_;
  other.common_ = common_;
  other.basis_ = basis_;
  other.stored_ = std::move(trajectories);
  other.importance_ = std::move(importance);
  other.adjacency_ = adjacency_;
  other.energy_.resize(vertex_count());
  for (std::size_t v = 0; v < vertex_count(); ++v) {
    other.energy_[v] = other.stored_.col(index(v)).cast<double>().squaredNorm();
    other.total_energy_ += other.importance(v) * other.energy_[v];
  }
  return other;
}

const float* Problem::block(std::size_t first, std::size_t count, std::vector<float>& scratch) const {
  if (stored_.size() != 0) return stored_.data() + first * rows_;
  scratch.resize(count * rows_);
  gather(first, count, scratch.data());
  return scratch.data();
}

/// Trajectories of a block straight from the frames: y = scale · (x − center) − T₀ u.
void Problem::gather(std::size_t first, std::size_t count, float* out) const {
  const std::size_t rows = 3 * frames_;
  for (std::size_t f = 0; f < frames_; ++f) {
    const ConstPointsMap points = sequence_->frames[f];
    const Eigen::Matrix<double, 3, 4> motion = common_.middleRows<3>(index(3 * f));
    const Eigen::Matrix3d A = motion.leftCols<3>();
    const Eigen::Vector3d offset = motion.col(3) + scaling_.scale * scaling_.center;
    for (std::size_t i = 0; i < count; ++i) {
      const Eigen::Vector3d x = points.col(index(first + i)).cast<double>() * scaling_.scale;
      Eigen::Map<Eigen::Vector3f>(out + i * rows + 3 * f) =
          (x - offset - A * rest_.col(index(first + i))).cast<float>();
    }
  }
}

void Problem::find_common_motion() {
  common_.resize(index(3 * frames_), 4);
  const Eigen::Vector3d sum_p = rest_.rowwise().sum();
  const auto count = static_cast<double>(vertex_count());
  parallel_for(frames_, 1, threads_, [&](std::size_t f, std::size_t) {
    const ConstPointsMap points = sequence_->frames[f];
    Eigen::Vector3d sum_q = Eigen::Vector3d::Zero();
    Eigen::Matrix3d sum_qp = Eigen::Matrix3d::Zero();
    for (std::size_t v = 0; v < vertex_count(); ++v) {
      const Eigen::Vector3d q = (points.col(index(v)).cast<double>() - scaling_.center) * scaling_.scale;
      sum_q += q;
      sum_qp += q * rest_.col(index(v)).transpose();
    }
    const RigidFit fit = fit_rigid(sum_p, sum_q, sum_qp, count);
    common_.block<3, 3>(index(3 * f), 0) = fit.R;
    common_.block<3, 1>(index(3 * f), 3) = fit.t;
  });
}

/// Randomised range finding over a spread of vertices, then a check over all: the basis is kept only when what it
/// leaves out of every trajectory together stays below `truncation`.
void Problem::reduce(double truncation, std::uint64_t seed) {
  const std::size_t rows = 3 * frames_;
  const std::size_t columns = std::min(kLargestBasis, rows * 6 / 10);
  const std::vector<Index> chosen = spread_vertices(vertex_count(), kBasisVertices);
  if (columns < 24 || chosen.size() < columns) return;

  const Problem part = sample(chosen);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const Eigen::MatrixXf probes =
      Eigen::MatrixXf::NullaryExpr(index(chosen.size()), index(columns), [&] { return uniform(random); });
  Eigen::MatrixXf P(index(rows), index(columns));
  Eigen::MatrixXf inner(index(chosen.size()), index(columns));
  gemm(Op::none, Op::none, 1.0F, part.stored_, probes, 0.0F, P, threads_);
  P = orthonormal(P);
  gemm(Op::transpose, Op::none, 1.0F, part.stored_, P, 0.0F, inner, threads_);
  gemm(Op::none, Op::none, 1.0F, part.stored_, inner, 0.0F, P, threads_);
  P = orthonormal(P);
  gemm(Op::transpose, Op::none, 1.0F, part.stored_, P, 0.0F, inner, threads_);
  Eigen::MatrixXf gram(index(columns), index(columns));
  gemm(Op::transpose, Op::none, 1.0F, inner, inner, 0.0F, gram, threads_);
  const SymmetricEigen eigen = symmetric_eigen(gram.cast<double>());

  // Half of the allowed energy may go with the smallest directions, scaled from the sample to all vertices.
  const double allowed = std::pow(truncation / 1000, 2) * 3 * static_cast<double>(frames_ * vertex_count());
  const double share = static_cast<double>(vertex_count()) / static_cast<double>(chosen.size());
  Eigen::Index first = 0;
  for (double left = 0; first + 1 < eigen.values.size(); ++first) {
    left += std::max(0.0, eigen.values[first]) * share;
    if (left > allowed / 2) break;
  }
  const Eigen::Index r = eigen.values.size() - first;
  // Beyond the free copy, coordinates may take a third of what the frames take.
  const std::size_t bytes = static_cast<std::size_t>(r) * vertex_count() * sizeof(float);
  if (bytes > kFreeBytes + rows * vertex_count() * sizeof(float) / 3) return;
  const Eigen::MatrixXf basis = orthonormal((P.cast<double>() * eigen.vectors.rightCols(r)).cast<float>());

  Eigen::MatrixXf coordinates(r, index(vertex_count()));
  std::vector<double> kept(vertex_count());
  parallel_for(vertex_count(), kBlock, threads_, [&](std::size_t begin, std::size_t end) {
    std::vector<float> scratch;
    const float* y = block(begin, end - begin, scratch);
    gemm_block(Op::transpose, Op::none, static_cast<int>(r), static_cast<int>(end - begin), static_cast<int>(rows),
               1.0F, basis.data(), static_cast<int>(rows), y, static_cast<int>(rows), 0.0F,
               coordinates.data() + index(begin) * r, static_cast<int>(r));
    for (std::size_t v = begin; v < end; ++v) kept[v] = coordinates.col(index(v)).cast<double>().squaredNorm();
  });
  double lost = total_energy_;
  for (const double e : kept) lost -= e;
  if (lost > allowed) return;
  basis_ = basis;
  stored_ = std::move(coordinates);
  rows_ = static_cast<std::size_t>(r);
}

double Problem::e_rms(double squares) const {
  return 1000 * std::sqrt(std::max(0.0, squares) / (3 * static_cast<double>(vertex_count() * frames_)));
}

Affine Problem::to_input(const Eigen::Matrix<double, 3, 4>& scaled) const {
  Affine input;
  input.leftCols<3>() = scaled.leftCols<3>().cast<float>();
  input.col(3) =
      (scaled.col(3) / scaling_.scale + scaling_.center - scaled.leftCols<3>() * scaling_.center).cast<float>();
  return input;
}

Eigen::Matrix<double, 3, 4> Problem::to_scaled(const Affine& input) const {
  Eigen::Matrix<double, 3, 4> scaled = input.cast<double>();
  scaled.col(3) = (scaled.leftCols<3>() * scaling_.center + scaled.col(3) - scaling_.center) * scaling_.scale;
  return scaled;
}

}  // namespace sinew::lbs
