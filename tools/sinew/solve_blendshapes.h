#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>

#include "inputs.h"
#include "solve.h"

/// `sinew solve --blendshapes`: morph targets become bones that follow sliders.
namespace sinew::tool {

struct BlendshapeArguments {
  bool wanted = false;             // --blendshapes
  double sparsity = 0.9;           // --sparsity
  std::filesystem::path map_file;  // --sliders
};

/// What it takes from the other options of solve.
struct BlendshapeRun {
  const SequenceInputs& inputs;
  const SolveRun& run;
  const BlendshapeArguments& own;
  std::filesystem::path output;
  std::filesystem::path report;
  std::string normals;
  bool json = false;
};

void add_blendshape_options(CLI::App& command, BlendshapeArguments& arguments);

/// Throws Error{usage} for an option of solve that says nothing about sliders.
void check_blendshape_options(const CLI::App& command);

void solve_blendshapes_to_file(const BlendshapeRun& run);

}  // namespace sinew::tool
