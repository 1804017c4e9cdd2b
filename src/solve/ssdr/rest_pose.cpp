#include "solve/ssdr/rest_pose.h"
#include "core/index.h"

#include "math/decompositions.h"
#include "math/parallel.h"
#include "solve/lbs/given_rig.h"
#include "solve/lbs/to_rig.h"
#include "solve/ssdr/options.h"

namespace sinew::ssdr {
namespace {

constexpr int kRounds = 3;
constexpr double kStay = 1e-4;  // cost of moving away from the given rest position, relative to one frame's

/// Best rest positions given weights and motion: Σ_f |x_f − t̄_f − Ā_f p|² + kStay · F · |p − p₀|², with the blended
/// [Ā | t̄] of each frame.
Points optimal_rest(const Sequence& sequence, const Rig& rig, int threads) {
  Points positions = rig.rest.positions;
  const auto K = static_cast<std::size_t>(rig.weights.influences);
  const auto best = [&](const Frames& frames, std::size_t first, std::size_t v) {
    const double stay = kStay * static_cast<double>(rig.frame_count());
    Eigen::Matrix3d N = stay * Eigen::Matrix3d::Identity();
    Eigen::Vector3d n = stay * sequence.rest.positions.col(index(v)).cast<double>();
    for (std::size_t f = 0; f < rig.frame_count(); ++f) {
      Eigen::Matrix<double, 3, 4> blend = Eigen::Matrix<double, 3, 4>::Zero();
      for (std::size_t k = v * K; k < (v + 1) * K; ++k) {
        if (rig.weights.values[k] > 0) {
          blend += rig.weights.values[k] * rig.motion(f, rig.weights.bones[k]).cast<double>();
        }
      }
      const Eigen::Matrix3d A = blend.leftCols<3>();
      N += A.transpose() * A;
      n += A.transpose() * (frames[f].col(index(v - first)).cast<double>() - blend.col(3));
    }
    return Eigen::Vector3f(solve_definite(N, n).cast<float>());
  };
  for_each_slab(sequence.frames, 64, [&](const Frames& slab, std::size_t first) {
    parallel_for(slab.vertex_count(), 64, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = first + begin; v < first + end; ++v) positions.col(index(v)) = best(slab, first, v);
    });
  });
  sequence.frames.ranks().share(positions.data(), 3, sequence.vertex_count());
  return positions;
}

}  // namespace

Rig with_optimized_rest(const Sequence& sequence, const Problem& problem, const RunOptions& run_options,
                        const SsdrOptions& options, const FitState& state) {
  const int influences = options.influences == 0 ? 0 : run_options.influences;
  Rig rig = to_rig(sequence, problem, state.D, state.weights, options.transforms, influences);
  Sequence moved = sequence;
  SparseWeights weights = state.weights;
  for (int round = 0; round < kRounds; ++round) {
    moved.rest.positions = optimal_rest(sequence, rig, options.threads);
    if (!moved.rest.positions.allFinite()) return rig;  // the rig is not finite either: Rig::check says so
    const Problem next(moved, {0, options.threads, options.seed});
    FitState fit;
    fit.D = motion_in(next, rig.motion);
    fit.weights = weights;
    run(next, run_options, fit);
    weights = fit.weights;
    rig = to_rig(moved, next, fit.D, fit.weights, options.transforms, influences);
  }
  return rig;
}

}  // namespace sinew::ssdr
