#pragma once

#include <CLI/CLI.hpp>

/// Benchmarks of `sinew bench`, each in the file of its name: adds the subcommand with what it runs.
namespace sinew::tool {

void add_bench_sma(CLI::App& group);
void add_bench_ssdr(CLI::App& group);

}  // namespace sinew::tool
