#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sinew/core/fit_report.h"
#include "sinew/core/progress.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"

/// How `sinew solve` meets the solvers: solve.cpp owns the options that all methods share, reads the sequence, writes
/// the rig and evaluates the written file; each method adds its own options and turns a sequence into a rig.
namespace sinew::tool {

enum class Quality { fast, balanced, best };

/// Options that every method understands (or refuses with a sentence).
struct SolveOptions {
  std::optional<int> bones;         // --bones
  std::optional<double> max_error;  // --max-error, E_RMS
  std::string influences;           // --influences: a number, "all", or empty for the method's default
  std::string transforms;           // --transforms: "rigid", "affine", or empty for the method's default
  Quality quality = Quality::balanced;
  std::uint64_t seed = 1;
  int threads = 0;           // 0: all cores
  std::optional<Rig> given;  // --rig IN.glb
  std::string fit;           // --fit weights|motion|all|joints, with --rig
};

/// One value of --method, in the file of its name (solve_ssdr.cpp, solve_sma.cpp, ...).
struct Method {
  std::string name;
  std::string summary;  // one line for the help text
  std::function<void(CLI::App& command)> add_options;
  std::function<Rig(const Sequence&, const SolveOptions&, FitReport&, const Progress&)> solve;
};

/// All methods, the default first.
std::vector<Method> solve_methods();

}  // namespace sinew::tool
