#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "sinew/solve/request.h"

namespace sinew::tool {

/// Method that an option belongs to, by the option.
using OptionOwners = std::map<const CLI::Option*, std::string>;

/// Adds the options that several methods share, but for --rig and what goes with it.
void add_shared_options(CLI::App& command, SolveRequest& request);

/// Adds --method and the options that one method has alone, each in the group of its method.
OptionOwners add_method_options(CLI::App& command, SolveRequest& request);

/// Throws Error{usage} where an option was given that the method of the request does not understand.
void check_options_taken(const CLI::App& command, const OptionOwners& owners, const SolveRequest& request);

}  // namespace sinew::tool
