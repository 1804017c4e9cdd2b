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
constexpr std::size_t kFrameBlock = 16;          // frames whose sums go from rank to rank together
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

/// What a rigid fit to a frame needs of its vertices.
constexpr std::size_t kFitSums = 12;  // Σ q, and Σ q pᵀ by columns

/// Adds those of some vertices.
void add_fit_sums(const ConstPointsMap& points, const Eigen::Matrix3Xd& rest, VertexRange range, const Scaling& scaling,
                  double* sums) {
  Eigen::Map<Eigen::Vector3d> q_sum(sums);
  Eigen::Map<Eigen::Matrix3d> qp_sum(sums + 3);
  Eigen::Vector3d sum_q = q_sum;
  Eigen::Matrix3d sum_qp = qp_sum;
  for (std::size_t v = range.first; v < range.last; ++v) {
    const Eigen::Vector3d q = (points.col(index(v)).cast<double>() - scaling.center) * scaling.scale;
    sum_q += q;
    sum_qp += q * rest.col(index(v)).transpose();
  }
  q_sum = sum_q;
  qp_sum = sum_qp;
}

/// Those of the vertices (ascending) that lie in a range: first and last of their places.
VertexRange places_in(const std::vector<Index>& vertices, VertexRange range) {
  const auto place = [&](std::size_t v) {
    return static_cast<std::size_t>(std::lower_bound(vertices.begin(), vertices.end(), v) - vertices.begin());
  };
  return {place(range.first), place(range.last)};
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
    : sequence_(&sequence), ranks_(&sequence.frames.ranks()), threads_(resolve_threads(options.threads)) {
  sequence.check();
  held_ = ranks_->held(sequence.vertex_count(), kBlock);
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
  other.ranks_ = &alone();
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
  part.held_ = {0, vertices.size()};
  part.stored_ = trajectories(vertices);
  part.energy_.resize(vertices.size());
  part.adjacency_.starts.assign(vertices.size() + 1, 0);
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    part.rest_.col(index(i)) = rest_.col(vertices[i]);
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

Problem Problem::at_frames(const std::vector<Index>& frames, double truncation, std::uint64_t seed) const {
  Problem part = without_vertices();
  part.frames_ = frames.size();
  part.rows_ = 3 * frames.size();
  part.basis_ = {};
  part.rest_ = rest_;
  part.adjacency_ = adjacency_;
  const auto rows_of = [&](const auto& from, auto& to) {
    to.resize(index(part.rows_), from.cols());
    for (std::size_t i = 0; i < frames.size(); ++i)
      to.template middleRows<3>(index(3 * i)) = from.template middleRows<3>(index(3 * std::size_t{frames[i]}));
  };
  rows_of(common_, part.common_);
  if (reduced()) {
    Eigen::MatrixXf basis;
    rows_of(basis_, basis);
    part.stored_.resize(basis.rows(), stored_.cols());
    gemm(Op::none, Op::none, 1.0F, basis, stored_, 0.0F, part.stored_, threads_);
  } else {
    rows_of(stored_, part.stored_);
  }
  part.energy_.resize(vertex_count());
  for (std::size_t v = 0; v < vertex_count(); ++v) {
    part.energy_[v] = part.stored_.col(index(v)).cast<double>().squaredNorm();
    part.total_energy_ += part.energy_[v];
  }
  if (truncation <= 0) return part;
  const std::vector<Index> chosen = spread_vertices(vertex_count(), kBasisVertices);
  Eigen::MatrixXf some(index(part.rows_), index(chosen.size()));
  for (std::size_t i = 0; i < chosen.size(); ++i) some.col(index(i)) = part.stored_.col(chosen[i]);
  part.reduce(some, truncation, seed);
  return part;
}

Problem Problem::aimed_at(Eigen::MatrixXf trajectories, std::vector<double> importance) const {
  Problem other = without_vertices();
  other.rest_ = rest_;
  other.held_ = {0, vertex_count()};
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
  if (stored_.size() != 0) return stored_.data() + (first - held_.first) * rows_;
  scratch.resize(count * rows_);
  if (kept_)
    kept_->read((first - held_.first) * rows_ * sizeof(float), std::as_writable_bytes(std::span(scratch)));
  else
    gather(sequence_->frames, first, first, count, scratch.data());
  return scratch.data();
}

Eigen::MatrixXf Problem::trajectories(const std::vector<Index>& vertices) const {
  Eigen::MatrixXf out(index(rows_), index(vertices.size()));
  const VertexRange mine = places_in(vertices, own());
  std::vector<float> scratch;
  for (std::size_t i = mine.first; i < mine.last; ++i)
    std::copy_n(block(vertices[i], 1, scratch), rows_, out.data() + i * rows_);
  share_columns(vertices, out);
  return out;
}

/// Columns of vertices (ascending) from the ranks that own them.
void Problem::share_columns(const std::vector<Index>& vertices, Eigen::MatrixXf& columns) const {
  const auto rows = static_cast<std::size_t>(columns.rows());
  for (int r = 0; r < ranks_->count(); ++r) {
    const VertexRange places = places_in(vertices, ranks_->vertices_of(r, vertex_count()));
    ranks_->share_from(r,
                       std::as_writable_bytes(std::span(columns.data() + places.first * rows, places.count() * rows)));
  }
}

/// Trajectories of the vertices from `first` on, which are those from `at` on of these frames.
void Problem::gather(const Frames& frames, std::size_t at, std::size_t first, std::size_t count, float* out) const {
  for (std::size_t f = 0; f < frames_; ++f)
    trajectories_of(common_, f, scaling_)
        .write(frames[f].data() + 3 * at, rest_.data() + 3 * first, count, 3 * frames_, out + 3 * f);
}

/// Calls body(begin, end, trajectories) for all blocks that are held, of the frames unless they are stored.
template <class Body>
void Problem::for_each_block(const Body& body) const {
  if (stored_.size() != 0)
    return parallel_for(held_.count(), kBlock, threads_, [&](std::size_t begin, std::size_t end) {
      body(held_.first + begin, held_.first + end, stored_.data() + begin * rows_);
    });
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
  std::vector<double> sums(frames_ * kFitSums, 0);
  const auto of_frames = [&](std::size_t first, std::size_t count) {
    return std::span(sums).subspan(first * kFitSums, count * kFitSums);
  };
  const VertexRange mine = places_in(chosen, own());
  Eigen::MatrixXf some(index(3 * frames_), index(chosen.size()));  // places at first
  const std::size_t step = ranks_->alone() ? frames_ : kFrameBlock;
  for (std::size_t first = 0; first < frames_; first += step) {
    const std::size_t count = std::min(step, frames_ - first);
    ranks_->take(of_frames(first, count));
    parallel_for(count, 1, threads_, [&](std::size_t i, std::size_t) {
      const std::size_t f = first + i;
      const ConstPointsMap points = sequence_->frames[f];
      add_fit_sums(points, rest_, own(), scaling_, sums.data() + f * kFitSums);
      for (std::size_t c = mine.first; c < mine.last; ++c)
        some.block<3, 1>(index(3 * f), index(c)) = points.col(chosen[c]);
    });
    ranks_->hand_on(of_frames(first, count));
  }
  ranks_->total(sums);

  common_.resize(index(3 * frames_), 4);
  const Eigen::Vector3d sum_p = rest_.rowwise().sum();
  const auto vertices = static_cast<double>(vertex_count());
  Eigen::Matrix3Xd rest(3, index(mine.count()));
  for (std::size_t i = 0; i < mine.count(); ++i) rest.col(index(i)) = rest_.col(chosen[mine.first + i]);
  parallel_for(frames_, 1, threads_, [&](std::size_t f, std::size_t) {
    const double* const s = sums.data() + f * kFitSums;
    const RigidFit fit =
        fit_rigid(sum_p, Eigen::Map<const Eigen::Vector3d>(s), Eigen::Map<const Eigen::Matrix3d>(s + 3), vertices);
    common_.block<3, 3>(index(3 * f), 0) = fit.R;
    common_.block<3, 1>(index(3 * f), 3) = fit.t;
    const Points places = some.block(index(3 * f), index(mine.first), 3, rest.cols());
    trajectories_of(common_, f, scaling_)
        .write(places.data(), rest.data(), mine.count(), 3 * frames_, some.data() + 3 * (mine.first * frames_ + f));
  });
  share_columns(chosen, some);
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
  const std::size_t bytes = rows * held_.count() * sizeof(float);
  const Paging* const paging = stored_.size() == 0 ? sequence_->frames.paging() : nullptr;
  const bool in_file = paging != nullptr && bytes > paging->memory / 2;
  const bool in_memory = !in_file && (basis.cols() > 0 || paging != nullptr || bytes <= kFreeBytes);
  Eigen::MatrixXf stored(index(rows), in_memory ? index(held_.count()) : 0);
  std::shared_ptr<PagedMemory> file;
  if (in_file && bytes > 0) file = PagedMemory::scratch(bytes, *paging);
  energy_.resize(vertices);
  std::vector<double> left(vertices, 0);
  for_each_block([&](std::size_t begin, std::size_t end, const float* y) {
    const std::size_t count = end - begin;
    std::vector<float> coordinates;
    float* out = stored.data() + (begin - held_.first) * rows;
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
    if (in_file) file->write((begin - held_.first) * rows * sizeof(float), std::as_bytes(std::span(coordinates)));
  });
  ranks_->share(energy_.data(), 1, vertices);
  if (basis.cols() > 0) ranks_->share(left.data(), 1, vertices);
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
