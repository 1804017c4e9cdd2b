#pragma once

#include <Eigen/Core>

namespace sinew {

/// Minimises |A x − b|² over x >= 0 [LawsonHanson1974], given G = AᵀA (n×n) and g = Aᵀb.
///
/// Entries are freed in order of their gradient; one whose freeing does not lower the objective stays zero, so the
/// method ends even where columns of A repeat. The solution satisfies x >= 0 exactly and the optimality conditions
/// within 1e-10 of the scale of G.
Eigen::VectorXd nonnegative_least_squares(const Eigen::Ref<const Eigen::MatrixXd>& G,
                                          const Eigen::Ref<const Eigen::VectorXd>& g);

/// The shortest x that minimises |A x − b|² after singular values of A below `threshold`·|A|₂ are taken as zero, given
/// G = AᵀA and g = Aᵀb. Working on AᵀA, thresholds below 1e-7 are lost in rounding.
Eigen::VectorXd truncated_least_squares(const Eigen::Ref<const Eigen::MatrixXd>& G,
                                        const Eigen::Ref<const Eigen::VectorXd>& g, double threshold = 1e-5);

}  // namespace sinew
