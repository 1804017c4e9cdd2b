#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "inputs.h"
#include "report.h"

/// What a sweep is made of: values of one option, chains of commands that make a rig, and a row for each pair of them.
namespace sinew::tool {

/// --over NAME=VALUES.
struct Swept {
  std::string option;               // without dashes
  std::vector<std::string> values;  // as they are given to the command
};

/// NAME=A:B, NAME=A:B:STEP or NAME=A,B,C; numbers only. Throws Error{usage}.
Swept parse_over(const std::string& text);

/// Words of each command of a chain, the first of them the command; neither files nor --threads.
using Chain = std::vector<std::vector<std::string>>;

/// --method "NAME [OPTION]... [| correct|compress|reduce [OPTION]...]": a solve and what may follow it. Throws
/// Error{usage}.
Chain parse_chain(const std::string& text, const std::string& options);

/// One rig to be made and measured.
struct SweepRow {
  std::string method;  // as it was asked for
  std::string value;   // of the swept option
  Chain chain;         // with the option in its place
  std::size_t shared;  // commands before that place: the same for all values
};

/// Puts the option into the last command of the chain that has it, or adds the command that has it: correct or
/// compress. Throws Error{usage} when none has it.
std::vector<SweepRow> rows_of(const std::string& method, const Chain& chain, const Swept& swept, const CLI::App& app);

/// The first `count` commands as one line, which says all that their result depends on beside the sequence.
std::string line_of(const Chain& chain, std::size_t count);

/// Words that make a command read the same sequence, for its end of the command line.
std::vector<std::string> sequence_words(const SequenceInputs& inputs);

/// A number that a row has, and what the axis of a plot calls it.
struct Measure {
  std::string name;
  std::string label;
};

/// All of them, in the order of the columns. The first is the swept option itself, called by its name.
std::vector<Measure> measures_of(const Swept& swept);

/// What is kept of a row: `printed` is what its last command printed as JSON, the rest is read from the written file.
Json measured_of(const Json& printed, const std::filesystem::path& rig);

}  // namespace sinew::tool
