// The skinning model that a simplex on a flat stands for, and its refinement by exact half-steps.

#include "solve/flats/model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "math/decompositions.h"
#include "math/gemm.h"
#include "math/parallel.h"
#include "math/simplex.h"
#include "solve/flats/kernels.h"

namespace sinew::flats {
namespace {

// Entries of bones, in radii of the rest pose, of which floats leave no digit.
constexpr double kFloatReach = 1e6;
constexpr double kRidge = 1e-8;  // of the fit that replaces them

// x = w ⊗ u of one block of vertices, kBlock×4h.
void fill_x(const FlatProblem& problem, const Eigen::MatrixXd& weights, std::size_t b, std::vector<double>& X) {
  const Eigen::Index h = weights.rows();
  X.assign(kBlock * static_cast<std::size_t>(4 * h), 0);
  const double* u = problem.rest.block(b);
  const std::size_t first = b * kBlock;
  const std::size_t count = std::min(kBlock, problem.vertices - first);
  for (Eigen::Index j = 0; j < h; ++j)
    for (std::size_t c = 0; c < 4; ++c) {
      double* column = X.data() + (static_cast<std::size_t>(4 * j) + c) * kBlock;
      for (std::size_t i = 0; i < count; ++i)
        column[i] = weights(j, static_cast<Eigen::Index>(first + i)) * u[c * kBlock + i];
    }
}

struct Moments {
  Eigen::MatrixXd S;  // 4h×4h: sum x xᵀ
  Eigen::MatrixXd C;  // 4h×n: sum x yᵀ
};

// `points(b)` gives the kBlock×n targets of a block.
template <class BlockOf>
Moments moments(const FlatProblem& problem, const Eigen::MatrixXd& weights, Eigen::Index n, int threads,
                const BlockOf& points) {
  const int width = static_cast<int>(4 * weights.rows());
  const int m = static_cast<int>(kBlock);
  const Moments zero{Eigen::MatrixXd::Zero(width, width), Eigen::MatrixXd::Zero(width, n)};
  return parallel_reduce(
      problem.rest.block_count(), 1, threads, zero,
      [&](std::size_t begin, std::size_t end) {
        Moments part = zero;
        std::vector<double> X;
        for (std::size_t b = begin; b < end; ++b) {
          fill_x(problem, weights, b, X);
          const Eigen::MatrixXd y = points(b);
          gemm_block(Op::transpose, Op::none, width, width, m, 1.0, X.data(), m, X.data(), m, 1.0, part.S.data(),
                     width);
          gemm_block(Op::transpose, Op::none, width, static_cast<int>(n), m, 1.0, X.data(), m, y.data(), m, 1.0,
                     part.C.data(), width);
        }
        return part;
      },
      [](Moments total, const Moments& part) {
        total.S += part.S;
        total.C += part.C;
        return total;
      });
}

Eigen::Map<const Eigen::MatrixXd> reduced_points(const FlatProblem& problem, std::size_t b) {
  return {problem.points.block(b), static_cast<Eigen::Index>(kBlock), problem.rank};
}

// Keeps the K largest of a convex combination; the rest is zero and the sum 1 again.
void keep_largest(double* w, int h, int K, std::vector<int>& order) {
  order.resize(static_cast<std::size_t>(h));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return w[a] > w[b]; });
  double sum = 0;
  for (int k = 0; k < K; ++k) sum += w[order[static_cast<std::size_t>(k)]];
  for (int k = K; k < h; ++k) w[order[static_cast<std::size_t>(k)]] = 0;
  for (int k = 0; k < K; ++k) w[order[static_cast<std::size_t>(k)]] /= sum;
  order.resize(static_cast<std::size_t>(K));
}

// One vertex: dense convex weights, then, when asked, the best weights on the K largest of them.
struct WeightFitter {
  int h;
  int K;
  SimplexWorkspace workspace;
  std::vector<int> order;
  Eigen::MatrixXd sub;
  Eigen::VectorXd right, part;

  void fit(const Eigen::MatrixXd& G, const Eigen::VectorXd& g, double* w) {
    simplex_least_squares(G.data(), h, g.data(), h, w, workspace);
    if (K <= 0 || K >= h) return;
    keep_largest(w, h, K, order);
    sub.resize(K, K);
    right.resize(K);
    part.resize(K);
    for (int a = 0; a < K; ++a) {
      const int j = order[static_cast<std::size_t>(a)];
      for (int b = 0; b < K; ++b) sub(a, b) = G(j, order[static_cast<std::size_t>(b)]);
      right(a) = g(j);
      part(a) = w[j];
    }
    simplex_least_squares(sub.data(), K, right.data(), K, part.data(), workspace);
    for (int a = 0; a < K; ++a) w[order[static_cast<std::size_t>(a)]] = part(a);
  }
};

// Bones with their head at the centre of what they move.
std::vector<Bone> placed_bones(const Mesh& rest, const Eigen::MatrixXd& weights) {
  std::vector<Bone> bones(static_cast<std::size_t>(weights.rows()));
  const Eigen::MatrixXd squared = weights.cwiseAbs2();
  for (std::size_t b = 0; b < bones.size(); ++b) {
    const auto row = static_cast<Eigen::Index>(b);
    bones[b].name = "bone_" + std::to_string(b);
    const double mass = squared.row(row).sum();
    if (!(mass > 0)) continue;
    const Eigen::Vector3d center = rest.positions.cast<double>() * squared.row(row).transpose() / mass;
    Eigen::Index far = 0;
    ((rest.positions.cast<double>().colwise() - center).colwise().norm().array() * weights.row(row).array())
        .maxCoeff(&far);
    bones[b].head = center.cast<float>();
    bones[b].tail = rest.positions.col(far);
  }
  return bones;
}

}  // namespace

double model_distance(const FlatProblem& problem, const FlatModel& model, int threads) {
  const int width = static_cast<int>(model.handles.rows());
  const int m = static_cast<int>(kBlock);
  return parallel_reduce(
      problem.rest.block_count(), 1, threads, 0.0,
      [&](std::size_t begin, std::size_t end) {
        double part = 0;
        std::vector<double> X;
        for (std::size_t b = begin; b < end; ++b) {
          fill_x(problem, model.weights, b, X);
          Eigen::MatrixXd residual = reduced_points(problem, b);
          gemm_block(Op::none, Op::none, m, problem.rank, width, -1.0, X.data(), m, model.handles.data(), width, 1.0,
                     residual.data(), m);
          part += residual.squaredNorm();
        }
        return part;
      },
      [](double total, double part) { return total + part; });
}

void fit_weights(const FlatProblem& problem, int influences, int threads, FlatModel& model) {
  const int h = static_cast<int>(model.weights.rows());
  const int width = 4 * h;
  const int m = static_cast<int>(kBlock);
  const Eigen::MatrixXd M = model.handles * model.handles.transpose();
  parallel_for(problem.rest.block_count(), 1, threads, [&](std::size_t begin, std::size_t end) {
    Eigen::MatrixXd wide(m, width);
    Eigen::MatrixXd G(h, h);
    Eigen::VectorXd g(h);
    WeightFitter fitter{h, influences, {}, {}, {}, {}, {}};
    for (std::size_t b = begin; b < end; ++b) {
      gemm_block(Op::none, Op::transpose, m, width, problem.rank, 1.0, problem.points.block(b), m, model.handles.data(),
                 width, 0.0, wide.data(), m);
      const std::size_t last = std::min(problem.vertices, (b + 1) * kBlock);
      for (std::size_t v = b * kBlock; v < last; ++v) {
        const auto i = static_cast<Eigen::Index>(v - b * kBlock);
        Eigen::Vector4d u;
        for (std::size_t c = 0; c < 4; ++c) u(static_cast<Eigen::Index>(c)) = problem.rest(v, c);
        for (int j = 0; j < h; ++j) {
          g(j) = wide.row(i).segment<4>(4 * j).dot(u);
          for (int k = 0; k <= j; ++k) G(j, k) = G(k, j) = u.dot(M.block<4, 4>(4 * j, 4 * k) * u);
        }
        fitter.fit(G, g, model.weights.col(static_cast<Eigen::Index>(v)).data());
      }
    }
  });
}

void fit_handles(const FlatProblem& problem, int threads, FlatModel& model) {
  const Moments sums = moments(problem, model.weights, problem.rank, threads,
                               [&](std::size_t b) { return Eigen::MatrixXd(reduced_points(problem, b)); });
  const Eigen::MatrixXd W = whitening(sums.S);
  model.handles += W * (W.transpose() * (sums.C - sums.S * model.handles));
}

void fit_rest(const FlatModel& model, int threads, FlatProblem& problem) {
  const Eigen::Index h = model.weights.rows();
  parallel_for(problem.vertices, 256, threads, [&](std::size_t begin, std::size_t end) {
    Eigen::MatrixXd map(4, problem.rank);
    Eigen::RowVectorXd y(problem.rank);
    for (std::size_t v = begin; v < end; ++v) {
      map.setZero();
      for (Eigen::Index j = 0; j < h; ++j)
        map += model.weights(j, static_cast<Eigen::Index>(v)) * model.handles.middleRows(4 * j, 4);
      for (int k = 0; k < problem.rank; ++k) y(k) = problem.points(v, static_cast<std::size_t>(k));
      // points = y - u·base is taken relative to the given rest; the base map moves along with u.
      Eigen::Vector3d p(problem.rest(v, 0), problem.rest(v, 1), problem.rest(v, 2));
      const Eigen::MatrixXd full = map.topRows(3) + problem.reduced_base.topRows(3);
      const Eigen::RowVectorXd rest = y - p.transpose() * map.topRows(3) - map.row(3);
      Eigen::Matrix3d K = full * full.transpose();
      K.diagonal().array() += 1e-9 * K.trace() + 1e-300;
      const Eigen::Vector3d move = solve_definite(K, Eigen::Vector3d(full * rest.transpose()));
      for (std::size_t c = 0; c < 3; ++c) problem.rest(v, c) += move(static_cast<Eigen::Index>(c));
      // Keep points consistent: y' = y - move·base.
      const Eigen::RowVectorXd shift = move.transpose() * problem.reduced_base.topRows(3);
      for (int k = 0; k < problem.rank; ++k) problem.points(v, static_cast<std::size_t>(k)) -= shift(k);
    }
  });
}

Rig flat_rig(const FlatProblem& problem, const FlatModel& model, const Sequence& sequence, int influences,
             int threads) {
  const Eigen::Index h = model.weights.rows();
  const auto F = static_cast<Eigen::Index>(sequence.frame_count());
  Rig rig;
  rig.rest = sequence.rest;
  rig.times = sequence.times;
  rig.clips = sequence.clips;
  rig.transforms = Transforms::affine;
  for (std::size_t v = 0; v < problem.vertices; ++v)
    for (std::size_t c = 0; c < 3; ++c) {
      const auto row = static_cast<Eigen::Index>(c);
      if (problem.rest_moved)
        rig.rest.positions(row, static_cast<Eigen::Index>(v)) =
            static_cast<float>(problem.rest(v, c) * problem.scale + problem.center(row));
    }
  // Handles over all 3F coordinates: the reduced ones plus what the left-out directions add for these weights.
  Eigen::MatrixXd T(4 * h, 3 * F);
  // Handles that no float could hold come from directions that hardly any vertex uses: the fit then starts from the
  // base.
  const bool held = model.handles.cwiseAbs().maxCoeff() < kFloatReach;
  for (Eigen::Index j = 0; j < h; ++j) {
    T.middleRows(4 * j, 4) = problem.base;
    if (held) T.middleRows(4 * j, 4) += model.handles.middleRows(4 * j, 4) * problem.directions.transpose();
  }
  // S beside C, summed alike: what is left of C - S T where the fit is exact are their roundings.
  const Eigen::MatrixXd both = sum_over_frames(sequence, 4 * h, 4 * h + 3 * F, [&](const FewVertices& few, auto& sum) {
    const auto count = static_cast<Eigen::Index>(few.count);
    Eigen::MatrixXd X(count, 4 * h);
    for (std::size_t i = 0; i < few.count; ++i)
      for (Eigen::Index j = 0; j < h; ++j)
        for (Eigen::Index c = 0; c < 4; ++c)
          X(static_cast<Eigen::Index>(i), 4 * j + c) = model.weights(j, static_cast<Eigen::Index>(few.first + i)) *
                                                       problem.rest(few.first + i, static_cast<std::size_t>(c));
    Eigen::MatrixXd right(count, 4 * h + 3 * F);
    right << X, few.scaled(problem.center, problem.scale);
    gemm(Op::transpose, Op::none, 1.0, X, right, 1.0, sum, threads);
  });
  Moments sums{both.leftCols(4 * h), both.rightCols(3 * F)};
  sums.C -= sums.S * T;
  if (!held) sums.S.diagonal().array() += kRidge * sums.S.diagonal().maxCoeff();
  const Eigen::MatrixXd W = whitening(sums.S);
  T += W * (W.transpose() * sums.C);

  rig.bones = placed_bones(rig.rest, model.weights);
  rig.weights = pack_weights(model.weights.transpose(), influences);
  rig.motion = Motion(sequence.frame_count(), static_cast<std::size_t>(h));
  for (Eigen::Index f = 0; f < F; ++f)
    for (Eigen::Index j = 0; j < h; ++j) {
      const Eigen::Matrix<double, 3, 4> map = T.block(4 * j, 3 * f, 4, 3).transpose();
      Eigen::Matrix<double, 3, 4> world = map;
      world.col(3) = problem.scale * map.col(3) + problem.center - map.leftCols<3>() * problem.center;
      rig.motion(static_cast<std::size_t>(f), static_cast<std::size_t>(j)) = world.cast<float>();
    }
  return rig;
}

}  // namespace sinew::flats
