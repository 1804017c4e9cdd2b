#include "sinew/core/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "sinew/core/error.h"

namespace sinew {

bool resumes(const Checkpoint* checkpoint, std::string_view phase) {
  return checkpoint != nullptr && checkpoint->earlier && checkpoint->earlier->phase == phase;
}

std::optional<SolveState> resume(Checkpoint* checkpoint, std::string_view phase) {
  if (!resumes(checkpoint, phase)) return {};
  const std::int64_t step = checkpoint->earlier->step;
  if (step < 0 || step > std::numeric_limits<int>::max())
    throw Error(ErrorKind::input, fmt::format("checkpoint: it stopped after {} rounds, which cannot be", step));
  return std::exchange(checkpoint->earlier, {});
}

Eigen::MatrixXd numbers(std::initializer_list<double> values) {
  Eigen::MatrixXd column(static_cast<Eigen::Index>(values.size()), 1);
  std::copy(values.begin(), values.end(), column.data());
  return column;
}

const Eigen::MatrixXd& saved_array(const SavedArrays& arrays, const std::string& name, Eigen::Index rows,
                                   Eigen::Index columns) {
  const auto found = arrays.find(name);
  if (found == arrays.end()) throw Error(ErrorKind::input, fmt::format("checkpoint: there is no '{}' in it", name));
  const Eigen::MatrixXd& array = found->second;
  if ((rows >= 0 && array.rows() != rows) || (columns >= 0 && array.cols() != columns))
    throw Error(ErrorKind::input, fmt::format("checkpoint: '{}' is {}×{}, expected {}×{} (-1: any)", name, array.rows(),
                                              array.cols(), rows, columns));
  if (!array.allFinite())
    throw Error(ErrorKind::input, fmt::format("checkpoint: '{}' holds numbers that are not finite", name));
  return array;
}

double saved_number(const SavedArrays& arrays, const std::string& name, double lowest, double highest) {
  const double value = saved_array(arrays, name, 1, 1)(0, 0);
  if (value < lowest || value > highest)
    throw Error(ErrorKind::input,
                fmt::format("checkpoint: '{}' is {}, expected {} to {}", name, value, lowest, highest));
  return value;
}

}  // namespace sinew
