#pragma once

#include <memory>
#include <string>

#include "sinew/core/device.h"
#include "solve/device/passes.h"
#include "solve/lbs/alternation.h"

/// What a Problem's device does for the passes over its vertices, in the terms of lbs.
namespace sinew::lbs {

/// What the trajectories of a problem are to a device. Refers to the problem.
device::Vertices vertices_of(const Problem& problem);

/// Brings the trajectories to the device that is asked for, and returns a sentence where that was not possible and the
/// processor is used after all; empty otherwise. Throws Error{usage} where there is no such device.
std::string put_on_device(const Device& wanted, Problem& problem);

/// weights_pass, assign_pass and removal_costs by the problem's device.
void weights_pass_on_device(const Problem& problem, const BoneGram& gram, const PassOptions& options,
                            SparseWeights& weights, WeightSums& sums);
void assign_pass_on_device(const Problem& problem, const BoneGram& gram, std::vector<Index>& labels, WeightSums& sums);
std::vector<double> removal_costs_on_device(const Problem& problem, const BoneGram& gram, const SparseWeights& weights);

/// Weights that stay on the device while a run of iterations works on them.
class ResidentWeights {
 public:
  /// Takes the weights of a state there, where the problem has a device that can do what is asked.
  ResidentWeights(const Problem& problem, const RunOptions& options, const FitState& state);

  bool on_device() const { return device_ != nullptr; }
  /// Whether the bones are moved there too: those that are rigid and free.
  bool moves_bones() const { return moves_bones_; }
  /// A pass and the move of the bones after it. Where there are centres, the motions `start` are made rigid about them
  /// first. Leaves D, squares, and of the sums S alone.
  void iterate(const Problem& problem, const Eigen::MatrixXd& start, const Eigen::MatrixXd& centers,
               const PassOptions& options, const BoneOptions& bones, FitState& state);
  /// A pass from the weights on the device; sums without residuals.
  void pass(const BoneGram& gram, const PassOptions& options, WeightSums& sums);
  /// What came out of the last pass is what the next begins with.
  void accept();
  /// Weights, waits, residuals and C as they are now.
  void fetch(FitState& state) const;

 private:
  device::Passes* device_;
  std::size_t vertices_;
  int capacity_;
  bool moves_bones_;
  bool patient_;
  bool accepted_ = false;
};

}  // namespace sinew::lbs
