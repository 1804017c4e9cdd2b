#include "solve/lbs/vertex_weight_solver.h"

namespace sinew::lbs {
namespace {

/// A support may hold one bone too many while it is being exchanged, and all bones before it is pruned.
std::size_t slots_of(const BoneGram& gram) {
  return static_cast<std::size_t>(gram.bones) + 1;
}

}  // namespace

VertexWeightSolver::VertexWeightSolver(const BoneGram& gram, int influences)
    : numbers_(device::VertexProblem<device::OneLane>::doubles(static_cast<std::size_t>(gram.padded), slots_of(gram))),
      integers_(device::VertexProblem<device::OneLane>::integers(slots_of(gram))),
      problem_({}, {gram.bones, gram.padded, gram.coefficients.data(), gram.diagonal.data()}, influences,
               static_cast<int>(slots_of(gram)), numbers_.data(), integers_.data(), state_) {}

template <class Scalar>
void VertexWeightSolver::load(const Eigen::Vector3d& u, const Scalar* products, double ridge, const double* pull) {
  problem_.load(u[0], u[1], u[2], products, ridge, pull);
}

template void VertexWeightSolver::load(const Eigen::Vector3d&, const float*, double, const double*);
template void VertexWeightSolver::load(const Eigen::Vector3d&, const double*, double, const double*);

void VertexWeightSolver::set_support(const std::uint16_t* bones, const float* values, int count) {
  problem_.set_support(bones, values, count);
}

double VertexWeightSolver::improve(int swaps) {
  return problem_.improve(swaps);
}

double VertexWeightSolver::improve_thoroughly(int swaps) {
  return problem_.improve_thoroughly(swaps);
}

double VertexWeightSolver::objective_without(int slot) {
  return problem_.objective_without(slot);
}

double VertexWeightSolver::data_objective() {
  return problem_.data_objective();
}

double VertexWeightSolver::gain_towards(int bone) {
  return problem_.gain_towards(bone);
}

}  // namespace sinew::lbs
