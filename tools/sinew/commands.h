#pragma once

#include <CLI/CLI.hpp>

#include "sinew/core/ranks.h"

/// One function per command, each in the file of its name: adds the subcommand with its options and what it runs.
namespace sinew::tool {

void add_app(CLI::App& app);
void add_bounds(CLI::App& app);
void add_completion(CLI::App& app);
void add_compress(CLI::App& app);
void add_convert(CLI::App& app);
void add_correct(CLI::App& app);
void add_crowd(CLI::App& app);
void add_demo(CLI::App& app);
void add_edit(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_help(CLI::App& app);
void add_info(CLI::App& app);
void add_lod(CLI::App& app);
void add_pack(CLI::App& app);
void add_reduce(CLI::App& app);
void add_solve(CLI::App& app, Ranks& ranks);
void add_sweep(CLI::App& app);
void add_transfer(CLI::App& app);
void add_view(CLI::App& app);

}  // namespace sinew::tool
