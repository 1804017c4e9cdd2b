#include "solve/lbs/problem.h"
#include "core/index.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>

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

/// Trajectories of points with scaled rest positions u in one frame: y = scale · (x − center) − T₀ u. Not inlined: the
/// same instructions, and so the same bits, wherever it is asked for.
struct FrameTrajectories {
  Eigen::Matrix3d A;
  Eigen::Vector3d offset;
  double scale;

  /// For `count` points, of which that of number i goes to out[i · stride].
  [[gnu::noinline]] void write(const float* points, const double* rest, std::size_t count, std::size_t stride,
                               float* out) const {
    for (std::size_t i = 0; i < count; ++i) {
      const Eigen::Vector3d x = Eigen::Map<const Eigen::Vector3f>(points + 3 * i).cast<double>() * scale;
      const Eigen::Map<const Eigen::Vector3d> u(rest + 3 * i);
      Eigen::Map<Eigen::Vector3f>(out + i * stride) = (x - offset - A * u).cast<float>();
    }
  }
};

FrameTrajectories trajectories_of(const Eigen::MatrixXd& common, std::size_t f, const Scaling& scaling) {
  const Eigen::Matrix<double, 3, 4> motion = common.middleRows<3>(index(3 * f));
  return {motion.leftCols<3>(), motion.col(3) + scaling.scale * scaling.center, scaling.scale};
}

/// Randomised range finding over some of the trajectories (3F×n): a basis that leaves out half of the `allowed` energy,
/// scaled from the sample to all vertices, at most. Without columns where none would be much smaller than the frames.
Eigen::MatrixXf learn_basis(const Eigen::MatrixXf& some, std::size_t vertices, double allowed, std::uint64_t seed,
                            int threads) {
  const auto rows = static_cast<std::size_t>(some.rows());
  const std::size_t columns = std::min(kLargestBasis, rows * 6 / 10);
  if (columns < 24 || static_cast<std::size_t>(some.cols()) < columns) return {};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const Eigen::MatrixXf probes =
      Eigen::MatrixXf::NullaryExpr(some.cols(), index(columns), [&] { return uniform(random); });
  Eigen::MatrixXf P(index(rows), index(columns));
  Eigen::MatrixXf inner(some.cols(), index(columns));
  gemm(Op::none, Op::none, 1.0F, some, probes, 0.0F, P, threads);
  P = orthonormal(P);
  gemm(Op::transpose, Op::none, 1.0F, some, P, 0.0F, inner, threads);
  gemm(Op::none, Op::none, 1.0F, some, inner, 0.0F, P, threads);
  P = orthonormal(P);
  gemm(Op::transpose, Op::none, 1.0F, some, P, 0.0F, inner, threads);
  Eigen::MatrixXf gram(index(columns), index(columns));
  gemm(Op::transpose, Op::none, 1.0F, inner, inner, 0.0F, gram, threads);
  const SymmetricEigen eigen = symmetric_eigen(gram.cast<double>());

  const double share = static_cast<double>(vertices) / static_cast<double>(some.cols());
  Eigen::Index first = 0;
  for (double left = 0; first + 1 < eigen.values.size(); ++first) {
    left += std::max(0.0, eigen.values[first]) * share;
    if (left > allowed / 2) break;
  }
  const Eigen::Index r = eigen.values.size() - first;
  // Beyond the free copy, coordinates may take a third of what the frames take.
  const std::size_t bytes = static_cast<std::size_t>(r) * vertices * sizeof(float);
  if (bytes > kFreeBytes + rows * vertices * sizeof(float) / 3) return {};
  return orthonormal((P.cast<double>() * eigen.vectors.rightCols(r)).cast<float>());
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
  const std::vector<Index> chosen =
      options.truncation > 0 ? spread_vertices(vertex_count(), kBasisVertices) : std::vector<Index>();
  const Eigen::MatrixXf some = find_common_motion(chosen);
  if (options.truncation > 0) reduce(some, options.truncation, options.seed);
  if (!reduced()) keep({}, 0);
}

Problem Problem::without_vertices() const {
  Problem other;
  other.sequence_ = sequence_;
  other.frames_ = frames_;
  other.rows_ = rows_;
  other.threads_ = threads_;
  other.scaling_ = scaling_;
  other.common_ = common_;
  other.basis_ = basis_;
  return other;
}

Problem Problem::sample(const std::vector<Index>& vertices, double truncation, std::uint64_t seed) const {
  Problem part = without_vertices();
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
  if (truncation <= 0 || part.reduced()) return part;
  const std::vector<Index> chosen = spread_vertices(vertices.size(), kBasisVertices);
  Eigen::MatrixXf some(index(rows_), index(chosen.size()));
  for (std::size_t i = 0; i < chosen.size(); ++i) some.col(index(i)) = part.stored_.col(chosen[i]);
  part.reduce(some, truncation, seed);
  return part;
}

Problem Problem::aimed_at(Eigen::MatrixXf trajectories, std::vector<double> importance) const {
  Problem other = without_vertices();
  other.rest_ = rest_;
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
  if (kept_)
    kept_->read(first * rows_ * sizeof(float), std::as_writable_bytes(std::span(scratch)));
  else
    gather(sequence_->frames, first, first, count, scratch.data());
  return scratch.data();
}

/// Trajectories of the vertices from `first` on, which are those from `at` on of these frames.
void Problem::gather(const Frames& frames, std::size_t at, std::size_t first, std::size_t count, float* out) const {
  for (std::size_t f = 0; f < frames_; ++f)
    trajectories_of(common_, f, scaling_)
        .write(frames[f].data() + 3 * at, rest_.data() + 3 * first, count, 3 * frames_, out + 3 * f);
}

/// Calls body(begin, end, trajectories) for all blocks, of the frames unless they are stored.
template <class Body>
void Problem::for_each_block(const Body& body) const {
  if (stored_.size() != 0)
    return parallel_for(vertex_count(), kBlock, threads_,
                        [&](std::size_t begin, std::size_t end) { body(begin, end, stored_.data() + begin * rows_); });
  for_each_slab(sequence_->frames, kBlock, [&](const Frames& slab, std::size_t first) {
    parallel_for(slab.vertex_count(), kBlock, threads_, [&](std::size_t begin, std::size_t end) {
      std::vector<float> trajectories((end - begin) * rows_);
      gather(slab, begin, first + begin, end - begin, trajectories.data());
      body(first + begin, first + end, trajectories.data());
    });
  });
}

/// Finds T₀. Returns the trajectories of the chosen vertices, which come along with it.
Eigen::MatrixXf Problem::find_common_motion(const std::vector<Index>& chosen) {
  common_.resize(index(3 * frames_), 4);
  Eigen::MatrixXf some(index(3 * frames_), index(chosen.size()));
  Eigen::Matrix3Xd rest(3, some.cols());
  for (std::size_t i = 0; i < chosen.size(); ++i) rest.col(index(i)) = rest_.col(chosen[i]);
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
    Points places(3, some.cols());
    for (std::size_t i = 0; i < chosen.size(); ++i) places.col(index(i)) = points.col(chosen[i]);
    trajectories_of(common_, f, scaling_)
        .write(places.data(), rest.data(), chosen.size(), 3 * frames_, some.data() + 3 * f);
  });
  return some;
}

/// Learns a basis from some of the trajectories and checks it on all: it is kept only when what it leaves out of every
/// trajectory together stays below `truncation`.
void Problem::reduce(const Eigen::MatrixXf& some, double truncation, std::uint64_t seed) {
  const double allowed = std::pow(truncation / 1000, 2) * 3 * static_cast<double>(frames_ * vertex_count());
  const Eigen::MatrixXf basis = learn_basis(some, vertex_count(), allowed, seed, threads_);
  if (basis.cols() > 0) keep(basis, allowed);
}

/// Passes over all trajectories and keeps their coordinates in the basis, unless that leaves out more energy than is
/// allowed; or, without a basis, themselves where there is room for them or the frames are in a file.
bool Problem::keep(const Eigen::MatrixXf& basis, double allowed) {
  const std::size_t vertices = vertex_count();
  const std::size_t rows = basis.cols() > 0 ? static_cast<std::size_t>(basis.cols()) : rows_;
  const std::size_t bytes = rows * vertices * sizeof(float);
  const Paging* const paging = stored_.size() == 0 ? sequence_->frames.paging() : nullptr;
  const bool in_file = paging != nullptr && bytes > paging->memory / 2;
  const bool in_memory = !in_file && (basis.cols() > 0 || paging != nullptr || bytes <= kFreeBytes);
  Eigen::MatrixXf stored(index(rows), in_memory ? index(vertices) : 0);
  std::shared_ptr<PagedMemory> file;
  if (in_file) file = PagedMemory::scratch(bytes, *paging);
  energy_.resize(vertices);
  std::vector<double> left(vertices, 0);
  for_each_block([&](std::size_t begin, std::size_t end, const float* y) {
    const std::size_t count = end - begin;
    std::vector<float> coordinates;
    float* out = stored.data() + begin * rows;
    if (!in_memory) {
      coordinates.resize(in_file ? count * rows : 0);
      out = coordinates.data();
    }
    for (std::size_t v = begin; v < end; ++v)
      energy_[v] =
          Eigen::Map<const Eigen::VectorXf>(y + (v - begin) * rows_, index(rows_)).cast<double>().squaredNorm();
    if (basis.cols() > 0)
      gemm_block(Op::transpose, Op::none, static_cast<int>(rows), static_cast<int>(count), static_cast<int>(rows_),
                 1.0F, basis.data(), static_cast<int>(rows_), y, static_cast<int>(rows_), 0.0F, out,
                 static_cast<int>(rows));
    else if (in_memory || in_file)
      std::copy_n(y, count * rows, out);
    for (std::size_t v = begin; v < end && basis.cols() > 0; ++v)
      left[v] = Eigen::Map<const Eigen::VectorXf>(out + (v - begin) * rows, index(rows)).cast<double>().squaredNorm();
    if (in_file) file->write(begin * rows * sizeof(float), std::as_bytes(std::span(coordinates)));
  });
  total_energy_ = 0;
  for (const double e : energy_) total_energy_ += e;
  if (basis.cols() > 0) {
    double lost = total_energy_;
    for (const double e : left) lost -= e;
    if (lost > allowed) return false;
    left_out_ = e_rms(lost);
    basis_ = basis;
    rows_ = rows;
  }
  stored_ = std::move(stored);
  kept_ = std::move(file);
  return true;
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
