#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sinew {

/// Named arrays of numbers; integers are exact up to 2^53.
using SavedArrays = std::map<std::string, Eigen::MatrixXd>;

/// A solve between two of its steps: all that is needed to continue.
struct SolveState {
  std::string phase;      // the loop it is in, in the solver's own words; one word per loop
  std::int64_t step = 0;  // rounds of that loop that are done
  SavedArrays arrays;     // what that loop carries from round to round
  SavedArrays finished;   // what earlier loops left
};

/// Where a solve saves its state now and then, and finds the state that an earlier run of the same solve saved.
///
/// A solver has a pointer to one in its options, which may be null. At the head of a loop it calls resume() with the
/// loop's name, after every round keep(). Only the state's arrays pass from the earlier run to this one, and
/// they may come from a damaged file: solvers check shapes and ranges as they take them, and throw Error{input}.
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  /// Whether it is time to save.
  virtual bool due() = 0;
  virtual void save(const SolveState& state) = 0;

  std::optional<SolveState> earlier;  // of the earlier run, until a loop has resumed it
  SavedArrays finished;               // goes into every state that is saved
};

/// Whether the earlier run stopped in this phase.
bool resumes(const Checkpoint* checkpoint, std::string_view phase);

/// The state that the earlier run left in this phase, handed out once; its step is an int >= 0, or Error{input}.
std::optional<SolveState> resume(Checkpoint* checkpoint, std::string_view phase);

/// Saves the state when it is time; `fill(arrays)` is called only then.
template <class Fill>
void keep(Checkpoint* checkpoint, std::string_view phase, std::int64_t step, const Fill& fill) {
  if (checkpoint == nullptr || !checkpoint->due()) return;
  SolveState state{std::string(phase), step, {}, checkpoint->finished};
  fill(state.arrays);
  checkpoint->save(state);
}

/// A column of numbers, to be saved.
Eigen::MatrixXd numbers(std::initializer_list<double> values);

/// An array of a saved state. Throws Error{input} when it is absent, when its size is not `rows` × `columns`
/// (-1: any number), or when it holds numbers that are not finite.
const Eigen::MatrixXd& saved_array(const SavedArrays& arrays, const std::string& name, Eigen::Index rows,
                                   Eigen::Index columns);

/// A number of a saved state that has to lie in lowest..highest.
double saved_number(const SavedArrays& arrays, const std::string& name, double lowest, double highest);

}  // namespace sinew
