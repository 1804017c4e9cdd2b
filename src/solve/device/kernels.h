#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "solve/device/passes.h"
#include "solve/device/vertex_problem.h"

/// What the threads of a device do. An item is the work of one thread, a body that of the lanes of a vertex.
namespace sinew::device {

/// Trajectories on their way to the device.
struct Widen {
  const float* from;
  double* to;
  SINEW_TEXT void operator()(std::size_t i) const { to[i] = static_cast<double>(from[i]); }
};

/// Coefficients of uᵀ M_kj u from M = DᵀD: item k·padded + j.
struct FormCoefficients {
  const double* M;  // 4B×4B
  int bones;
  int padded;
  double* coefficients;  // B×10×padded
  double* diagonal;      // 10×padded

  SINEW_TEXT void operator()(std::size_t item) const {
    const int k = static_cast<int>(item) / padded;
    const int j = static_cast<int>(item) % padded;
    const int ld = 4 * bones;
    double c[kMonomials] = {};
    if (j < bones) {
      const double* m = M + static_cast<std::ptrdiff_t>(4 * j) * ld + 4 * k;  // m[col·ld + row]
      c[0] = m[0];
      c[1] = m[ld + 1];
      c[2] = m[2 * ld + 2];
      c[3] = m[ld] + m[1];
      c[4] = m[2 * ld] + m[2];
      c[5] = m[2 * ld + 1] + m[ld + 2];
      c[6] = m[3 * ld] + m[3];
      c[7] = m[3 * ld + 1] + m[ld + 3];
      c[8] = m[3 * ld + 2] + m[2 * ld + 3];
      c[9] = m[3 * ld + 3];
    }
    for (int i = 0; i < kMonomials; ++i) {
      coefficients[(static_cast<std::ptrdiff_t>(k) * kMonomials + i) * padded + j] = c[i];
      if (j == k) diagonal[i * padded + j] = c[i];
      if (k == 0 && j >= bones) diagonal[i * padded + j] = 0;
    }
  }
};

/// D with its columns sorted by component: column c·padded + b from 4b + c. Item: an entry of the result.
struct SortComponents {
  const double* D;  // rows × 4B
  int bones;
  int padded;
  int rows;
  double* to;  // rows × 4·padded

  SINEW_TEXT void operator()(std::size_t item) const {
    const int row = static_cast<int>(item % static_cast<std::size_t>(rows));
    const int column = static_cast<int>(item / static_cast<std::size_t>(rows));
    const int b = column % padded;
    const int c = column / padded;
    to[item] = b < bones ? D[static_cast<std::ptrdiff_t>(4 * b + c) * rows + row] : 0;
  }
};

/// Sums of a few parts, in their order. Item: an entry.
struct JoinParts {
  const double* parts;
  std::size_t entries;
  int count;
  double* to;

  SINEW_TEXT void operator()(std::size_t item) const {
    double sum = 0;
    for (int p = 0; p < count; ++p) sum += parts[static_cast<std::size_t>(p) * entries + item];
    to[item] = sum;
  }
};

/// Every `items`-th vertex from the item's number on: sums that do not depend on who adds.
struct SumVertices {
  const double* squares;
  const std::uint8_t* tries;
  std::size_t vertices;
  std::size_t items;
  double* sums;  // items of the squares, then of the tries

  SINEW_TEXT void operator()(std::size_t item) const {
    double sum = 0, tried = 0;
    for (std::size_t v = item; v < vertices; v += items) {
      sum += squares[v];
      tried += tries[v];
    }
    sums[item] = sum;
    sums[items + item] = tried;
  }
};

/// Arrays of a state on the device.
struct StateArrays {
  int capacity;
  std::uint16_t* count;
  std::uint16_t* bone;
  float* value;
  std::uint8_t* wait_passes;
  std::uint8_t* wait_left;
  float* residual;
};

/// What bodies know about the vertices [first, first + …) of a chunk.
struct Chunk {
  std::size_t first;
  const double* rest;  // of all vertices, as the next
  const double* energy;
  const double* products;  // of the chunk: 4·padded each
};

/// Writes x_v = w_v ⊗ (u_v, 1).
template <class Lanes, class WeightOf>
SINEW_TEXT void write_blend(const Lanes& lanes, int bones, const double* u, double* x, const WeightOf& weight_of) {
  lanes.each(bones, [&](int b) {
    const double w = weight_of(b);
    x[4 * b] = w * u[0];
    x[4 * b + 1] = w * u[1];
    x[4 * b + 2] = w * u[2];
    x[4 * b + 3] = w;
  });
}

/// Most bones that a vertex waits for, in passes (lbs::ExchangeWaits).
constexpr int kLongestWait = 8;

struct SolveVertex {
  Bones bones;
  Chunk chunk;
  PassPlan plan;
  int slots;
  StateArrays from, to;
  const std::uint8_t* locked;  // V or null
  double* squares;             // V
  std::uint8_t* tries;         // V
  double* blends;              // 4B × V

  template <class Lanes>
  SINEW_TEXT void operator()(const Lanes& lanes, std::size_t i, double* numbers, int* integers,
                             VertexState& state) const {
    const std::size_t v = chunk.first + i;
    const double* u = chunk.rest + 3 * v;
    VertexProblem<Lanes> problem(lanes, bones, plan.influences, slots, numbers, integers, state);
    problem.load(u[0], u[1], u[2], chunk.products + i * 4 * static_cast<std::size_t>(bones.padded), 0, nullptr);
    const std::size_t slot = v * static_cast<std::size_t>(from.capacity);
    problem.set_support(from.bone + slot, from.value + slot, from.count[v]);

    const bool held = plan.keep_weights || (locked != nullptr && locked[v] != 0);
    int left = plan.patient ? from.wait_left[v] : 0;
    int waits = plan.patient ? from.wait_passes[v] : 0;
    int tried = 0;
    if (!held && in_turn(v, plan.thorough_period)) {
      problem.improve_thoroughly(plan.thorough_swaps);
      tried = plan.thorough_swaps;
    } else if (!held) {
      const bool turn = in_turn(v, plan.swap_period);
      if (turn && left > 0) --left;
      const bool tries_now = turn && left == 0;
      problem.improve(tries_now ? plan.swaps : 0);
      tried = tries_now ? 1 : 0;
      if (tries_now) {
        waits = problem.exchanged() ? 0 : smaller(kLongestWait, 2 * waits + (waits == 0 ? 2 : 0));
        left = waits;
      }
    }
    const double all = chunk.energy[v] + problem.data_objective();
    lanes.alone([&] {
      const int count = problem.count();
      for (int k = 0; k < count; ++k) {
        to.bone[slot + k] = static_cast<std::uint16_t>(problem.bone(k));
        to.value[slot + k] = static_cast<float>(problem.weight(k));
      }
      to.count[v] = static_cast<std::uint16_t>(count);
      to.residual[v] = static_cast<float>(larger(0.0, all));
      if (plan.patient) {
        to.wait_left[v] = static_cast<std::uint8_t>(left);
        to.wait_passes[v] = static_cast<std::uint8_t>(waits);
      }
      squares[v] = all;
      tries[v] = static_cast<std::uint8_t>(tried);
    });
    // Rounded to the floats that are kept, so that sums and weights agree.
    write_blend(lanes, bones.count, u, blends + v * 4 * static_cast<std::size_t>(bones.count), [&](int b) {
      double w = 0;
      for (int k = 0; k < problem.count(); ++k)
        if (problem.bone(k) == b) w = static_cast<double>(static_cast<float>(problem.weight(k)));
      return w;
    });
  }

  SINEW_TEXT bool in_turn(std::size_t v, int period) const {
    return period > 0 && (v + static_cast<std::size_t>(plan.phase)) % static_cast<std::size_t>(period) == 0;
  }
};

/// Each vertex to the bone that follows it best.
struct AssignVertex {
  Bones bones;
  Chunk chunk;
  std::uint32_t* labels;
  float* residual;
  double* squares;
  std::uint8_t* tries;
  double* blends;

  template <class Lanes>
  SINEW_TEXT void operator()(const Lanes& lanes, std::size_t i, double*, int*, VertexState&) const {
    const std::size_t v = chunk.first + i;
    const double* u = chunk.rest + 3 * v;
    const double x = u[0], y = u[1], z = u[2];
    const double m[kMonomials] = {x * x, y * y, z * z, x * y, x * z, y * z, x, y, z, 1};
    const int n = bones.padded;
    const double* q = chunk.products + i * 4 * static_cast<std::size_t>(n);
    const Lowest best = lanes.lowest(
        bones.count, HUGE_VAL,
        [&](int j) {
          double cost = -2 * (x * q[j] + y * q[n + j] + z * q[2 * n + j] + q[3 * n + j]);
          for (int k = 0; k < kMonomials; ++k) cost += m[k] * bones.diagonal[k * n + j];
          return cost;
        },
        [](int) { return true; });
    const int bone = best.index < 0 ? 0 : best.index;
    lanes.alone([&] {
      const double all = chunk.energy[v] + best.value;
      labels[v] = static_cast<std::uint32_t>(bone);
      residual[v] = static_cast<float>(larger(0.0, all));
      squares[v] = all;
      tries[v] = 0;
    });
    write_blend(lanes, bones.count, u, blends + v * 4 * static_cast<std::size_t>(bones.count),
                [=](int b) { return b == bone ? 1.0 : 0.0; });
  }
};

/// What taking away each influence of a vertex would cost it.
struct CostVertex {
  Bones bones;
  Chunk chunk;
  int slots;
  StateArrays from;
  double* costs;              // V × capacity
  std::uint16_t* cost_bones;  // the same: of which bone

  template <class Lanes>
  SINEW_TEXT void operator()(const Lanes& lanes, std::size_t i, double* numbers, int* integers,
                             VertexState& state) const {
    const std::size_t v = chunk.first + i;
    const double* u = chunk.rest + 3 * v;
    VertexProblem<Lanes> problem(lanes, bones, from.capacity, slots, numbers, integers, state);
    problem.load(u[0], u[1], u[2], chunk.products + i * 4 * static_cast<std::size_t>(bones.padded), 0, nullptr);
    const std::size_t slot = v * static_cast<std::size_t>(from.capacity);
    problem.set_support(from.bone + slot, from.value + slot, from.count[v]);
    const double now = problem.improve(0);
    const int count = problem.count();
    for (int k = 0; k < from.capacity; ++k) {
      const double cost = k < count ? larger(0.0, problem.objective_without(k) - now) : 0;
      lanes.alone([&] {
        costs[slot + k] = cost;
        cost_bones[slot + k] = static_cast<std::uint16_t>(k < count ? problem.bone(k) : 0);
      });
    }
  }
};

}  // namespace sinew::device
