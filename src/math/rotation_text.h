#pragma once

#include <cmath>

#include "math/device_code.h"

/// closest_rotation of math/rotation.h for code that also runs on a GPU. 3×3 matrices are nine numbers, column by
/// column.
namespace sinew::rotation {

/// Largest |N q − λ q| relative to |λ| that the fast path may leave.
constexpr double kResidual = 1e-14;

/// Horn's matrix: qᵀ N q = tr(R(q)ᵀ H) for a unit quaternion q = (w, x, y, z).
SINEW_TEXT void horn_matrix(const double* H, double (&N)[4][4]) {
  N[0][0] = H[0] + H[4] + H[8];
  N[1][1] = H[0] - H[4] - H[8];
  N[2][2] = -H[0] + H[4] - H[8];
  N[3][3] = -H[0] - H[4] + H[8];
  N[0][1] = N[1][0] = H[5] - H[7];
  N[0][2] = N[2][0] = H[6] - H[2];
  N[0][3] = N[3][0] = H[1] - H[3];
  N[1][2] = N[2][1] = H[3] + H[1];
  N[1][3] = N[3][1] = H[6] + H[2];
  N[2][3] = N[3][2] = H[7] + H[5];
}

/// 2×2 minors of rows r and r + 1, of the columns 01 02 03 12 13 23.
SINEW_TEXT void minors(const double (&N)[4][4], int r, double (&m)[6]) {
  m[0] = N[r][0] * N[r + 1][1] - N[r][1] * N[r + 1][0];
  m[1] = N[r][0] * N[r + 1][2] - N[r][2] * N[r + 1][0];
  m[2] = N[r][0] * N[r + 1][3] - N[r][3] * N[r + 1][0];
  m[3] = N[r][1] * N[r + 1][2] - N[r][2] * N[r + 1][1];
  m[4] = N[r][1] * N[r + 1][3] - N[r][3] * N[r + 1][1];
  m[5] = N[r][2] * N[r + 1][3] - N[r][3] * N[r + 1][2];
}

/// Largest root of the characteristic polynomial of N by Newton from above [Theobald 2005].
SINEW_TEXT double largest_eigenvalue(const double* H, const double (&N)[4][4]) {
  double norm2 = 0;
  for (int i = 0; i < 9; ++i) norm2 += H[i] * H[i];
  double s[6], t[6];
  minors(N, 0, s);
  minors(N, 2, t);
  const double determinant =
      H[0] * (H[4] * H[8] - H[5] * H[7]) - H[3] * (H[1] * H[8] - H[2] * H[7]) + H[6] * (H[1] * H[5] - H[2] * H[4]);
  const double c2 = -2 * norm2;
  const double c1 = -8 * determinant;
  const double c0 = s[0] * t[5] - s[1] * t[4] + s[2] * t[3] + s[3] * t[2] - s[4] * t[1] + s[5] * t[0];
  double lambda = std::sqrt(3 * norm2);
  for (int step = 0; step < 50; ++step) {
    const double l2 = lambda * lambda;
    const double value = l2 * l2 + c2 * l2 + c1 * lambda + c0;
    const double slope = 4 * l2 * lambda + 2 * c2 * lambda + c1;
    if (!(slope > 0)) break;
    const double next = lambda - value / slope;
    if (std::abs(next - lambda) <= 1e-13 * lambda) return next;
    lambda = next;
  }
  return lambda;
}

SINEW_TEXT void normalise(double (&q)[4]) {
  const double norm = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  if (!(norm > 0)) return;
  for (double& value : q) value /= norm;
}

/// Column of the adjugate of N − λ I with the largest norm: the eigenvector of a simple eigenvalue.
SINEW_TEXT void eigenvector(const double (&given)[4][4], double lambda, double (&q)[4]) {
  double N[4][4];
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c) N[r][c] = given[r][c] - (r == c ? lambda : 0);
  double s[6], t[6];
  minors(N, 0, s);
  minors(N, 2, t);
  double best = -1;
  for (int column = 0; column < 4; ++column) {
    // The other row of the same half, and the minors of the other half.
    const double* row = N[column ^ 1];
    const double* m = column < 2 ? t : s;
    const double sign = column % 2 == 0 ? 1 : -1;
    const double a[4] = {sign * (row[1] * m[5] - row[2] * m[4] + row[3] * m[3]),
                         sign * (-row[0] * m[5] + row[2] * m[2] - row[3] * m[1]),
                         sign * (row[0] * m[4] - row[1] * m[2] + row[3] * m[0]),
                         sign * (-row[0] * m[3] + row[1] * m[1] - row[2] * m[0])};
    const double norm = a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3];
    if (norm <= best) continue;
    best = norm;
    for (int i = 0; i < 4; ++i) q[i] = a[i];
  }
  normalise(q);
}

/// Eigenvector of the largest eigenvalue by cyclic Jacobi: slower, but right for any multiplicity.
SINEW_TEXT void eigenvector_by_jacobi(const double (&given)[4][4], double (&q)[4]) {
  double N[4][4], Q[4][4];
  double norm2 = 0;
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c) {
      N[r][c] = given[r][c];
      Q[r][c] = r == c ? 1 : 0;
      norm2 += N[r][c] * N[r][c];
    }
  for (int sweep = 0; sweep < 30; ++sweep) {
    double off = 0;
    for (int a = 0; a < 4; ++a)
      for (int b = a + 1; b < 4; ++b) off += N[a][b] * N[a][b];
    if (off <= 1e-34 * norm2) break;
    for (int a = 0; a < 4; ++a)
      for (int b = a + 1; b < 4; ++b) {
        if (N[a][b] == 0) continue;
        const double theta = (N[b][b] - N[a][a]) / (2 * N[a][b]);
        const double tangent = (theta >= 0 ? 1.0 : -1.0) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(tangent * tangent + 1);
        const double s = tangent * c;
        for (int i = 0; i < 4; ++i) {
          const double x = N[i][a], y = N[i][b];
          N[i][a] = c * x - s * y;
          N[i][b] = s * x + c * y;
        }
        for (int i = 0; i < 4; ++i) {
          const double x = N[a][i], y = N[b][i];
          N[a][i] = c * x - s * y;
          N[b][i] = s * x + c * y;
          const double u = Q[i][a], v = Q[i][b];
          Q[i][a] = c * u - s * v;
          Q[i][b] = s * u + c * v;
        }
      }
  }
  int best = 0;
  for (int i = 1; i < 4; ++i)
    if (N[i][i] > N[best][best]) best = i;
  for (int i = 0; i < 4; ++i) q[i] = Q[i][best];
  normalise(q);
}

/// The rotation R that maximises tr(RᵀH).
SINEW_TEXT void closest(const double* H, double* R) {
  double scale = 0;
  for (int i = 0; i < 9; ++i) scale = larger(scale, std::abs(H[i]));
  if (!(scale > 0) || !(scale < HUGE_VAL)) {
    for (int i = 0; i < 9; ++i) R[i] = i % 4 == 0 ? 1 : 0;
    return;
  }
  double unit[9], N[4][4], q[4];
  for (int i = 0; i < 9; ++i) unit[i] = H[i] / scale;
  horn_matrix(unit, N);
  const double lambda = largest_eigenvalue(unit, N);
  eigenvector(N, lambda, q);
  // A double root makes the adjugate vanish: take the slow, safe way there.
  bool good = true;
  for (int r = 0; r < 4; ++r) {
    const double left = N[r][0] * q[0] + N[r][1] * q[1] + N[r][2] * q[2] + N[r][3] * q[3] - lambda * q[r];
    good = good && std::abs(left) <= kResidual * std::abs(lambda);
  }
  if (!good) eigenvector_by_jacobi(N, q);
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  R[0] = 1 - 2 * (y * y + z * z);
  R[1] = 2 * (x * y + w * z);
  R[2] = 2 * (x * z - w * y);
  R[3] = 2 * (x * y - w * z);
  R[4] = 1 - 2 * (x * x + z * z);
  R[5] = 2 * (y * z + w * x);
  R[6] = 2 * (x * z + w * y);
  R[7] = 2 * (y * z - w * x);
  R[8] = 1 - 2 * (x * x + y * y);
}

/// The same where H may leave it open: drawn a little to the previous rotation.
SINEW_TEXT void closest(const double* H, const double* previous, double* R) {
  double norm2 = 0;
  for (int i = 0; i < 9; ++i) norm2 += H[i] * H[i];
  const double norm = std::sqrt(norm2);
  if (!(norm > 0) || !(norm < HUGE_VAL)) {
    for (int i = 0; i < 9; ++i) R[i] = previous[i];
    return;
  }
  double drawn[9];
  for (int i = 0; i < 9; ++i) drawn[i] = H[i] + 1e-9 * norm * previous[i];
  closest(drawn, R);
}

}  // namespace sinew::rotation
