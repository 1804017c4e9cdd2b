#pragma once

#include <cmath>
#include <cstddef>

#include "math/device_code.h"

/// Convex least squares for a handful of unknowns [Le2014 §3.7.1], in one text for the processor and for a GPU
/// (math/simplex.h says what it solves).
namespace sinew::simplex {

constexpr double kRidge = 1e-13;      // relative to the largest pivot: keeps duplicated columns solvable
constexpr double kSame = 1e-15;       // columns whose squared distance is below this, relative to them, are one
constexpr double kTolerance = 1e-12;  // an entry enters when its reduced gradient < -kTolerance · scale

/// Scratch that solve() takes for n unknowns: so many doubles, and n ints.
SINEW_TEXT std::size_t scratch_doubles(std::size_t n) {
  return n * (n + 2);
}

/// The state of one solve; all arrays live in the caller's scratch.
struct ActiveSet {
  const double* G;
  int ldg;
  const double* g;
  int n;
  double* x;
  double* gradient;  // G x − g
  double* H;         // Cholesky factor of the reduced Hessian, m×m row-major lower
  double* step;      // m
  int* members;      // positive entries, `count` of them
  int count;

  SINEW_TEXT double at(int i, int j) const;
};

SINEW_TEXT double ActiveSet::at(int i, int j) const {
  return G[i + static_cast<std::ptrdiff_t>(j) * ldg];
}

SINEW_TEXT void fill(double* to, int n, double value) {
  for (int i = 0; i < n; ++i) to[i] = value;
}

SINEW_TEXT void compute_gradient(ActiveSet& s) {
  for (int i = 0; i < s.n; ++i) s.gradient[i] = -s.g[i];
  for (int a = 0; a < s.count; ++a) {
    const int j = s.members[a];
    const double* column = s.G + static_cast<std::ptrdiff_t>(j) * s.ldg;
    for (int i = 0; i < s.n; ++i) s.gradient[i] += column[i] * s.x[j];
  }
}

/// Newton step on the members with Σ step = 0: the last member is eliminated, the rest solved by Cholesky.
SINEW_TEXT void solve_members(ActiveSet& s) {
  const int m = s.count - 1;
  const int r = s.members[m];
  const double g_rr = s.at(r, r);
  double largest = 0;
  for (int a = 0; a < m; ++a) {
    const int i = s.members[a];
    const double g_ir = s.at(i, r);
    for (int b = 0; b <= a; ++b) {
      const int j = s.members[b];
      s.H[a * m + b] = s.at(i, j) - g_ir - s.at(j, r) + g_rr;
    }
    largest = larger(largest, s.H[a * m + a]);
    s.step[a] = s.gradient[r] - s.gradient[i];
  }
  if (!(largest > kSame * std::abs(g_rr))) {
    fill(s.step, s.count, 0.0);
    return;
  }
  const double ridge = kRidge * largest + 1e-300;
  for (int a = 0; a < m; ++a) {
    double* row = s.H + a * m;
    for (int b = 0; b < a; ++b) {
      double value = row[b];
      for (int c = 0; c < b; ++c) value -= row[c] * s.H[b * m + c];
      row[b] = value / s.H[b * m + b];
    }
    double pivot = row[a] + ridge;
    for (int c = 0; c < a; ++c) pivot -= row[c] * row[c];
    row[a] = std::sqrt(larger(pivot, ridge));
    double value = s.step[a];
    for (int c = 0; c < a; ++c) value -= row[c] * s.step[c];
    s.step[a] = value / row[a];
  }
  double sum = 0;
  for (int a = m - 1; a >= 0; --a) {
    double value = s.step[a];
    for (int c = a + 1; c < m; ++c) value -= s.H[c * m + a] * s.step[c];
    s.step[a] = value / s.H[a * m + a];
    sum += s.step[a];
  }
  s.step[m] = -sum;
}

/// Walks along the step until an entry reaches zero; that entry leaves. True when the whole step was taken.
SINEW_TEXT bool advance(ActiveSet& s) {
  double fraction = 1;
  int blocking = -1;
  for (int a = 0; a < s.count; ++a) {
    const double x = s.x[s.members[a]];
    if (s.step[a] < 0 && x + fraction * s.step[a] < 0) {
      fraction = x / -s.step[a];
      blocking = a;
    }
  }
  for (int a = 0; a < s.count; ++a) {
    double& x = s.x[s.members[a]];
    x = larger(0.0, x + fraction * s.step[a]);
  }
  if (blocking >= 0) s.x[s.members[blocking]] = 0;
  int kept = 0;
  for (int a = 0; a < s.count; ++a) {
    if (s.x[s.members[a]] > 0) s.members[kept++] = s.members[a];
  }
  s.count = kept;
  return blocking < 0;
}

SINEW_TEXT void normalise(ActiveSet& s) {
  double sum = 0;
  for (int i = 0; i < s.n; ++i) sum += s.x[i] = larger(0.0, s.x[i]);
  if (!(sum > 0)) {
    fill(s.x, s.n, 0.0);
    s.x[0] = sum = 1;
  }
  s.count = 0;
  for (int i = 0; i < s.n; ++i) {
    s.x[i] /= sum;
    if (s.x[i] > 0) s.members[s.count++] = i;
  }
}

/// All weight on the entry that is best alone.
SINEW_TEXT void start_over(ActiveSet& s) {
  int best = 0;
  for (int i = 1; i < s.n; ++i)
    if (s.at(i, i) - 2 * s.g[i] < s.at(best, best) - 2 * s.g[best]) best = i;
  fill(s.x, s.n, 0.0);
  s.x[best] = 1;
  s.members[0] = best;
  s.count = 1;
}

/// xᵀ G x − 2 gᵀ x, from the gradient.
SINEW_TEXT double objective(const ActiveSet& s) {
  double sum = 0;
  for (int i = 0; i < s.n; ++i) sum += s.x[i] * (s.gradient[i] - s.g[i]);
  return sum;
}

/// Minimises xᵀ G x − 2 gᵀ x over the simplex from x; returns the objective.
SINEW_TEXT double solve(const double* G, int ldg, const double* g, int n, double* x, double* numbers, int* indices) {
  ActiveSet s{G, ldg, g, n, x, numbers, numbers + 2 * n, numbers + n, indices, 0};
  normalise(s);

  double scale = 0;
  for (int i = 0; i < n; ++i) scale = larger(scale, std::abs(s.at(i, i)));
  for (int round = 0; round < 8 * n + 20; ++round) {
    compute_gradient(s);
    if (s.count > 1) {
      solve_members(s);
      const bool whole = advance(s);
      if (s.count == 0) start_over(s);  // columns so nearly equal that the step is not a number
      if (!whole) continue;
      compute_gradient(s);
    }
    double mean = 0;
    for (int a = 0; a < s.count; ++a) mean += x[s.members[a]] * s.gradient[s.members[a]];
    int entering = -1;
    double lowest = mean - kTolerance * scale;
    for (int i = 0; i < n; ++i) {
      if (x[i] == 0 && s.gradient[i] < lowest) {
        lowest = s.gradient[i];
        entering = i;
      }
    }
    if (entering < 0) return objective(s);
    // The newcomer goes first: the last member, which is eliminated, stays one with weight.
    s.members[s.count++] = s.members[0];
    s.members[0] = entering;
  }
  compute_gradient(s);
  return objective(s);
}

}  // namespace sinew::simplex
