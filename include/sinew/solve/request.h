#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinew/core/checkpoint.h"
#include "sinew/core/device.h"
#include "sinew/core/fit_report.h"
#include "sinew/core/progress.h"
#include "sinew/core/quality.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"
#include "sinew/solve/estimate.h"
#include "sinew/solve/flats.h"
#include "sinew/solve/skeleton.h"
#include "sinew/solve/sma.h"
#include "sinew/solve/ssdr.h"

/// Every solver behind one call, by the names and with the meaning that `sinew solve` gives them. A program that offers
/// all methods takes this; one that wants a certain solver is better served by its own header.
namespace sinew {

/// How the options are written where the request comes from, so that sentences about them say what the reader typed:
/// --fit joints on a command line, fit='joints' in Python.
enum class OptionStyle { flags, keywords };

/// What `sinew solve` can be asked for: members are its options, an absent one is left to the method.
struct SolveRequest {
  std::string method = "ssdr";
  std::optional<int> bones;
  std::optional<double> max_error;  // E_RMS, instead of bones
  std::optional<int> min_bones;     // bounds of that search
  std::optional<int> max_bones;
  std::optional<int> influences;  // 0: all
  std::optional<Transforms> transforms;
  std::optional<double> smoothness;
  std::optional<double> surface;  // how much normals count beside distances
  std::optional<double> time;     // seconds, instead of a quality
  std::optional<double> work;     // the same in units of work: the same bits again
  std::optional<int> iterations;
  std::optional<Start> start;
  Quality quality = Quality::balanced;
  Device device;
  std::uint64_t seed = 1;
  int threads = 0;
  Checkpoint* checkpoint = nullptr;
  // A rig to fit, where there is one.
  const Rig* given = nullptr;     // `rig`
  std::string fit;                // weights, motion, all or joints; empty: what the method does of itself
  int add_bones = 0;              // helper bones, for it or for a skeleton that is looked for
  std::vector<std::string> lock;  // names or numbers of bones that keep their motion

  // What only one method has. Of the options of its solver those count that are not above.
  struct OnlySsdr {
    std::string lock_vertices;                  // a bone or colour set whose vertices keep their weights
    std::vector<std::uint8_t> locked_vertices;  // V or empty: the same as a mask
    LaplacianKind laplacian = LaplacianKind::rigidness;
    bool rest_pose = false;
  } ssdr;
  SmaOptions sma;
  FlatsOptions flats;
  int starts = 0;  // of flats: 0 leaves it to the quality
  SkeletonOptions skeleton;

  OptionStyle style = OptionStyle::flags;
};

/// One value of `method`.
struct SolveMethod {
  std::string_view name;
  std::string_view summary;  // one line for help texts
};

/// All methods, the default first.
const std::vector<SolveMethod>& solve_methods();

/// Whether the method understands an option of this name (max_error, ...). All of them understand bones, quality, seed,
/// threads and corrections. Throws Error{usage} for a method that does not exist.
bool takes(std::string_view method, std::string_view option);

/// Whether bones of this request shear unless the solver is told otherwise.
bool is_affine(const SolveRequest& request);

/// SmaOptions::weights from text: nnls, tsvd or bounded:D with D >= 0. False where it is none of these.
bool set_sma_weights(std::string_view text, SmaOptions& options);

/// Solves. Throws as the solvers do, and Error{usage} for options that exclude each other.
Rig solve(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress = {});

/// What that will take.
SolveEstimate estimate(const Sequence& sequence, const SolveRequest& request);

}  // namespace sinew
