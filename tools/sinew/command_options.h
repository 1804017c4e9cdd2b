#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

/// What the commands have added to the program, for texts that are made from it: help, man page, completion.
namespace sinew::tool {

inline std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  const auto all = app.get_subcommands([](const CLI::App*) { return true; });
  return {all.begin(), all.end()};
}

/// Options of a command that are written with dashes.
inline std::vector<const CLI::Option*> flags_of(const CLI::App& command) {
  std::vector<const CLI::Option*> out;
  for (const CLI::Option* option : command.get_options())
    if (!option->get_lnames().empty() || !option->get_snames().empty()) out.push_back(option);
  return out;
}

inline bool takes_value(const CLI::Option& option) {
  return option.get_expected_min() > 0;
}

/// As they are typed, the short ones first.
inline std::vector<std::string> spellings(const CLI::Option& option) {
  std::vector<std::string> out;
  for (const std::string& name : option.get_snames()) out.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.push_back("--" + name);
  return out;
}

/// What an option is for, with its default where its text does not name it.
inline std::string explanation_of(const CLI::Option& option) {
  const std::string text = option.get_description();
  if (option.get_required() && !option.get_positional()) return text + " (required)";
  const std::string usual = option.get_default_str();
  const bool told = usual.empty() || !takes_value(option) || text.find('(' + usual) != std::string::npos;
  return told ? text : text + " (" + usual + ')';
}

}  // namespace sinew::tool
