#include "sinew/solve/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sinew/core/error.h"

// The formulas of docs/limits.md. Constants of memory follow from what the solvers allocate, rounded up; those of time
// were fitted to runs on one core of a shared EPYC.
namespace sinew {
namespace {

constexpr double kProgram = 20e6;         // code, libraries, BLAS
constexpr double kPerThread = 12e6;       // stacks and packing buffers of each further thread
constexpr double kDenseWeights = 4e6;     // weights for which ssdr starts dense (src/solve/ssdr.cpp)
constexpr double kSearchVertices = 5000;  // that stand for all while ssdr searches
constexpr double kBasisVertices = 3000;   // whose trajectories a basis is learnt from (src/solve/lbs/problem.cpp)
constexpr double kBasisColumns = 192;     // that are tried for it
constexpr double kSketchFrames = 110;     // frames that a skeleton is looked for in
constexpr double kPartsVertices = 8.4e6;  // up to which sums are those of 32 parts, more beyond (src/core/ranks.cpp)
constexpr double kFreeBytes = 101e6;      // frames of which a copy is kept (src/solve/problem.cpp)

/// A size in floating point, for formulas.
struct Numbers {
  double V, T, F, B, K;
  double frames;  // bytes of the frames: 12·F·V
};

Numbers numbers_of(const SolveSize& size) {
  Numbers n{};
  n.V = static_cast<double>(size.vertices);
  n.T = static_cast<double>(size.triangles);
  n.F = static_cast<double>(size.frames);
  n.B = std::min(static_cast<double>(size.bones), std::max(1.0, n.V));
  n.K = size.influences == 0 ? n.B : std::min<double>(size.influences, n.B);
  n.frames = 12 * n.F * n.V;
  return n;
}

/// S and C of all parts of the vertices, and the bones.
double sums_bytes(const Numbers& n, double frames, double bones) {
  return std::max(1.0, n.V / kPartsVertices) * (700 * bones * bones + 800 * frames * bones);
}

/// Reading holds a file and the frames at once; the result is held, written and read back.
double common_bytes(const Numbers& n) {
  const double mesh = 250 * n.V + 60 * n.T;
  const double result = 160 * n.F * n.B + 40 * n.K * n.V;
  return kProgram + mesh + result;
}

/// Frames, and their trajectories in a basis: while it is looked for also a copy of them, where they are few.
double problem_bytes(const Numbers& n, Quality quality) {
  const double kept = n.frames <= kFreeBytes ? 1.6 * n.frames : kFreeBytes + n.frames / 3;
  const double searched = quality == Quality::best ? 1.6 * 12 * n.F * std::min(n.V, kSearchVertices) : 0;
  return std::max(2 * n.frames, n.frames + kept + searched);
}

SolveEstimate ssdr(const Numbers& n, Quality quality) {
  const double slots = quality != Quality::fast && n.V * n.B <= kDenseWeights ? n.B : std::max(n.K, 8.0);
  SolveEstimate out;
  out.bytes = common_bytes(n) + problem_bytes(n, quality) + 14 * slots * n.V + sums_bytes(n, n.F, n.B);
  const double rows = std::min(3 * n.F, 300.0);
  const double balanced = n.V * (1e-4 + 1e-5 * n.B * (0.4 + rows / 250));
  out.seconds = quality == Quality::fast ? 0.25 * balanced : balanced;
  if (quality == Quality::best) out.seconds += 2.5e-3 * n.B * std::min(n.V, kSearchVertices);
  return out;
}

/// Coordinates of the vertices in the directions that are kept of the frames, more of them for more bones, with maps
/// and residuals; and products of the frames.
double flat_bytes(const Numbers& n) {
  return std::min(11 * n.frames, 72 * n.V * (100 + 5 * n.B)) + 400 * n.F * n.F;
}

SolveEstimate flats(const Numbers& n, Quality quality) {
  SolveEstimate out;
  out.bytes = common_bytes(n) + 20e6 + n.frames + flat_bytes(n) + 8 * n.V * (10 * n.B + n.B * n.B);
  const double balanced = 1.2e-6 * n.V * n.B * n.B * (1 + n.F / 250) + 1e-7 * n.F * n.V;
  out.seconds = quality == Quality::fast       ? 0.3 * balanced
                : quality == Quality::balanced ? balanced
                                               : balanced + std::min(20 * balanced, 600.0);
  return out;
}

/// The search works on a sample of the vertices and frames: a round costs the weights of some and the rotations of
/// others. A symmetric skeleton is looked for in twice the frames, beside which the frames themselves stay.
SolveEstimate skeleton(const Numbers& n, const SolveSize& size) {
  SolveEstimate out;
  const double patches = 2 * n.B;
  const double times = size.symmetric ? 2 : 1;
  const double frames = times * n.F;
  out.bytes = common_bytes(n) + 3.5 * times * n.frames + (times - 1) * n.frames + sums_bytes(n, frames, patches);
  const double some = frames / std::ceil(frames / 60);
  const auto round = [&](double vertices, double bones, double of_pairs) {
    return 1e-7 * std::min(n.V, vertices) * bones + of_pairs * some * bones * bones;
  };
  if (size.open_number) {
    const double left = std::min(n.B, 45.0);  // bones, most of the time
    const double rounds = size.quality == Quality::fast ? 200 : 500;
    out.bytes += 25e6;  // free bones on the way from many to few, of which the number is read off
    out.seconds = 3e-6 * n.V * n.B + rounds * round(1500, left, 2.9e-7);
  } else {
    const double moves = size.quality == Quality::fast ? 0 : size.quality == Quality::balanced ? 50 : 200;
    out.seconds = 1.5e-7 * n.V * frames * n.B + (100 + 25 * moves) * round(1000, n.B, 1.2e-7);
  }
  return out;
}

SolveEstimate sma(const Numbers& n) {
  SolveEstimate out;
  out.bytes = common_bytes(n) + 40e6 + 3 * n.frames + 110 * n.T * n.F + 300 * n.B * n.B;
  out.seconds = 2e-6 * std::pow(n.T, 1.25) * std::pow(n.F, 0.65) + 1e-8 * n.V * n.F * n.B;
  return out;
}

SolveEstimate clusters(const Numbers& n) {
  SolveEstimate out;
  out.bytes = common_bytes(n) + 2.2 * n.frames + 300 * n.F * n.B;
  out.seconds = 6e-8 * n.V * n.F * n.B;
  return out;
}

/// The part of an estimate that stands for the frames and what is made of all of them.
double of_frames(std::string_view method, const Numbers& n, const SolveSize& size) {
  if (method == "ssdr") return problem_bytes(n, size.quality);
  if (method == "kavan") return problem_bytes(n, size.quality) + 2 * n.frames;
  if (method == "skeleton") return (size.symmetric ? 8 : 3.5) * n.frames;
  if (method == "flats") return n.frames;
  return 2.2 * n.frames;
}

}  // namespace

SolveEstimate estimate_solve(std::string_view method, const SolveSize& size) {
  const Numbers n = numbers_of(size);
  SolveEstimate out;
  if (method == "ssdr")
    out = ssdr(n, size.quality);
  else if (method == "kavan")
    out = ssdr(n, size.quality), out.bytes += 2 * n.frames, out.seconds *= 2;
  else if (method == "flats")
    out = flats(n, size.quality);
  else if (method == "skeleton")
    out = skeleton(n, size);
  else if (method == "sma")
    out = sma(n);
  else if (method == "clusters")
    out = clusters(n);
  else
    throw Error(ErrorKind::usage, fmt::format("there is no method '{}'", method));
  out.bytes += kPerThread * (size.threads - 1);
  // Reading, writing and evaluating beside the solve; half of the work runs in parallel.
  out.cpu_seconds = 0.2 + 2e-8 * n.F * n.V + out.seconds;
  out.seconds = 0.2 + 2e-8 * n.F * n.V + out.seconds * (0.5 + 0.5 / size.threads);
  return out;
}

bool solves_paged(std::string_view method) {
  return method != "sma";
}

SolveEstimate estimate_paged(std::string_view method, const SolveSize& size, double memory) {
  SolveEstimate out = estimate_solve(method, size);
  if (!solves_paged(method)) return out;
  const Numbers n = numbers_of(size);
  const double learnt = method == "flats" ? 0 : 12 * n.F * std::min(n.V, kBasisVertices) + 3 * n.F * kBasisColumns * 40;
  const double searched = method == "ssdr" && size.quality == Quality::best ? 20 * n.F * std::min(n.V, kSearchVertices)
                          : method == "skeleton"                            ? 42 * std::min(n.F, kSketchFrames) * n.V
                                                                            : 0;
  const double solved = out.bytes - of_frames(method, n, size) + learnt + searched;
  const double evaluated = kProgram + (500 + 100 * size.threads) * n.V;
  out.bytes = std::max(solved, evaluated) + memory;
  // Reading, T₀ and the trajectories, what they are in the basis or not, evaluation. Flats: two measure, two reduce,
  // one fits the model, whose error is measured for each of a few simplices.
  out.passes = method == "kavan" ? 14 : method == "flats" ? 8 : 4;
  out.scratch = (method == "kavan" ? 2 : size.symmetric ? 4 : 1) * n.frames;
  return out;
}

}  // namespace sinew
