#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sinew/core/checkpoint.h"
#include "sinew/core/fit_report.h"
#include "sinew/core/progress.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"
#include "sinew/refine/corrections.h"
#include "sinew/solve/estimate.h"
#include "sinew/solve/flats.h"
#include "sinew/solve/skeleton.h"
#include "sinew/solve/sma.h"
#include "sinew/solve/ssdr.h"

/// Every solver behind one call, by the names and with the meaning that `sinew solve` gives them. Knows nothing of
/// Python.
namespace sinew::python {

/// What `sinew solve` can be asked for: members are its options, an absent one is left to the method.
struct SolveRequest {
  std::string method = "ssdr";  // ssdr, kavan, sma, flats, skeleton or clusters
  std::optional<int> bones;
  std::optional<double> max_error;
  std::optional<int> min_bones;
  std::optional<int> max_bones;
  std::optional<int> influences;  // 0: all
  std::optional<Transforms> transforms;
  std::optional<double> smoothness;
  std::optional<int> iterations;
  std::optional<Start> start;
  Quality quality = Quality::balanced;
  std::uint64_t seed = 1;
  int threads = 0;
  int corrections = 0;
  const Rig* given = nullptr;  // `rig`
  std::string fit;
  std::vector<std::string> lock;
  // ssdr
  int add_bones = 0;
  std::string lock_vertices;
  std::vector<std::uint8_t> locked_vertices;  // V or empty: the same as a mask
  LaplacianKind laplacian = LaplacianKind::rigidness;
  bool rest_pose = false;
  // sma
  double epsilon = SmaOptions{}.epsilon;
  SmaWeights weights = SmaWeights::nnls;
  double negative_bound = 0;
  // flats
  FlatSolver flat_solver = FlatSolver::gauss_newton;
  double outliers = -1;
  double quantile = 0.5;
  int starts = 0;
  bool optimize_rest = false;
  // skeleton
  int clusters = SkeletonOptions{}.clusters;
  Detail detail = Detail::medium;
  bool free_joints = false;
  bool keep_all_bones = false;
  bool symmetric = false;
  bool drive_helpers = false;
  bool uneven = false;  // symmetric is said to be False
  std::string root;

  Checkpoint* checkpoint = nullptr;
};

/// Whether the method understands an option of this name. Throws Error{usage} for a method that does not exist.
bool takes(const std::string& method, const std::string& option);

/// Solves, and adds corrections where they are asked for. Throws as the solvers do, and Error{usage} for options that
/// exclude each other.
Rig solve(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress);

/// What that will take.
SolveEstimate estimate(const Sequence& sequence, const SolveRequest& request);

}  // namespace sinew::python
