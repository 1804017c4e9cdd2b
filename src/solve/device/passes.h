#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

/// The passes of solve/lbs over the vertices on a device of its own memory. Trajectories go there once; weights stay
/// there between passes. Everything is in double: sums of squares are differences of large numbers.
namespace sinew::device {

/// The device could not do what was asked. The processor can.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What goes to the device.
struct Vertices {
  std::size_t count = 0;         // V
  std::size_t rows = 0;          // of a trajectory
  std::size_t motion_rows = 0;   // of D: as many, or 3F where trajectories are coordinates in a basis
  const double* rest = nullptr;  // 3×V
  const double* energy = nullptr;
  const float* basis = nullptr;    // motion_rows × rows, or null
  const double* common = nullptr;  // motion_rows × 4: the motion of the mesh as a whole
  /// Trajectories of vertices [first, first + count): rows × count.
  std::function<const float*(std::size_t first, std::size_t count)> trajectories;
};

/// Weights as lbs::SparseWeights holds them.
template <class Count, class Value>
struct WeightArrays {
  int capacity = 0;
  Count* count = nullptr;  // V
  Count* bone = nullptr;   // V×capacity
  Value* value = nullptr;  // V×capacity
};
using WeightsIn = WeightArrays<const std::uint16_t, const float>;
using WeightsOut = WeightArrays<std::uint16_t, float>;

/// How a pass treats the vertices (lbs::PassOptions).
struct PassPlan {
  int influences = 4;
  int swaps = 1;
  int swap_period = 1;
  int phase = 0;
  int thorough_period = 0;
  int thorough_swaps = 0;  // exchanges in a row of a thorough search
  bool patient = false;    // vertices wait after exchanges that did not pay
  bool keep_weights = false;
};

/// What a pass leaves for the bones: C is motion_rows × 4B, S 4B × 4B.
struct Sums {
  double* S = nullptr;
  double* C = nullptr;
  double squares = 0;
  std::uint64_t exchanges = 0;
};

/// Motions D, motion_rows × 4B.
struct Motions {
  int bones = 0;
  const double* D = nullptr;
};

/// How rigid bones move after a pass (lbs::BoneOptions).
struct MovePlan {
  int sweeps = 2;
  double nothing = 0;  // a bone whose weights sum up to no more stays
  /// 3×B or null: the motions that the pass begins with are not rigid yet, and are made so about these points.
  const double* centers = nullptr;
};

/// What an iteration leaves: the pass's D is `start`, the bones' next one D.
struct Moved {
  double* D = nullptr;  // motion_rows × 4B
  double* S = nullptr;  // 4B × 4B
  double squares = 0;   // of the pass, with the motions that it began with
  double change = 0;    // Σ D ∘ (D S − 2 C): what is to be added to the energy of the trajectories
  std::uint64_t exchanges = 0;
};

class Passes {
 public:
  virtual ~Passes() = default;
  virtual std::string name() const = 0;

  // The state: weights, waits and what the last accepted pass left beside them.
  virtual void set_weights(const WeightsIn& weights) = 0;
  virtual void set_waits(const std::uint8_t* passes, const std::uint8_t* left) = 0;  // V each
  virtual void set_locked(const std::uint8_t* locked) = 0;                           // V, or null: none is
  virtual void get_weights(const WeightsOut& weights) = 0;
  virtual void get_waits(std::uint8_t* passes, std::uint8_t* left) = 0;
  virtual void get_residual(float* residual) = 0;

  /// One K-sparse simplex problem per vertex from the state; what comes out becomes the state with accept().
  virtual void solve(const Motions& motions, const PassPlan& plan, Sums& sums) = 0;
  virtual void accept() = 0;

  /// The same with the bones moved after it, all rigid, without bringing the sums back: get_cross_sums() has C of the
  /// last iteration that was accepted.
  virtual void iterate(const Motions& start, const PassPlan& plan, const MovePlan& move, Moved& moved) = 0;
  virtual void get_cross_sums(double* C) = 0;

  /// Each vertex to the bone that follows it best: labels (V) and squared distances (V). The state is left alone.
  virtual void assign(const Motions& motions, std::uint32_t* labels, float* residual, Sums& sums) = 0;

  /// What taking away each bone of a vertex would cost it: V × capacity costs, 0 where there is none, and their bones.
  virtual void removal_costs(const Motions& motions, double* costs, std::uint16_t* bones) = 0;
};

/// GPUs that this build can use here.
int cuda_devices();

/// Throws Failure.
std::unique_ptr<Passes> cuda_passes(int number, const Vertices& vertices);

}  // namespace sinew::device
