#include "solve/lbs/saved_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/index.h"
#include "sinew/core/error.h"

namespace sinew::lbs {
namespace {

constexpr Eigen::Index kMostBones = 65535;  // SparseWeights numbers them in 16 bits

}  // namespace

void save_fit(const FitState& state, const std::string& prefix, SavedArrays& arrays) {
  const SparseWeights& from = state.weights;
  const Eigen::Index V = index(from.vertex_count());
  Eigen::MatrixXd bone = Eigen::MatrixXd::Constant(from.capacity, V, -1);
  Eigen::MatrixXd value = Eigen::MatrixXd::Zero(from.capacity, V);
  for (std::size_t v = 0; v < from.vertex_count(); ++v)
    for (std::size_t k = 0; k < from.count[v]; ++k) {
      bone(index(k), index(v)) = from.bone[from.slot(v) + k];
      value(index(k), index(v)) = static_cast<double>(from.value[from.slot(v) + k]);
    }
  arrays[prefix + "motion"] = state.D;
  arrays[prefix + "weight bones"] = std::move(bone);
  arrays[prefix + "weights"] = std::move(value);
  arrays[prefix + "residual"] =
      Eigen::Map<const Eigen::RowVectorXf>(state.sums.residual.data(), index(state.sums.residual.size()))
          .cast<double>();
  // A state that no run has evaluated has no value yet; files hold finite numbers only.
  arrays[prefix + "objective"] =
      numbers({std::isfinite(state.squares) ? state.squares : -1, std::isfinite(state.value) ? state.value : -1});
}

FitState saved_fit(const SavedArrays& arrays, const std::string& prefix, std::size_t frames, std::size_t vertices) {
  FitState state;
  state.D = saved_array(arrays, prefix + "motion", index(3 * frames), -1);
  const Eigen::Index bones = state.D.cols() / 4;
  const Eigen::MatrixXd& bone = saved_array(arrays, prefix + "weight bones", -1, index(vertices));
  const Eigen::MatrixXd& value = saved_array(arrays, prefix + "weights", bone.rows(), index(vertices));
  const Eigen::MatrixXd& objective = saved_array(arrays, prefix + "objective", 2, 1);
  const Eigen::MatrixXd& residual = saved_array(arrays, prefix + "residual", 1, index(vertices));
  const auto need = [](bool holds, const char* sentence) {
    if (!holds) throw Error(ErrorKind::input, fmt::format("checkpoint: {}", sentence));
  };
  need(state.D.cols() % 4 == 0 && bones >= 1 && bones <= kMostBones, "its motion is not one of whole bones");
  need(bone.rows() >= 1 && bone.rows() <= kMostBones, "it has no weights");
  need(value.minCoeff() >= 0 && value.maxCoeff() <= 1.001, "it has weights outside 0..1");
  state.weights = SparseWeights(vertices, static_cast<int>(bone.rows()));
  for (std::size_t v = 0; v < vertices; ++v) {
    std::uint16_t count = 0;
    for (Eigen::Index k = 0; k < bone.rows(); ++k) {
      const double b = bone(k, index(v));
      if (b < 0) continue;
      need(b < static_cast<double>(bones) && b == static_cast<double>(static_cast<std::uint16_t>(b)),
           "it has weights for bones that are not there");
      const auto* const first = state.weights.bone.data() + state.weights.slot(v);
      need(std::find(first, first + count, static_cast<std::uint16_t>(b)) == first + count,
           "a vertex has a bone more than once");
      state.weights.bone[state.weights.slot(v) + count] = static_cast<std::uint16_t>(b);
      state.weights.value[state.weights.slot(v) + count++] = static_cast<float>(value(k, index(v)));
    }
    state.weights.count[v] = count;
  }
  state.sums.residual.resize(vertices);
  for (std::size_t v = 0; v < vertices; ++v) state.sums.residual[v] = static_cast<float>(residual(0, index(v)));
  if (objective(0) >= 0) state.squares = objective(0);
  if (objective(1) >= 0) state.value = objective(1);
  return state;
}

}  // namespace sinew::lbs
