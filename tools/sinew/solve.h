#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "packing.h"
#include "report.h"
#include "sinew/core/fit_report.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"
#include "sinew/evaluate/errors.h"
#include "sinew/io/io.h"
#include "sinew/solve/request.h"

/// How `sinew solve` and `sinew demo` turn a sequence into a file. What the solvers are asked for is SolveRequest; its
/// options are in solve_options.cpp.
namespace sinew::tool {

/// How a solve is done beside what it is asked for.
struct SolveRun {
  SolveRequest request;
  int corrections = 0;             // --corrections: rank of those added to the rest pose after the solve
  WriteOptions write;              // --bake-shear, --safe-names
  bool keep_partial = false;       // --keep-partial
  bool progress_lines = false;     // --progress
  std::optional<Packing> packing;  // --pack and what goes with it
};

/// What a solve left behind, from the written file read back.
struct Outcome {
  FitReport report;
  Rig rig;
  Errors errors;
  std::optional<ErrorsBetween> between;  // half-way between keys
  double seconds = 0;                    // of the solve
  std::uintmax_t bytes = 0;
  bool partial = false;                // the user interrupted the solve
  std::vector<std::uint64_t> peaks;    // bytes that each rank has held at most while it solved
  std::optional<PackedResult> packed;  // where packing was asked for
};

/// Solves, writes the rig, reads the file back and evaluates it; the target appears only when all of that went well.
/// When the user interrupts: Error{interrupted} and nothing written, or with keep_partial the best model so far.
/// Of ranks that share the sequence all solve and the first does the rest; the others leave only `report` and `rig`.
Outcome solve_to_file(const Sequence& sequence, const SolveRun& run, const std::filesystem::path& target);

/// What --report writes: the file, the input, the rig, its errors and how the solve went.
Json solve_report(const Outcome& outcome, const Sequence& sequence, const std::filesystem::path& file);

}  // namespace sinew::tool
