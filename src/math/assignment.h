#pragma once

#include <Eigen/Core>
#include <vector>

namespace sinew {

/// The assignment of rows to columns of least total cost, one to one: column of every row, -1 where there are more rows
/// than columns and it has none. Costs are finite. The Hungarian method, O(n³).
std::vector<int> least_assignment(const Eigen::MatrixXd& cost);

}  // namespace sinew
