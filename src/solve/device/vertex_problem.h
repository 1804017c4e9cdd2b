#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "solve/device/one_lane.h"
#include "solve/device/vertex_support.h"

/// The K-sparse simplex problem of one vertex [Le2014 §3.7] in one text for the processor and for a GPU.
namespace sinew::device {

/// Products are rounded: reduced gradients below this, relative to G, are noise.
constexpr double kNoise = 2e-7;

/// Rounding of bounds, relative to G.
constexpr double kBoundSlack = 1e-11;

/// Supports of up to so many bones have bounds of what exchanges may gain.
constexpr int kMostBounded = 16;

/// The monomials xx yy zz xy xz yz x y z 1 of a rest position that quadratic forms of bones are given in.
constexpr int kMonomials = 10;

/// The bones as vertices see them, as plain arrays (solve/lbs/weights_pass.h: BoneGram).
struct Bones {
  int count;
  int padded;
  const double* coefficients;  // B×10×padded
  const double* diagonal;      // 10×padded
};

/// min |y − Σ w_b D_b u|² over K-sparse convex weights, for one vertex after another, in the caller's memory.
///
/// In terms of G_jk = uᵀ M_jk u and g_j = uᵀ (DᵀY)_j the objective is wᵀ G w − 2 gᵀ w; rows of G are formed only for
/// bones that are in the support.
template <class Lanes>
class VertexProblem : private VertexSupport {
 public:
  /// Memory for supports of up to `slots` - 1 bones (`slots` from 2 on): one more is there while bones are exchanged.
  static std::size_t doubles(std::size_t padded, std::size_t slots) {
    return doubles_of(padded, slots, holds(static_cast<int>(slots)));
  }
  static std::size_t integers(std::size_t slots) { return kIntegerLists * slots; }

  SINEW_TEXT VertexProblem(const Lanes& lanes, const Bones& bones, int influences, int slots, double* numbers,
                           int* integers, VertexState& state)
      : VertexSupport(bones.padded, slots, holds(slots), numbers, integers, state),
        lanes_(lanes),
        bones_(bones),
        influences_(smaller(influences, bones.count)) {
    lanes_.each(slots_, [&](int r) { bone_in_row()[r] = -1; });
  }

  /// Takes the next vertex: its rest position, its column of DᵀY (4·padded), and what a smoothness term adds: `ridge`
  /// on the diagonal of G and `pull` (padded entries or null) on g.
  template <class Scalar>
  SINEW_TEXT void load(double x, double y, double z, const Scalar* products, double ridge, const double* pull) {
    const double values[kMonomials] = {x * x, y * y, z * z, x * y, x * z, y * z, x, y, z, 1};
    for (int m = 0; m < kMonomials; ++m) monomials_[m] = values[m];
    const Scalar* qx = products;
    const Scalar* qy = qx + n_;
    const Scalar* qz = qy + n_;
    const Scalar* q1 = qz + n_;
    double* const g = this->g();
    double* const diagonal = this->diagonal();
    lanes_.own(n_, [&](int j) { g[j] = x * qx[j] + y * qy[j] + z * qz[j] + q1[j]; });
    if (pull != nullptr) lanes_.own(n_, [&](int j) { g[j] += pull[j]; });
    lanes_.own(n_, [&](int j) { diagonal[j] = ridge; });
    for (int m = 0; m < kMonomials; ++m) {
      const double* c = bones_.diagonal + m * n_;
      const double monomial = monomials_[m];
      lanes_.own(n_, [&](int j) { diagonal[j] += monomial * c[j]; });
    }
    ridge_ = ridge;
    pull_ = pull;
    lanes_.alone([&] {
      s_.count = 0;
      s_.banned = -1;
      s_.exchanged = 0;
      s_.free = 0;
      for (int r = slots_ - 1; r >= 0; --r) free_rows()[s_.free++] = r;
    });
  }

  /// Starts from a support with weights; an empty one is replaced by the best single bone.
  SINEW_TEXT void set_support(const std::uint16_t* bones, const float* values, int count) {
    for (int k = 0; k < count; ++k) {
      if (values[k] > 0) enter(bones[k], static_cast<double>(values[k]));
    }
    if (s_.count > 0) return;
    enter(best_alone(-1, kHuge).index, 1);
  }

  /// Best weights on the current support, then entering and leaving bones until nothing pays; `swaps` exchanges at most
  /// once all slots are taken. Returns the objective wᵀ G w − 2 gᵀ w.
  SINEW_TEXT double improve(int swaps) {
    lanes_.alone([&] { s_.exchanged = 0; });
    solve_support();
    while (s_.count > influences_) {
      lanes_.alone([&] { leave(cheapest_to_drop()); });
      solve_support();
    }
    for (int round = 0; round < 4 * influences_ + 8; ++round) {
      compute_gradient();
      const int entering = most_promising();
      if (entering < 0) break;
      if (s_.count < influences_) {
        // A newcomer starts at zero; the solver lets it in by its gradient.
        const double before = s_.objective;
        enter(entering, 0);
        if (!(solve_support() < before)) break;
      } else if (swaps-- <= 0 || !exchange()) {
        break;
      } else {
        lanes_.alone([&] { s_.exchanged = 1; });
      }
    }
    return s_.objective;
  }

  /// The same and further: from the support that improve ends with, each bone is forbidden in turn until exchanges with
  /// the others pay no more, and then allowed again; the best support met is kept.
  SINEW_TEXT double improve_thoroughly(int swaps) {
    improve(swaps);
    if (s_.count < 2 || bones_.count <= influences_) return s_.objective;
    lanes_.alone([&] {
      keep_best();
      s_.tried_count = s_.count;
      for (int a = 0; a < s_.count; ++a) tried()[a] = bones_of()[a];
    });
    const int tries = s_.tried_count;
    for (int t = 0; t < tries; ++t) {
      const int bone = tried()[t];
      int at = 0;
      while (at < s_.count && bones_of()[at] != bone) ++at;
      if (at == s_.count) continue;
      lanes_.alone([&] {
        leave(at);
        s_.banned = bone;
      });
      improve(swaps);
      lanes_.alone([&] { s_.banned = -1; });
      improve(swaps);
      if (s_.objective < s_.best_objective) {
        lanes_.alone([&] { keep_best(); });
      } else {
        take_best();
      }
    }
    return s_.objective;
  }

  /// Objective once bone `slot` of the support is taken away, with one replacement allowed. Leaves the state as it was.
  SINEW_TEXT double objective_without(int slot) {
    const int bone = bones_of()[slot];
    lanes_.alone([&] {
      save();
      leave(slot);
      s_.banned = bone;
    });
    if (s_.count == 0) {
      // Every remaining bone alone, the best of them.
      const int best = best_alone(bone, kHuge).index;
      if (best < 0) {
        restore();
        return kHuge;
      }
      enter(best, 1);
    }
    solve_support();
    compute_gradient();
    const int entering = most_promising();
    if (entering >= 0) {
      enter(entering, 0);
      solve_support();
    }
    const double result = s_.objective;
    lanes_.alone([&] { s_.banned = -1; });
    restore();
    return result;
  }

  /// wᵀ G w − 2 gᵀ w of the current weights without what smoothing adds.
  SINEW_TEXT double data_objective() {
    double value = 0;
    for (int a = 0; a < s_.count; ++a) {
      const double* r = row(a);
      const double linear = g()[bones_of()[a]] - (pull_ != nullptr ? pull_[bones_of()[a]] : 0);
      double product = -2 * linear - ridge_ * weights()[a];
      for (int b = 0; b < s_.count; ++b) product += r[bones_of()[b]] * weights()[b];
      value += weights()[a] * product;
    }
    return value;
  }

  /// What moving the weights towards bone `bone` as far as pays would gain.
  SINEW_TEXT double gain_towards(int bone) {
    // Along d = e_bone − w: f(w + s d) = f + 2 s p + s² q.
    double p = -g()[bone], cross = 0, square = 0, along = 0;
    for (int a = 0; a < s_.count; ++a) {
      const double* r = row(a);
      cross += weights()[a] * r[bone];
      along += weights()[a] * g()[bones_of()[a]];
      for (int b = 0; b < s_.count; ++b) square += weights()[a] * weights()[b] * r[bones_of()[b]];
    }
    p += cross - (square - along);
    const double q = diagonal()[bone] - 2 * cross + square;
    if (p >= 0 || q <= 0) return 0;
    const double s = smaller(1.0, -p / q);
    return -(2 * s * p + s * s * q);
  }

  SINEW_TEXT bool exchanged() const { return s_.exchanged != 0; }
  SINEW_TEXT int count() const { return s_.count; }
  SINEW_TEXT int bone(int slot) const { return bones_of()[slot]; }
  SINEW_TEXT double weight(int slot) const { return weights()[slot]; }
  SINEW_TEXT const double* monomials() const { return monomials_; }

 private:
  SINEW_TEXT static bool holds(int slots) { return Lanes::kHolds && fits_registers(slots); }

  /// The bone that is best alone, of those other than `except`.
  SINEW_TEXT Lowest best_alone(int except, double bound) {
    const double* const g = this->g();
    const double* const diagonal = this->diagonal();
    return lanes_.lowest(
        bones_.count, bound, [&](int j) { return diagonal[j] - 2 * g[j]; }, [&](int j) { return j != except; });
  }

  /// Row `bone` of G, into buffer r.
  SINEW_TEXT void fill_row(int r, int bone) {
    double* out = rows() + r * n_;
    const double* c = bones_.coefficients + static_cast<std::ptrdiff_t>(bone) * kMonomials * n_;
    const int n = n_;
    const double m0 = monomials_[0], m1 = monomials_[1], m2 = monomials_[2], m3 = monomials_[3], m4 = monomials_[4];
    const double m5 = monomials_[5], m6 = monomials_[6], m7 = monomials_[7], m8 = monomials_[8];
    lanes_.each(n, [=](int j) {
      out[j] = c[j] * m0 + c[n + j] * m1 + c[2 * n + j] * m2 + c[3 * n + j] * m3 + c[4 * n + j] * m4 +
               c[5 * n + j] * m5 + c[6 * n + j] * m6 + c[7 * n + j] * m7 + c[8 * n + j] * m8 + c[9 * n + j];
    });
  }

  SINEW_TEXT void enter(int bone, double weight) {
    const int r = free_rows()[s_.free - 1];
    fill_row(r, bone);
    lanes_.alone([&] {
      rows()[r * n_ + bone] += ridge_;
      bone_in_row()[r] = bone;
      --s_.free;
      bones_of()[s_.count] = bone;
      row_of()[s_.count] = r;
      weights()[s_.count] = weight;
      ++s_.count;
    });
  }

  /// The exact simplex problem on the support; bones whose weight becomes zero leave it.
  SINEW_TEXT double solve_support() {
    lanes_.alone([&] { solve_small(); });
    return s_.objective;
  }

  SINEW_TEXT void compute_gradient() {
    double* const gradient = this->gradient();
    const double* const g = this->g();
    lanes_.own(n_, [=](int j) { gradient[j] = -g[j]; });
    for (int a = 0; a < s_.count; ++a) {
      const double* r = row(a);
      const double w = weights()[a];
      lanes_.own(n_, [=](int j) { gradient[j] += w * r[j]; });
    }
    lanes_.sync();
  }

  /// The bone outside the support whose reduced gradient is lowest, or -1 when no bone can lower the objective.
  SINEW_TEXT int most_promising() {
    const double* const gradient = this->gradient();
    double mean = 0;
    for (int a = 0; a < s_.count; ++a) mean += weights()[a] * gradient[bones_of()[a]];
    return lanes_
        .lowest(
            bones_.count, mean - kNoise * s_.scale, [=](int j) { return gradient[j]; },
            [&](int j) {
              bool outside = j != s_.banned;
              for (int a = 0; a < s_.count; ++a) outside = outside && bones_of()[a] != j;
              return outside;
            })
        .index;
  }

  SINEW_TEXT void find_gains(int m) {
    if (!Lanes::kHolds || !held_) return gains_over_base(m);
    switch (m) {
      case 1:
        return gains_held<1>();
      case 2:
        return gains_held<2>();
      default:
        return gains_held<kMostHeld>();
    }
  }

  /// What each bone j would gain when added to the bones `base` with optimal weights `w`: the step along the direction
  /// that the others readjust to at best, cut where a weight would turn negative. Fills gains; H⁻¹ by Cholesky.
  SINEW_TEXT void gains_over_base(int m) {
    const int n = n_;
    const int* const base = this->base();
    const double* const w = base_weights();
    const double scale = s_.scale;
    const double* last = row(base[m - 1]);
    const int r = bones_of()[base[m - 1]];
    double* const slope = this->slope();
    const double* const g = this->g();
    lanes_.own(n, [=](int j) { slope[j] = -g[j]; });
    for (int a = 0; a < m; ++a) {
      const double* row_a = row(base[a]);
      const double w_a = w[a];
      lanes_.own(n, [=](int j) { slope[j] += w_a * row_a[j]; });
    }
    lanes_.sync();
    const double flat = slope[r];
    double* const schur = this->schur();
    const double* const diagonal = this->diagonal();
    const double corner = last[r];
    lanes_.sync();
    lanes_.own(n, [=](int j) { schur[j] = diagonal[j] - 2 * last[j] + corner; });
    // Forward substitution of every a_j = <t − r, j − r> at once.
    double* const L = small();
    for (int a = 0; a + 1 < m; ++a) {
      const double* row_a = row(base[a]);
      const double shift = corner - row_a[r];
      double* z = solved() + a * n;
      lanes_.own(n, [=](int j) { z[j] = row_a[j] - last[j] + shift; });
      double pivot = row_a[bones_of()[base[a]]] - 2 * row_a[r] + corner;
      for (int c = 0; c < a; ++c) {
        const double* z_c = solved() + c * n;
        const double l = z_c[bones_of()[base[a]]];
        lanes_.alone([=] { L[a * m + c] = l; });
        pivot -= l * l;
        lanes_.own(n, [=](int j) { z[j] -= l * z_c[j]; });
      }
      const double d = pivot > 1e-10 * scale ? 1 / std::sqrt(pivot) : 0;
      lanes_.alone([=] { L[a * m + a] = d; });
      lanes_.each(n, [=](int j) {
        z[j] *= d;
        schur[j] -= z[j] * z[j];
      });
    }
    double* const reach = this->reach();
    double* const total = this->total();
    lanes_.own(n, [=](int j) { total[j] = 1; });
    lanes_.own(n, [=](int j) {
      const double s = schur[j] > 1e-9 * scale ? schur[j] : 1e-9 * scale;
      const double d = slope[j] - flat;
      schur[j] = s;
      slope[j] = d;
      reach[j] = d < 0 ? -d / s : 0;
    });
    // Back substitution: how much of weight t the newcomer takes per unit of its own.
    for (int a = m - 2; a >= 0; --a) {
      double* z = solved() + a * n;
      for (int c = a + 1; c + 1 < m; ++c) {
        const double* z_c = solved() + c * n;
        const double l = L[c * m + a];
        lanes_.own(n, [=](int j) { z[j] -= l * z_c[j]; });
      }
      const double d = L[a * m + a];
      const double limit = w[a];
      lanes_.own(n, [=](int j) {
        z[j] *= d;
        total[j] -= z[j];
        const double most = z[j] > 1e-12 ? limit / z[j] : 1e12;
        reach[j] = reach[j] < most ? reach[j] : most;
      });
    }
    double* const gain = gains();
    const double rest = w[m - 1];
    lanes_.each(n, [=](int j) {
      const double most = total[j] > 1e-12 ? rest / total[j] : 1e12;
      const double t = reach[j] < most ? reach[j] : most;
      gain[j] = -t * (2 * slope[j] + t * schur[j]);
    });
  }

  /// The same for M bones, from registers.
  template <int M>
  SINEW_TEXT void gains_held() {
    const double scale = s_.scale;
    const double* rows[M];
    double w[M], shift[M], L[M][M], d[M];
    int at[M];
    for (int a = 0; a < M; ++a) {
      rows[a] = row(base()[a]);
      at[a] = bones_of()[base()[a]];
      w[a] = base_weights()[a];
    }
    const double* const last = rows[M - 1];
    const int r = at[M - 1];
    const double* const g = this->g();
    const double* const diagonal = this->diagonal();
    double* const gain = gains();
    const double corner = last[r];
    double flat = -g[r];
    for (int a = 0; a < M; ++a) {
      flat += w[a] * rows[a][r];
      shift[a] = corner - rows[a][r];
    }
    for (int a = 0; a + 1 < M; ++a) {
      double pivot = rows[a][at[a]] - last[at[a]] + shift[a];
      for (int c = 0; c < a; ++c) {
        double l = rows[c][at[a]] - last[at[a]] + shift[c];
        for (int e = 0; e < c; ++e) l -= L[c][e] * L[a][e];
        L[a][c] = l * d[c];
        pivot -= L[a][c] * L[a][c];
      }
      d[a] = pivot > 1e-10 * scale ? 1 / std::sqrt(pivot) : 0;
    }
    lanes_.sync();
    lanes_.each(n_, [&](int j) {
      double slope = -g[j] - flat;
      for (int a = 0; a < M; ++a) slope += w[a] * rows[a][j];
      double schur = diagonal[j] - 2 * last[j] + corner;
      double z[M];
      for (int a = 0; a + 1 < M; ++a) {
        z[a] = rows[a][j] - last[j] + shift[a];
        for (int c = 0; c < a; ++c) z[a] -= L[a][c] * z[c];
        z[a] *= d[a];
        schur -= z[a] * z[a];
      }
      schur = larger(schur, 1e-9 * scale);
      double reach = slope < 0 ? -slope / schur : 0;
      double total = 1;
      for (int a = M - 2; a >= 0; --a) {
        for (int c = a + 1; c + 1 < M; ++c) z[a] -= L[c][a] * z[c];
        z[a] *= d[a];
        total -= z[a];
        if (z[a] > 1e-12) reach = smaller(reach, w[a] / z[a]);
      }
      if (total > 1e-12) reach = smaller(reach, w[M - 1] / total);
      gain[j] = -reach * (2 * slope + reach * schur);
    });
  }

  /// Whether giving up bone k of the support for any other one may gain anything, for a processor. With bone j let in,
  /// the signs of weights ignored, everything follows from the support as it is: p_j the reduced gradient, σ_j the
  /// squared distance of j's displacement to the span, z_kj how much of weight k it takes per unit, h_k the diagonal of
  /// H⁻¹. Exchanging k for j then gains (h_k p_j² − 2 p_j w_k z_kj − w_k² σ_j) / (h_k σ_j + z_kj²); signs can only take
  /// from that. `compute_gradient` came before.
  SINEW_TEXT void bound_exchanges(bool* may) {
    constexpr int kBlock = 8;  // bones that are worked on together
    const int m = s_.count - 1;
    const double scale = s_.scale;
    const double* const last = row(m);
    const int r = bones_of()[m];
    const double corner = last[r];
    double L[kMostBounded][kMostBounded], d[kMostBounded], shift[kMostBounded], h[kMostBounded];
    const double* rows[kMostBounded];
    for (int a = 0; a < m; ++a) {
      rows[a] = row(a);
      shift[a] = corner - rows[a][r];
      double pivot = rows[a][bones_of()[a]] - last[bones_of()[a]] + shift[a];
      for (int c = 0; c < a; ++c) {
        double l = rows[c][bones_of()[a]] - last[bones_of()[a]] + shift[c];
        for (int e = 0; e < c; ++e) l -= L[c][e] * L[a][e];
        L[a][c] = l * d[c];
        pivot -= L[a][c] * L[a][c];
      }
      if (!(pivot > 1e-10 * scale)) {
        for (int k = 0; k <= m; ++k) may[k] = true;
        return;
      }
      d[a] = 1 / std::sqrt(pivot);
    }
    // h from the columns of L⁻¹; that of the eliminated bone is 1ᵀ H⁻¹ 1.
    double sum[kMostBounded] = {};
    for (int a = 0; a < m; ++a) {
      double column[kMostBounded];
      h[a] = 0;
      for (int i = a; i < m; ++i) {
        double value = i == a ? 1.0 : 0.0;
        for (int c = a; c < i; ++c) value -= L[i][c] * column[c];
        column[i] = value * d[i];
        h[a] += column[i] * column[i];
        sum[i] += column[i];
      }
    }
    h[m] = 0;
    for (int i = 0; i < m; ++i) h[m] += sum[i] * sum[i];
    double mean = 0;
    const double* const gradient = this->gradient();
    for (int a = 0; a <= m; ++a) mean += weights()[a] * gradient[bones_of()[a]];
    // Only bones whose gradient falls can gain: mostly a few of them.
    double* const fall = slope();  // −p
    for (int j = 0; j < bones_.count; ++j) fall[j] = mean - gradient[j];
    for (int a = 0; a <= m; ++a) fall[bones_of()[a]] = 0;
    if (s_.banned >= 0) fall[s_.banned] = 0;
    const double* const diagonal = this->diagonal();
    const double slack = kBoundSlack * scale;
    double highest[kMostBounded][kBlock];
    for (int k = 0; k <= m; ++k) simplex::fill(highest[k], kBlock, 0);
    for (int next = 0; next < bones_.count;) {
      int bone[kBlock];
      int count = 0;
      for (; next < bones_.count && count < kBlock; ++next) {
        bone[count] = next;
        count += fall[next] > 0 ? 1 : 0;
      }
      if (count == 0) break;
      for (int l = count; l < kBlock; ++l) bone[l] = bone[0];
      double z[kMostBounded][kBlock], schur[kBlock], p[kBlock], apart[kBlock];
      for (int l = 0; l < kBlock; ++l) {
        const int j = bone[l];
        p[l] = fall[j];
        apart[l] = corner - last[j];
        schur[l] = diagonal[j] - last[j] + apart[l];
      }
      for (int a = 0; a < m; ++a) {
        double* const z_a = z[a];
        for (int l = 0; l < kBlock; ++l) z_a[l] = rows[a][bone[l]] - rows[a][r] + apart[l];
        for (int c = 0; c < a; ++c)
          for (int l = 0; l < kBlock; ++l) z_a[l] -= L[a][c] * z[c][l];
        for (int l = 0; l < kBlock; ++l) {
          z_a[l] *= d[a];
          schur[l] -= z_a[l] * z_a[l];
        }
      }
      for (int l = 0; l < kBlock; ++l) z[m][l] = 1;
      for (int a = m - 1; a >= 0; --a) {
        double* const z_a = z[a];
        for (int c = a + 1; c < m; ++c)
          for (int l = 0; l < kBlock; ++l) z_a[l] -= L[c][a] * z[c][l];
        for (int l = 0; l < kBlock; ++l) {
          z_a[l] *= d[a];
          z[m][l] -= z_a[l];
        }
      }
      for (int l = 0; l < kBlock; ++l) schur[l] = schur[l] > 1e-9 * scale ? schur[l] : 1e-9 * scale;
      for (int k = 0; k <= m; ++k) {
        const double w = weights()[k];
        const double h_k = h[k];
        double* const high = highest[k];
        for (int l = 0; l < kBlock; ++l) {
          const double below = h_k * schur[l] + z[k][l] * z[k][l];
          const double gain = h_k * p[l] * p[l] + 2 * p[l] * w * z[k][l] - w * w * schur[l] + slack * below;
          high[l] = high[l] > gain ? high[l] : gain;
        }
      }
    }
    for (int k = 0; k <= m; ++k) {
      double high = 0;
      for (int l = 0; l < kBlock; ++l) high = larger(high, highest[k][l]);
      may[k] = high > 0;
    }
  }

  /// The best exchange of one bone for another, found by trying to leave out each in turn; undone unless it pays.
  SINEW_TEXT bool exchange() {
    const int n = s_.count;
    const double before = s_.objective;
    double best = before - kNoise * kNoise * s_.scale;
    int out = -1, in = -1;
    if (n == 1) {
      // Nothing stays to add to: another bone may be better alone.
      const double* const g = this->g();
      const double* const diagonal = this->diagonal();
      const Lowest alone = lanes_.lowest(
          bones_.count, best, [&](int j) { return diagonal[j] - 2 * g[j]; },
          [&](int j) { return j != s_.banned && j != bones_of()[0]; });
      if (alone.index >= 0) best = alone.value, out = 0, in = alone.index;
    }
    bool may[kMostBounded];
    const bool bounded = !Lanes::kHolds && n > 1 && n <= kMostBounded;
    if (bounded) bound_exchanges(may);
    for (int k = 0; k < n && n > 1; ++k) {
      if (bounded && !may[k]) continue;
      lanes_.alone([&] { solve_without(k); });
      find_gains(s_.kept);
      lanes_.alone([&] {
        for (int a = 0; a < n; ++a) gains()[bones_of()[a]] = 0;
        if (s_.banned >= 0) gains()[s_.banned] = 0;
      });
      const double without = s_.without;
      const double* const gain = gains();
      const Lowest found = lanes_.lowest(
          bones_.count, best, [=](int j) { return without - gain[j]; }, [](int) { return true; });
      if (found.index >= 0) best = found.value, out = k, in = found.index;
    }
    if (out < 0) return false;
    lanes_.alone([&] {
      save();
      leave(out);
    });
    enter(in, 0);
    if (solve_support() < before) return true;
    restore();
    return false;
  }

  SINEW_TEXT void take_best() {
    lanes_.alone([&] {
      while (s_.count > 0) leave(s_.count - 1);
    });
    const int count = s_.best_count;
    for (int a = 0; a < count; ++a) enter(best_bones()[a], best_weights()[a]);
    lanes_.alone([&] { s_.objective = s_.best_objective; });
  }

  /// Buffers of the saved support that a newcomer took in the meantime are filled again.
  SINEW_TEXT void restore() {
    lanes_.alone([&] { take_saved(); });
    for (int a = 0; a < s_.count; ++a) {
      const int r = row_of()[a];
      const int bone = bones_of()[a];
      if (bone_in_row()[r] == bone) continue;
      lanes_.sync();
      fill_row(r, bone);
      lanes_.alone([&] {
        rows()[r * n_ + bone] += ridge_;
        bone_in_row()[r] = bone;
      });
    }
  }

  const Lanes lanes_;
  const Bones bones_;
  const int influences_;
  double ridge_ = 0;
  double monomials_[kMonomials] = {};
  const double* pull_ = nullptr;
};

}  // namespace sinew::device
