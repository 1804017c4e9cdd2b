#include "solve/lbs/on_device.h"

#include <fmt/format.h>

#include <utility>

#include "sinew/core/error.h"

namespace sinew::lbs {
namespace {

device::WeightsIn view(const SparseWeights& weights) {
  return {weights.capacity, weights.count.data(), weights.bone.data(), weights.value.data()};
}

device::WeightsOut view(SparseWeights& weights) {
  return {weights.capacity, weights.count.data(), weights.bone.data(), weights.value.data()};
}

device::Motions motions(const BoneGram& gram) {
  return {gram.bones, gram.motion.data()};
}

device::PassPlan plan(const PassOptions& options) {
  device::PassPlan plan;
  plan.influences = options.influences;
  plan.swaps = options.swaps;
  plan.swap_period = options.swap_period;
  plan.phase = options.phase;
  plan.thorough_period = options.thorough_period;
  plan.thorough_swaps = kThoroughSwaps;
  plan.patient = options.waits != nullptr;
  plan.keep_weights = options.keep_weights;
  return plan;
}

/// Sums that a pass writes to.
device::Sums open(const BoneGram& gram, WeightSums& sums) {
  sums.S.resize(gram.motion.cols(), gram.motion.cols());
  sums.C.resize(gram.motion.rows(), gram.motion.cols());
  return {sums.S.data(), sums.C.data(), 0, 0};
}

void close(const device::Sums& from, WeightSums& sums) {
  sums.squares = from.squares;
  sums.exchanges = from.exchanges;
}

void set_locked(const Problem& problem, std::span<const std::uint8_t> locked) {
  problem.device()->set_locked(locked.empty() ? nullptr : locked.data());
}

}  // namespace

device::Vertices vertices_of(const Problem& problem) {
  device::Vertices vertices;
  vertices.count = problem.vertex_count();
  vertices.rows = problem.row_count();
  vertices.motion_rows = 3 * problem.frame_count();
  vertices.rest = problem.rest().data();
  vertices.energy = problem.energy().data();
  vertices.basis = problem.reduced() ? problem.basis().data() : nullptr;
  vertices.common = problem.common().data();
  vertices.trajectories = [&problem, scratch = std::vector<float>()](std::size_t first, std::size_t count) mutable {
    return problem.block(first, count, scratch);
  };
  return vertices;
}

std::string put_on_device(const Device& wanted, Problem& problem) {
  if (wanted.kind == Device::Kind::cpu) return {};
  if (!problem.ranks().alone()) {
    if (wanted.kind == Device::Kind::automatic) return {};
    throw Error(ErrorKind::usage, "device cuda: several processes solve on their processors");
  }
  const int devices = device::cuda_devices();
  if (wanted.kind == Device::Kind::automatic && devices == 0) return {};
  if (wanted.number >= devices) {
    throw Error(ErrorKind::usage,
                devices == 0 ? "device cuda: this machine has no GPU that this build of sinew can use"
                             : fmt::format("device cuda:{}: this machine has {}, of which the first is cuda:0",
                                           wanted.number, devices == 1 ? "one GPU" : fmt::format("{} GPUs", devices)));
  }
  try {
    problem.use(device::cuda_passes(wanted.number, vertices_of(problem)));
  } catch (const device::Failure& failure) {
    return fmt::format("{}: solved on the processor", failure.what());
  }
  return {};
}

void weights_pass_on_device(const Problem& problem, const BoneGram& gram, const PassOptions& options,
                            SparseWeights& weights, WeightSums& sums) {
  device::Passes& device = *problem.device();
  device.set_weights(view(std::as_const(weights)));
  set_locked(problem, options.locked);
  if (options.waits != nullptr) device.set_waits(options.waits->passes.data(), options.waits->left.data());
  device::Sums out = open(gram, sums);
  device.solve(motions(gram), plan(options), out);
  close(out, sums);
  device.accept();
  sums.residual.resize(problem.vertex_count());
  device.get_residual(sums.residual.data());
  device.get_weights(view(weights));
  if (options.waits != nullptr) device.get_waits(options.waits->passes.data(), options.waits->left.data());
}

void assign_pass_on_device(const Problem& problem, const BoneGram& gram, std::vector<Index>& labels, WeightSums& sums) {
  labels.resize(problem.vertex_count());
  sums.residual.resize(problem.vertex_count());
  device::Sums out = open(gram, sums);
  problem.device()->assign(motions(gram), labels.data(), sums.residual.data(), out);
  close(out, sums);
}

std::vector<double> removal_costs_on_device(const Problem& problem, const BoneGram& gram,
                                            const SparseWeights& weights) {
  device::Passes& device = *problem.device();
  device.set_weights(view(weights));
  std::vector<double> costs(weights.value.size());
  std::vector<std::uint16_t> bones(weights.value.size());
  device.removal_costs(motions(gram), costs.data(), bones.data());
  std::vector<double> sums(static_cast<std::size_t>(gram.bones), 0);
  for (std::size_t i = 0; i < costs.size(); ++i) sums[bones[i]] += costs[i];
  return sums;
}

ResidentWeights::ResidentWeights(const Problem& problem, const RunOptions& options, const FitState& state)
    : device_(options.smoothing.strength > 0 ? nullptr : problem.device()),
      vertices_(problem.vertex_count()),
      capacity_(state.weights.capacity),
      moves_bones_(device_ != nullptr && options.update_bones && options.bones.locked.empty() &&
                   options.bones.transforms == Transforms::rigid),
      patient_(options.patient) {
  if (device_ == nullptr) return;
  device_->set_weights(view(state.weights));
  set_locked(problem, options.locked_vertices);
  if (patient_) device_->set_waits(state.waits.passes.data(), state.waits.left.data());
}

void ResidentWeights::pass(const BoneGram& gram, const PassOptions& options, WeightSums& sums) {
  device::Sums out = open(gram, sums);
  device_->solve(motions(gram), plan(options), out);
  close(out, sums);
}

void ResidentWeights::iterate(const Problem& problem, const Eigen::MatrixXd& start, const Eigen::MatrixXd& centers,
                              const PassOptions& options, const BoneOptions& bones, FitState& state) {
  const auto B = static_cast<std::size_t>(start.cols() / 4);
  device::MovePlan move;
  move.sweeps = bones.sweeps;
  move.nothing = least_mass(problem, B);
  move.centers = centers.size() != 0 ? centers.data() : nullptr;
  state.D.resize(start.rows(), start.cols());
  state.sums.S.resize(start.cols(), start.cols());
  device::Moved moved;
  moved.D = state.D.data();
  moved.S = state.sums.S.data();
  device_->iterate({static_cast<int>(B), start.data()}, plan(options), move, moved);
  state.sums.squares = moved.squares;
  state.sums.exchanges = moved.exchanges;
  state.squares = problem.total_energy() + moved.change;
}

void ResidentWeights::accept() {
  if (device_ == nullptr) return;
  device_->accept();
  accepted_ = true;
}

void ResidentWeights::fetch(FitState& state) const {
  if (device_ == nullptr || !accepted_) return;
  state.weights = SparseWeights(vertices_, capacity_);
  device_->get_weights(view(state.weights));
  state.sums.residual.resize(vertices_);
  device_->get_residual(state.sums.residual.data());
  state.sums.C.resize(state.D.rows(), state.D.cols());
  device_->get_cross_sums(state.sums.C.data());
  if (!patient_) return;
  state.waits.passes.resize(vertices_);
  state.waits.left.resize(vertices_);
  device_->get_waits(state.waits.passes.data(), state.waits.left.data());
}

}  // namespace sinew::lbs
