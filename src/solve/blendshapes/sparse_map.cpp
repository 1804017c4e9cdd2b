#include "solve/blendshapes/sparse_map.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/index.h"
#include "math/decompositions.h"
#include "math/rotation.h"

// A bone's block of E is Σ_i θ_i G_i over a basis of m matrices about the bone's centre h: three translations, then
// three infinitesimal turns (rigid) or nine entries of the linear part (affine). In θ the problem of every slider has
// the same matrix Q, Q_(b,i),(c,j) = tr(G_bi S_bc G_cjᵀ), and the right side q_s,(b,i) = tr(G_biᵀ C_sb).
namespace sinew::blendshapes {
namespace {

using Block = Eigen::Matrix<double, 3, 4>;
using Support = std::vector<std::vector<bool>>;

constexpr double kRidge = 1e-7;      // of a bone's own weight, that its numbers are held by
constexpr int kShrinkSteps = 12;     // accelerated steps at one λ
constexpr double kShrinkFall = 0.8;  // of λ from one to the next
constexpr int kMostFalls = 60;
constexpr int kPowerSteps = 30;  // towards the largest eigenvalue
constexpr double kPays = 1.001;  // what an exchange must gain over what it costs
constexpr int kTurnSteps = 3;    // Gauss-Newton steps of a slider

int numbers_of(Transforms transforms) {
  return transforms == Transforms::rigid ? 6 : 12;
}

Eigen::Matrix3d cross_matrix(const Eigen::Vector3d& v) {
  Eigen::Matrix3d out;
  out << 0, -v.z(), v.y(), v.z(), 0, -v.x(), -v.y(), v.x(), 0;
  return out;
}

/// The basis about a centre h; rigid ones turn what R has turned already.
std::vector<Block> basis(Transforms transforms, const Eigen::Vector3d& h,
                         const Eigen::Matrix3d& R = Eigen::Matrix3d::Identity()) {
  std::vector<Block> out(static_cast<std::size_t>(numbers_of(transforms)), Block::Zero());
  for (int i = 0; i < 3; ++i) out[at(i)](i, 3) = 1;
  for (std::size_t i = 3; i < out.size(); ++i) {
    const int k = static_cast<int>(i) - 3;
    Eigen::Matrix3d A = Eigen::Matrix3d::Zero();
    if (transforms == Transforms::rigid)
      A = cross_matrix(Eigen::Vector3d::Unit(k)) * R;
    else
      A(k % 3, k / 3) = 1;
    out[i] << A, -A * h;
  }
  return out;
}

/// Bases of some bones, one after another, as 12 numbers per column: what tr(G S Gᵀ) needs.
Eigen::MatrixXd gram(const MapSums& sums, const std::vector<int>& bones, const std::vector<std::vector<Block>>& bases) {
  const auto m = static_cast<Eigen::Index>(bases.front().size());
  Eigen::MatrixXd Q(m * index(bones.size()), m * index(bones.size()));
  Eigen::Matrix<double, 12, Eigen::Dynamic> left(12, m);
  Eigen::Matrix<double, 12, Eigen::Dynamic> right(12, m);
  for (std::size_t a = 0; a < bones.size(); ++a)
    for (std::size_t c = 0; c <= a; ++c) {
      const Eigen::Matrix4d part = sums.S.block<4, 4>(4 * bones[a], 4 * bones[c]);
      for (Eigen::Index i = 0; i < m; ++i) {
        left.col(i) = Block(bases[a][static_cast<std::size_t>(i)] * part).reshaped();
        right.col(i) = bases[c][static_cast<std::size_t>(i)].reshaped();
      }
      const Eigen::MatrixXd block = left.transpose() * right;
      Q.block(m * index(a), m * index(c), m, m) = block;
      Q.block(m * index(c), m * index(a), m, m) = block.transpose();
    }
  return Q;
}

void add_ridge(Eigen::Index m, Eigen::MatrixXd& Q) {
  for (Eigen::Index b = 0; b < Q.rows(); b += m) {
    const double own = Q.block(b, b, m, m).trace() / static_cast<double>(m);
    Q.diagonal().segment(b, m).array() += kRidge * own + 1e-12;
  }
}

/// Q and the right sides of all sliders, S×mB, for turns that are small.
struct System {
  Eigen::Index m = 0;
  Eigen::MatrixXd Q;
  Eigen::MatrixXd q;

  System(const MapSums& sums, Transforms transforms) : m(numbers_of(transforms)) {
    std::vector<int> bones;
    std::vector<std::vector<Block>> bases;
    for (int b = 0; b < sums.bones(); ++b) {
      bones.push_back(b);
      bases.push_back(basis(transforms, sums.centers.col(b)));
    }
    Q = gram(sums, bones, bases);
    add_ridge(m, Q);
    q.resize(sums.sliders(), m * sums.bones());
    for (int s = 0; s < sums.sliders(); ++s)
      for (int b = 0; b < sums.bones(); ++b)
        for (Eigen::Index i = 0; i < m; ++i)
          q(s, m * b + i) =
              bases[at(b)][static_cast<std::size_t>(i)].cwiseProduct(sums.C.block<3, 4>(3 * s, 4 * b)).sum();
  }
};

double largest_eigenvalue(const Eigen::MatrixXd& Q) {
  Eigen::VectorXd x = Eigen::VectorXd::LinSpaced(Q.rows(), 1, 2).normalized();
  double value = 0;
  for (int i = 0; i < kPowerSteps; ++i) {
    const Eigen::VectorXd y = Q * x;
    value = y.norm();
    if (!(value > 0)) return 1;
    x = y / value;
  }
  return 1.05 * value;
}

/// Blocks measured alike: with θ = L⁻ᵀ η every bone's own part of Q is the identity, so that |η_b|² is how far the bone
/// moves what it holds.
struct Whitened {
  Eigen::MatrixXd Q;
  Eigen::MatrixXd q;
};

Whitened whiten(const System& system) {
  const Eigen::Index m = system.m;
  Whitened out{system.Q, system.q};
  for (Eigen::Index b = 0; b < system.Q.rows(); b += m) {
    const SymmetricEigen own = symmetric_eigen(system.Q.block(b, b, m, m));
    const Eigen::MatrixXd root =
        own.vectors * own.values.cwiseMax(1e-300).cwiseSqrt().cwiseInverse().asDiagonal() * own.vectors.transpose();
    out.Q.middleCols(b, m) = (out.Q.middleCols(b, m) * root).eval();
    out.Q.middleRows(b, m) = (root * out.Q.middleRows(b, m)).eval();
    out.q.middleCols(b, m) = (out.q.middleCols(b, m) * root).eval();
  }
  return out;
}

/// The proximal map of λ Σ ‖block‖ (group shrinkage); returns how many blocks are left.
std::size_t shrink(double lambda, Eigen::Index m, Eigen::MatrixXd& eta) {
  std::size_t left = 0;
  for (Eigen::Index s = 0; s < eta.rows(); ++s)
    for (Eigen::Index b = 0; b < eta.cols(); b += m) {
      auto block = eta.row(s).segment(b, m);
      const double size = block.norm();
      if (size <= lambda) {
        block.setZero();
      } else {
        block *= 1 - lambda / size;
        ++left;
      }
    }
  return left;
}

/// One slider on its support: the inverse of Q there, its best numbers, and what each change would do.
struct SliderFit {
  std::vector<int> bones;
  Eigen::VectorXd theta;
  double value = 0;          // θᵀQθ − 2qᵀθ at its best
  std::vector<double> cost;  // B: of taking the bone away; infinite where it is not there
  std::vector<double> gain;  // B: of adding it, 0 where it is there
};

SliderFit fit_slider(const System& system, int s, const std::vector<bool>& support) {
  const Eigen::Index m = system.m;
  const int B = static_cast<int>(support.size());
  SliderFit out;
  out.cost.assign(support.size(), std::numeric_limits<double>::infinity());
  out.gain.assign(support.size(), 0);
  for (int b = 0; b < B; ++b)
    if (support[at(b)]) out.bones.push_back(b);
  const Eigen::Index n = m * index(out.bones.size());
  Eigen::MatrixXd rows(n, system.Q.cols());
  Eigen::VectorXd q(n);
  for (std::size_t a = 0; a < out.bones.size(); ++a) {
    rows.middleRows(m * index(a), m) = system.Q.middleRows(m * out.bones[a], m);
    q.segment(m * index(a), m) = system.q.row(s).segment(m * out.bones[a], m).transpose();
  }
  Eigen::MatrixXd own(n, n);
  for (std::size_t a = 0; a < out.bones.size(); ++a)
    own.middleCols(m * index(a), m) = rows.middleCols(m * out.bones[a], m);
  Eigen::MatrixXd inverse(n, n);
  if (n > 0) inverse = Cholesky(own).inverse();
  out.theta = inverse * q;
  out.value = -q.dot(out.theta);
  for (std::size_t a = 0; a < out.bones.size(); ++a) {
    const Eigen::VectorXd part = out.theta.segment(m * index(a), m);
    const Eigen::MatrixXd block = inverse.block(m * index(a), m * index(a), m, m);
    out.cost[at(out.bones[a])] = part.dot(solve_definite(block, part));
  }
  const Eigen::MatrixXd reach = inverse * rows;
  const Eigen::RowVectorXd rest = system.q.row(s) - out.theta.transpose() * rows;
  for (int b = 0; b < B; ++b) {
    if (support[at(b)]) continue;
    Eigen::MatrixXd schur = system.Q.block(m * b, m * b, m, m);
    if (n > 0) schur -= rows.middleCols(m * b, m).transpose() * reach.middleCols(m * b, m);
    schur.diagonal().array() += 1e-9 * system.Q.block(m * b, m * b, m, m).trace() / static_cast<double>(m);
    const Eigen::VectorXd r = rest.segment(m * b, m).transpose();
    out.gain[at(b)] = r.dot(solve_definite(schur, r));
  }
  return out;
}

/// ‖Z − E x‖² of one slider without the part that E does not change.
double slider_value(const MapSums& sums, int s, const Eigen::MatrixXd& E) {
  return (E * sums.S).cwiseProduct(E).sum() - 2 * E.cwiseProduct(sums.C.middleRows<3>(3 * s)).sum();
}

Block turned(const Block& E, const Eigen::Vector3d& h, const Eigen::VectorXd& step) {
  Eigen::Matrix3d R = E.leftCols<3>() + Eigen::Matrix3d::Identity();
  const Eigen::Vector3d place = R * h + E.col(3) + step.head<3>();
  if (const Eigen::Vector3d r = step.segment<3>(3); r.norm() > 0)
    R = Eigen::AngleAxisd(r.norm(), r.normalized()).toRotationMatrix() * R;
  R = closest_rotation(R);
  Block out;
  out << R - Eigen::Matrix3d::Identity(), place - R * h;
  return out;
}

std::vector<int> bones_in(const std::vector<bool>& support) {
  std::vector<int> out;
  for (std::size_t b = 0; b < support.size(); ++b)
    if (support[b]) out.push_back(static_cast<int>(b));
  return out;
}

/// One slider's rigid transforms, from where they are. E is 3×4B.
void refit_turns(const MapSums& sums, int s, const std::vector<int>& bones, Eigen::MatrixXd& E) {
  double value = slider_value(sums, s, E);
  for (int n = 0; n < kTurnSteps; ++n) {
    std::vector<std::vector<Block>> bases;
    for (const int b : bones)
      bases.push_back(basis(Transforms::rigid, sums.centers.col(b),
                            E.middleCols<4>(4 * b).leftCols<3>() + Eigen::Matrix3d::Identity()));
    Eigen::MatrixXd Q = gram(sums, bones, bases);
    add_ridge(6, Q);
    const Eigen::MatrixXd rest = sums.C.middleRows<3>(3 * s) - E * sums.S;
    Eigen::VectorXd q(Q.rows());
    for (std::size_t a = 0; a < bones.size(); ++a)
      for (std::size_t i = 0; i < 6; ++i)
        q[index(6 * a + i)] = bases[a][i].cwiseProduct(rest.middleCols<4>(4 * bones[a])).sum();
    const Eigen::VectorXd step = Cholesky(Q).solve(q);
    double length = 1;
    bool better = false;
    for (int halvings = 0; halvings < 4 && !better; ++halvings, length /= 2) {
      Eigen::MatrixXd trial = E;
      for (std::size_t a = 0; a < bones.size(); ++a)
        trial.middleCols<4>(4 * bones[a]) =
            turned(E.middleCols<4>(4 * bones[a]), sums.centers.col(bones[a]), length * step.segment<6>(index(6 * a)));
      if (const double now = slider_value(sums, s, trial); now < value) {
        better = value - now > 1e-9 * std::abs(value);
        value = now;
        E = trial;
        if (!better) return;
      }
    }
    if (!better) return;
  }
}

}  // namespace

std::size_t SparseMap::size() const {
  std::size_t out = 0;
  for (const std::vector<bool>& row : support)
    out += static_cast<std::size_t>(std::count(row.begin(), row.end(), true));
  return out;
}

double objective(const MapSums& sums, const Eigen::MatrixXd& E) {
  return sums.total + (E * sums.S).cwiseProduct(E).sum() - 2 * E.cwiseProduct(sums.C).sum();
}

Support proximal_support(const MapSums& sums, Transforms transforms, std::size_t count) {
  const System system(sums, transforms);
  const Eigen::Index m = system.m;
  const Whitened problem = whiten(system);
  const double step = 1 / largest_eigenvalue(problem.Q);
  Eigen::MatrixXd eta = Eigen::MatrixXd::Zero(problem.q.rows(), problem.q.cols());
  double lambda = 0;
  for (Eigen::Index s = 0; s < eta.rows(); ++s)
    for (Eigen::Index b = 0; b < eta.cols(); b += m) lambda = std::max(lambda, problem.q.row(s).segment(b, m).norm());
  std::size_t left = 0;
  for (int fall = 0; fall < kMostFalls && left < count; ++fall) {
    lambda *= kShrinkFall;
    Eigen::MatrixXd ahead = eta;
    double momentum = 1;
    for (int n = 0; n < kShrinkSteps; ++n) {
      Eigen::MatrixXd next = ahead - step * (ahead * problem.Q - problem.q);
      left = shrink(step * lambda, m, next);
      const double grown = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
      ahead = next + (momentum - 1) / grown * (next - eta);
      momentum = grown;
      eta = std::move(next);
    }
  }
  struct Pair {
    double size;
    int s, b;
  };
  std::vector<Pair> pairs;
  for (int s = 0; s < sums.sliders(); ++s)
    for (int b = 0; b < sums.bones(); ++b)
      if (const double size = eta.row(s).segment(m * b, m).norm(); size > 0) pairs.push_back({size, s, b});
  const std::size_t kept = std::min(count, pairs.size());
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& x, const Pair& y) { return x.size > y.size; });
  Support out(at(sums.sliders()), std::vector<bool>(at(sums.bones()), false));
  for (std::size_t i = 0; i < kept; ++i) out[at(pairs[i].s)][at(pairs[i].b)] = true;
  return out;
}

void exchange_pairs(const MapSums& sums, Transforms transforms, Support& support) {
  const System system(sums, transforms);
  std::vector<SliderFit> fits;
  for (int s = 0; s < sums.sliders(); ++s) fits.push_back(fit_slider(system, s, support[at(s)]));
  struct Place {
    double size;
    std::size_t s, b;
  };
  const std::size_t limit = support.size() * support.front().size();
  for (std::size_t tried = 0; tried < limit; ++tried) {
    Place cheapest{std::numeric_limits<double>::infinity(), 0, 0};
    Place best{0, 0, 0};
    for (std::size_t s = 0; s < fits.size(); ++s)
      for (std::size_t b = 0; b < support[s].size(); ++b) {
        if (fits[s].cost[b] < cheapest.size) cheapest = {fits[s].cost[b], s, b};
        if (fits[s].gain[b] > best.size) best = {fits[s].gain[b], s, b};
      }
    if (!(best.size > kPays * cheapest.size)) return;
    std::vector<bool> grown = support[best.s];
    grown[best.b] = true;
    if (best.s == cheapest.s) grown[cheapest.b] = false;
    SliderFit more = fit_slider(system, static_cast<int>(best.s), grown);
    double change = more.value - fits[best.s].value;
    if (best.s != cheapest.s) change += cheapest.size;
    if (!(change < 0)) {  // the two of one slider stood in for each other
      fits[best.s].gain[best.b] = 0;
      continue;
    }
    support[best.s] = grown;
    fits[best.s] = std::move(more);
    if (best.s == cheapest.s) continue;
    support[cheapest.s][cheapest.b] = false;
    fits[cheapest.s] = fit_slider(system, static_cast<int>(cheapest.s), support[cheapest.s]);
  }
}

void refit(const MapSums& sums, Transforms transforms, SparseMap& map) {
  for (int s = 0; s < sums.sliders(); ++s) {
    const std::vector<int> bones = bones_in(map.support[at(s)]);
    Eigen::MatrixXd E = Eigen::MatrixXd::Zero(3, map.E.cols());
    for (const int b : bones) E.middleCols<4>(4 * b) = map.E.block<3, 4>(3 * s, 4 * b);
    if (!bones.empty() && transforms == Transforms::rigid) {
      refit_turns(sums, s, bones, E);
    } else if (!bones.empty()) {
      const auto n = 4 * index(bones.size());
      Eigen::MatrixXd own(n, n);
      Eigen::MatrixXd right(n, 3);
      for (std::size_t a = 0; a < bones.size(); ++a) {
        right.middleRows<4>(index(4 * a)) = sums.C.block<3, 4>(3 * s, 4 * bones[a]).transpose();
        for (std::size_t c = 0; c < bones.size(); ++c)
          own.block<4, 4>(index(4 * a), index(4 * c)) = sums.S.block<4, 4>(4 * bones[a], 4 * bones[c]);
      }
      add_ridge(4, own);
      const Eigen::MatrixXd best = Cholesky(own).solve(right);
      for (std::size_t a = 0; a < bones.size(); ++a)
        E.middleCols<4>(4 * bones[a]) = best.middleRows<4>(index(4 * a)).transpose();
    }
    map.E.middleRows<3>(3 * s) = E;
  }
}

void extrapolate(const MapSums& sums, const SparseMap& before, double share, Transforms transforms, SparseMap& map) {
  for (int s = 0; s < sums.sliders(); ++s)
    for (int b = 0; b < sums.bones(); ++b) {
      if (!map.support[at(s)][at(b)] || !before.support[at(s)][at(b)]) continue;
      auto block = map.E.block<3, 4>(3 * s, 4 * b);
      Block on = block + share * (block - before.E.block<3, 4>(3 * s, 4 * b));
      if (transforms == Transforms::rigid) {
        const Eigen::Vector3d h = sums.centers.col(b);
        const Eigen::Vector3d place = on * h.homogeneous();
        const Eigen::Matrix3d turn = closest_rotation(on.leftCols<3>() + Eigen::Matrix3d::Identity());
        on << turn - Eigen::Matrix3d::Identity(), place - (turn - Eigen::Matrix3d::Identity()) * h;
      }
      block = on;
    }
}

}  // namespace sinew::blendshapes
