#pragma once

#include <cstddef>

#include "math/rotation_text.h"

/// The half-step of rigid bones [Le2014 §3.8.2] as threads of a device do it, in the terms of solve/lbs/bones.h.
namespace sinew::device {

/// The linear part of every motion becomes the closest rotation, turning about the bone's own centre. Item: bone,
/// frame.
struct MakeRigid {
  const double* common;   // 3F×4
  const double* centers;  // 3×B
  std::size_t frames;
  double* D;  // 3F×4B

  SINEW_TEXT void operator()(std::size_t item) const {
    const std::size_t f = item % frames;
    const std::size_t b = item / frames;
    const std::size_t rows = 3 * frames;
    double* const block = D + 4 * b * rows + 3 * f;
    const double* const shared = common + 3 * f;
    double linear[9], R[9];
    for (int c = 0; c < 3; ++c)
      for (int r = 0; r < 3; ++r) linear[3 * c + r] = block[c * rows + r] + shared[c * rows + r];
    rotation::closest(linear, R);
    for (int r = 0; r < 3; ++r) {
      double turned = 0;
      for (int c = 0; c < 3; ++c) turned += (linear[3 * c + r] - R[3 * c + r]) * centers[3 * b + c];
      block[3 * rows + r] += turned;
    }
    for (int c = 0; c < 3; ++c)
      for (int r = 0; r < 3; ++r) block[c * rows + r] = R[3 * c + r] - shared[c * rows + r];
  }
};

/// Rigid bones of one frame, one after another, each given the others, in two rounds or more. Lanes share a frame.
struct MoveBones {
  const double* S;       // 4B×4B
  const double* C;       // 3F×4B
  const double* common;  // 3F×4
  std::size_t frames;
  int bones;
  int sweeps;
  double nothing;      // a bone whose weights sum up to no more stays where it is
  const double* from;  // 3F×4B, as the next
  double* to;

  static std::size_t doubles(int bones) { return 12 * static_cast<std::size_t>(bones) + 3 * kEntries; }

  template <class Lanes, class State>
  SINEW_TEXT void operator()(const Lanes& lanes, std::size_t f, double* numbers, int*, State&) const {
    const std::size_t rows = 3 * frames;
    const int side = 4 * bones;
    double* const own = numbers;                  // the frame's motions: 3×4B
    double* const shares = numbers + 12 * bones;  // what the others take of a bone's target, in two sums
    double* const E = shares + 2 * kEntries;      // the target: 3×4
    lanes.each(12 * bones, [&](int i) { own[i] = from[(i / 3) * rows + 3 * f + i % 3]; });
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      for (int j = 0; j < bones; ++j) {
        const double mass = S[(4 * j + 3) * side + 4 * j + 3];
        if (mass <= nothing) continue;
        lanes.each(2 * kEntries, [&](int i) {
          const int r = i % 3, c = i % kEntries / 3;
          const double* const column = S + (4 * j + c) * side;
          double sum = 0;
          for (int k = i / kEntries; k < bones; k += 2) {
            if (k == j) continue;
            for (int m = 0; m < 4; ++m) sum += own[(4 * k + m) * 3 + r] * column[4 * k + m];
          }
          shares[i] = sum;
        });
        lanes.each(kEntries, [&](int i) {
          const int r = i % 3, c = i / 3;
          double sum = C[(4 * j + c) * rows + 3 * f + r];
          for (int m = 0; m < 4; ++m) sum += common[m * rows + 3 * f + r] * S[(4 * j + c) * side + 4 * j + m];
          E[i] = sum - (shares[i] + shares[kEntries + i]);
        });
        lanes.alone([&] { fit(j, f, mass, E, own + 12 * j); });
      }
    }
    lanes.each(12 * bones, [&](int i) { to[(i / 3) * rows + 3 * f + i % 3] = own[i]; });
  }

  /// Best rigid motion for the target E (eq. 3.18–3.30).
  SINEW_TEXT void fit(int j, std::size_t f, double mass, const double* E, double* motion) const {
    const std::size_t rows = 3 * frames;
    const double* const column = S + (4 * j + 3) * 4 * bones + 4 * j;
    double H[9], previous[9], R[9], center[3];
    for (int c = 0; c < 3; ++c) center[c] = column[c] / mass;
    for (int c = 0; c < 3; ++c)
      for (int r = 0; r < 3; ++r) {
        H[3 * c + r] = E[3 * c + r] - E[9 + r] * center[c];
        previous[3 * c + r] = motion[3 * c + r] + common[c * rows + 3 * f + r];
      }
    rotation::closest(H, previous, R);
    for (int r = 0; r < 3; ++r) {
      double turned = 0;
      for (int c = 0; c < 3; ++c) {
        turned += R[3 * c + r] * center[c];
        motion[3 * c + r] = R[3 * c + r] - common[c * rows + 3 * f + r];
      }
      motion[9 + r] = E[9 + r] / mass - turned - common[3 * rows + 3 * f + r];
    }
  }

 private:
  static constexpr int kEntries = 12;  // of a bone's motion in one frame
};

/// Every `items`-th term of Σ D ∘ (D S − 2 C) from the item's number on.
struct SumObjective {
  const double* D;
  const double* DS;
  const double* C;
  std::size_t entries;
  std::size_t items;
  double* sums;

  SINEW_TEXT void operator()(std::size_t item) const {
    double sum = 0;
    for (std::size_t i = item; i < entries; i += items) sum += D[i] * (DS[i] - 2 * C[i]);
    sums[item] = sum;
  }
};

}  // namespace sinew::device
