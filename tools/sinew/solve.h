#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report.h"
#include "sinew/core/checkpoint.h"
#include "sinew/core/fit_report.h"
#include "sinew/core/progress.h"
#include "sinew/core/quality.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"
#include "sinew/evaluate/errors.h"
#include "sinew/io/io.h"
#include "sinew/solve/estimate.h"

/// How `sinew solve` meets the solvers: solve.cpp owns the options that all methods share, reads the sequence, writes
/// the rig and evaluates the written file; each method adds its own options and turns a sequence into a rig.
///
/// To add a method: write solve_NAME.cpp with `Method NAME_method()`, declare it below, list it in solve_methods.cpp
/// and CMakeLists.txt.
namespace sinew::tool {

/// Options that every method understands, or refuses by not naming them in Method::takes.
struct SolveOptions {
  std::optional<int> bones;          // --bones, >= 1
  std::optional<double> max_error;   // --max-error, E_RMS, > 0
  std::optional<int> min_bones;      // --min-bones, >= 1: bounds of that search
  std::optional<int> max_bones;      // --max-bones, >= 1
  std::string influences;            // --influences: a number, "all", or empty for the method's default
  std::string transforms;            // --transforms: "rigid", "affine", or empty for the method's default
  std::optional<double> smoothness;  // --smoothness, >= 0
  std::optional<int> iterations;     // --iterations, >= 0
  std::string start;                 // --start: "parts", "flats", or empty for parts
  bool skeleton = false;             // --skeleton: bones joined in a hierarchy
  Quality quality = Quality::balanced;
  std::uint64_t seed = 1;
  int threads = 0;                   // 0: all cores
  std::optional<Rig> given;          // --rig IN.glb
  std::string fit;                   // --fit weights|motion|all|joints, with --rig
  int add_bones = 0;                 // --add-bones: helper bones, with --rig or --skeleton
  std::vector<std::string> lock;     // --lock: names or numbers of bones that keep their motion, with --rig
  WriteOptions write;                // --bake-shear, --safe-names
  int corrections = 0;               // --corrections: rank of rest-pose corrections added after the solve
  Checkpoint* checkpoint = nullptr;  // --checkpoint; may be null
  bool progress_lines = false;       // --progress
};

/// One value of --method, in the file of its name (solve_ssdr.cpp, solve_sma.cpp, ...).
struct Method {
  std::string name;
  std::string summary;  // one line for the help text
  /// Adds the options that only this method has; they are shown in their own group and refused with other methods.
  /// The values live in state that this function and `solve` share (a shared_ptr in both closures).
  std::function<void(CLI::App& command)> add_options;
  std::function<Rig(const Sequence&, const SolveOptions&, FitReport&, const Progress&)> solve;
  /// Which of the shared options it understands beyond --bones, --quality, --seed, --threads and --corrections:
  /// any of --max-error, --min-bones, --max-bones, --influences, --transforms, --smoothness, --iterations, --start,
  /// --skeleton, --rig, --fit, --lock, --add-bones.
  std::vector<std::string> takes;
  bool affine = false;  // its bones shear unless --transforms says rigid
  /// Adds to the size of a solve what its own options say about it; may be empty.
  std::function<void(const SolveOptions&, SolveSize&)> add_size;
};

Method ssdr_method();
Method kavan_method();
Method clusters_method();
Method skeleton_method();
Method flats_method();
Method sma_method();

/// All methods, the default first.
std::vector<Method> solve_methods();

/// --influences as a number: `otherwise` when it was not given, 0 for "all".
int influences_of(const SolveOptions& options, int otherwise);

/// What a solve of this sequence will take.
SolveEstimate estimate_of(const Method& method, const Sequence& sequence, const SolveOptions& options);

/// Adds rest-pose corrections of this rank to a solved rig. Rank 0 adds nothing.
void add_corrections(Rig& rig, const Sequence& sequence, const SolveOptions& options, FitReport& report,
                     const Progress& progress);

/// What a solve left behind, from the written file read back.
struct Outcome {
  FitReport report;
  Rig rig;
  Errors errors;
  std::optional<ErrorsBetween> between;  // half-way between keys
  double seconds = 0;                    // of the solve
  std::uintmax_t bytes = 0;
  bool partial = false;  // the user interrupted the solve
};

/// Solves, writes the rig, reads the file back and evaluates it; the target appears only when all of that went well.
/// When the user interrupts: Error{interrupted} and nothing written, or with keep_partial the best model so far.
Outcome solve_to_file(const Method& method, const Sequence& sequence, const SolveOptions& options,
                      const std::filesystem::path& target, bool keep_partial);

/// What --report writes: the file, the input, the rig, its errors and how the solve went.
Json solve_report(const Outcome& outcome, const Sequence& sequence, const std::filesystem::path& file);

}  // namespace sinew::tool
