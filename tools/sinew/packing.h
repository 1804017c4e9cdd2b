#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "output.h"
#include "report.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"
#include "sinew/pack/pack.h"
#include "sinew/solve/request.h"

/// Files for engines: what `sinew pack` and `sinew solve --pack` have in common.
namespace sinew::tool {

/// What is asked of a packed file.
struct Packing {
  std::string quality = "medium";
  std::string target;  // an engine; empty: any
  PackOptions options;
};

/// Names of the options where a command has others of the usual names.
struct PackingNames {
  std::string quality = "--quality";
  std::string max_error = "--max-error";
  std::string group;
};

/// Adds them to a command. --safe-names is of the commands' own.
std::vector<CLI::Option*> add_packing_options(CLI::App& command, Packing& packing, const PackingNames& names);

/// Refuses, before any work, a file that packing cannot write and bones of a solve that the engine cannot hold.
void check_packing(const Packing& packing, const std::filesystem::path& out, const SolveRequest* solve = nullptr);

/// The same frames as morph targets of a still mesh, packed to the same error.
struct PackedMorphs {
  std::size_t targets = 0;
  std::size_t bytes = 0;
  double e_rms = 0;
};

/// What packing wrote, and what it cost.
struct PackedResult {
  Written written;
  PackReport report;
  std::optional<PackedMorphs> morphs;  // where there are examples and few targets do
  bool plain = false;                  // for an engine that reads no packed files
  std::uintmax_t given = 0;            // bytes of the rig's file; 0: there was none
};

/// Keeps a rig to the limits of its engine (what that costs goes to stderr), packs it, and writes it by write_result().
/// `sequence` is what the file is compared with; `examples`: what its errors are held against, or nullptr for what the
/// rig itself poses. Throws as write_result() does and Error{unusable} where the engine cannot have the rig.
PackedResult write_packed(const std::filesystem::path& out, Rig rig, const Sequence& sequence, const Sequence* examples,
                          Packing packing, const ResultOptions& options);

/// The table of bytes and errors by part, and what the file is worth.
void print_packed(const PackedResult& packed, const Packing& packing, bool with_examples);

/// The same as JSON.
Json facts_of(const PackedResult& packed);

}  // namespace sinew::tool
