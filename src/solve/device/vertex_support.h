#pragma once

#include <cmath>
#include <cstddef>

#include "math/simplex_text.h"

/// The support of one vertex while it is solved for: what lanes share of it, and what one lane does for all.
namespace sinew::device {

/// Numbers that all lanes of a vertex share.
struct VertexState {
  int count;  // of the support
  int free;   // rows
  double objective;
  double scale;  // largest G_kk of the support: what tolerances refer to
  int banned;
  int exchanged;
  double without;  // objective without the bone that is tried
  int kept;        // bones that are left then
  int saved_count;
  int saved_free;
  double saved_objective;
  int best_count;
  int tried_count;
  double best_objective;
};

class VertexSupport {
 protected:
  static constexpr double kHuge = HUGE_VAL;
  static constexpr int kMostHeld = 3;  // bones beside which registers hold what another would gain
  static constexpr int kLists = 7;
  static constexpr int kIntegerLists = 11;

  /// Whether no support can have more bones than are held when one of them is left out.
  SINEW_TEXT static bool fits_registers(int slots) { return slots - 2 <= kMostHeld; }

  /// `held`: gains of exchanges come from registers, so that they need little memory.
  SINEW_TEXT static std::size_t doubles_of(std::size_t padded, std::size_t slots, bool held) {
    return (held ? 3 + slots : 6 + 2 * slots - 2) * padded + slots * slots + simplex::scratch_doubles(slots) +
           kLists * slots;
  }

  SINEW_TEXT VertexSupport(int padded, int slots, bool held, double* numbers, int* integers, VertexState& state)
      : slots_(slots), n_(padded), held_(held), numbers_(numbers), integers_(integers), s_(state) {}

  // padded entries each
  SINEW_TEXT double* g() const { return numbers_; }
  SINEW_TEXT double* gradient() const { return numbers_ + n_; }
  SINEW_TEXT double* diagonal() const { return numbers_ + 2 * n_; }
  SINEW_TEXT double* slope() const { return numbers_ + 3 * n_; }
  SINEW_TEXT double* schur() const { return numbers_ + 4 * n_; }
  SINEW_TEXT double* reach() const { return numbers_ + 5 * n_; }
  // What only exchanges need lies where others have had their use.
  SINEW_TEXT double* total() const { return gradient(); }
  SINEW_TEXT double* gains() const { return held_ ? gradient() : reach(); }
  SINEW_TEXT double* rows() const { return numbers_ + (held_ ? 3 : 6) * n_; }
  SINEW_TEXT double* solved() const { return rows() + slots_ * n_; }
  // small ones
  SINEW_TEXT double* small() const { return solved() + (held_ ? 0 : slots_ - 2) * n_; }
  SINEW_TEXT double* simplex_numbers() const { return small() + slots_ * slots_; }
  SINEW_TEXT double* list(int i) const { return simplex_numbers() + slots_ * (slots_ + 2 + i); }
  SINEW_TEXT double* weights() const { return list(0); }
  SINEW_TEXT double* small_g() const { return list(1); }
  SINEW_TEXT double* base_weights() const { return list(2); }
  SINEW_TEXT double* saved_weights() const { return list(3); }
  SINEW_TEXT double* best_weights() const { return list(4); }
  SINEW_TEXT double* inverse_column() const { return list(5); }
  SINEW_TEXT double* inverse_total() const { return list(6); }
  SINEW_TEXT int* bones_of() const { return integers_; }
  SINEW_TEXT int* row_of() const { return integers_ + slots_; }
  SINEW_TEXT int* bone_in_row() const { return integers_ + 2 * slots_; }
  SINEW_TEXT int* free_rows() const { return integers_ + 3 * slots_; }
  SINEW_TEXT int* base() const { return integers_ + 4 * slots_; }
  SINEW_TEXT int* saved_bones() const { return integers_ + 5 * slots_; }
  SINEW_TEXT int* saved_rows() const { return integers_ + 6 * slots_; }
  SINEW_TEXT int* saved_free() const { return integers_ + 7 * slots_; }
  SINEW_TEXT int* best_bones() const { return integers_ + 8 * slots_; }
  SINEW_TEXT int* tried() const { return integers_ + 9 * slots_; }
  SINEW_TEXT int* simplex_integers() const { return integers_ + 10 * slots_; }

  SINEW_TEXT double* row(int slot) const { return rows() + row_of()[slot] * n_; }

  SINEW_TEXT void leave(int slot) {
    free_rows()[s_.free++] = row_of()[slot];
    --s_.count;
    bones_of()[slot] = bones_of()[s_.count];
    row_of()[slot] = row_of()[s_.count];
    weights()[slot] = weights()[s_.count];
  }

  /// The exact simplex problem on the support; bones whose weight becomes zero leave it.
  SINEW_TEXT void solve_small() {
    const int n = s_.count;
    double scale = 0;
    for (int a = 0; a < n; ++a) {
      const double* r = row(a);
      for (int b = 0; b < n; ++b) small()[a * n + b] = r[bones_of()[b]];
      small_g()[a] = g()[bones_of()[a]];
      scale = larger(scale, r[bones_of()[a]]);
    }
    s_.scale = scale;
    s_.objective = simplex::solve(small(), n, small_g(), n, weights(), simplex_numbers(), simplex_integers());
    for (int a = n - 1; a >= 0; --a) {
      if (weights()[a] <= 0) leave(a);
    }
  }

  /// Weights of the support without slot k, in base and base_weights.
  SINEW_TEXT void solve_without(int k) {
    int m = 0;
    for (int a = 0; a < s_.count; ++a) {
      if (a != k) base()[m++] = a;
    }
    for (int a = 0; a < m; ++a) {
      const double* r = row(base()[a]);
      for (int b = 0; b < m; ++b) small()[a * m + b] = r[bones_of()[base()[b]]];
      small_g()[a] = g()[bones_of()[base()[a]]];
      base_weights()[a] = weights()[base()[a]];
    }
    s_.without = simplex::solve(small(), m, small_g(), m, base_weights(), simplex_numbers(), simplex_integers());
    int kept = 0;
    for (int a = 0; a < m; ++a) {
      if (base_weights()[a] > 0) {
        base()[kept] = base()[a];
        base_weights()[kept++] = base_weights()[a];
      }
    }
    s_.kept = kept;
  }

  /// Setting weight k to zero while the others readjust (signs ignored) costs w_k² / (H⁻¹)_kk, H the Hessian on
  /// Σ w = 1.
  SINEW_TEXT int cheapest_to_drop() {
    const int m = s_.count - 1;
    const double* last = row(m);
    const int r = bones_of()[m];
    double* const L = small();
    double* const column = inverse_column();
    double* const total = inverse_total();
    double largest = 0;
    for (int a = 0; a < m; ++a) {
      const double* row_a = row(a);
      for (int b = 0; b <= a; ++b) {
        const int j = bones_of()[b];
        L[a * m + b] = row_a[j] - row_a[r] - last[j] + last[r];
      }
      largest = larger(largest, L[a * m + a]);
    }
    const double ridge = 1e-12 * largest + 1e-300;
    for (int a = 0; a < m; ++a) {
      for (int b = 0; b < a; ++b) {
        double value = L[a * m + b];
        for (int c = 0; c < b; ++c) value -= L[a * m + c] * L[b * m + c];
        L[a * m + b] = value / L[b * m + b];
      }
      double pivot = L[a * m + a] + ridge;
      for (int c = 0; c < a; ++c) pivot -= L[a * m + c] * L[a * m + c];
      L[a * m + a] = std::sqrt(larger(pivot, ridge));
    }
    // Column a of L⁻¹; (H⁻¹)_aa is its squared norm.
    double best_cost = kHuge;
    int best = 0;
    simplex::fill(total, m, 0.0);
    for (int a = 0; a < m; ++a) {
      double norm = 0;
      for (int i = a; i < m; ++i) {
        double value = i == a ? 1.0 : 0.0;
        for (int c = a; c < i; ++c) value -= L[i * m + c] * column[c];
        column[i] = value / L[i * m + i];
        norm += column[i] * column[i];
        total[i] += column[i];
      }
      const double cost = weights()[a] * weights()[a] / norm;
      if (cost < best_cost) best_cost = cost, best = a;
    }
    double norm = 0;  // of the eliminated bone: 1ᵀ H⁻¹ 1
    for (int i = 0; i < m; ++i) norm += total[i] * total[i];
    if (weights()[m] * weights()[m] / norm < best_cost) best = m;
    return best;
  }

  SINEW_TEXT void keep_best() {
    s_.best_count = s_.count;
    s_.best_objective = s_.objective;
    for (int a = 0; a < s_.count; ++a) {
      best_weights()[a] = weights()[a];
      best_bones()[a] = bones_of()[a];
    }
  }

  SINEW_TEXT void save() {
    s_.saved_count = s_.count;
    s_.saved_objective = s_.objective;
    s_.saved_free = s_.free;
    for (int a = 0; a < s_.count; ++a) {
      saved_weights()[a] = weights()[a];
      saved_bones()[a] = bones_of()[a];
      saved_rows()[a] = row_of()[a];
    }
    for (int r = 0; r < s_.free; ++r) saved_free()[r] = free_rows()[r];
  }

  /// All but the rows of G.
  SINEW_TEXT void take_saved() {
    s_.count = s_.saved_count;
    s_.objective = s_.saved_objective;
    s_.free = s_.saved_free;
    for (int a = 0; a < s_.count; ++a) {
      weights()[a] = saved_weights()[a];
      bones_of()[a] = saved_bones()[a];
      row_of()[a] = saved_rows()[a];
    }
    for (int r = 0; r < s_.free; ++r) free_rows()[r] = saved_free()[r];
  }

  const int slots_;
  const int n_;  // entries of a row
  const bool held_;
  double* const numbers_;
  int* const integers_;
  VertexState& s_;
};

}  // namespace sinew::device
