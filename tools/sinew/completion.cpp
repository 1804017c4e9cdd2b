#include <fmt/format.h>

#include "command_options.h"
#include "commands.h"
#include "text_options.h"

/// Scripts that complete commands and options in a shell, made from the options that the commands have added.
namespace sinew::tool {
namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// Text inside single quotes of a shell.
std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) text.replace(at, 1, R"('\'')");
  return text;
}

/// The words that an option may be given, where it takes one of a few (word_of).
std::vector<std::string> words_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();  // TEXT:first|second|...
  std::vector<std::string> out;
  std::size_t from = type.rfind(':');
  if (from == std::string::npos || type.find('|', from) == std::string::npos) return out;
  for (std::size_t to = from; to != std::string::npos; from = to) {
    to = type.find('|', from + 1);
    out.push_back(type.substr(from + 1, to == std::string::npos ? to : to - from - 1));
  }
  return out;
}

std::string bash_completion(const CLI::App& app) {
  std::string names;
  std::string cases;
  std::string values;
  for (const CLI::App* command : commands_of(app)) {
    names += " " + command->get_name();
    std::string words;
    for (const CLI::Option* option : flags_of(*command))
      for (const std::string& word : spellings(*option)) {
        words += " " + word;
        const std::vector<std::string> taken = words_of(*option);
        if (!taken.empty())
          values += fmt::format("    '{} {}') words='{}' ;;\n", command->get_name(), word, fmt::join(taken, " "));
      }
    cases += fmt::format("    {}) words='{}' ;;\n", command->get_name(), words.substr(words.empty() ? 0 : 1));
  }
  return fmt::format(R"(_sinew() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{}' -- "$word"))
    return
  fi
  case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD-1]}}" in
{}  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
    help) words='{}' ;;
{}  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) if [ "${{COMP_WORDS[1]}}" = help ]; then COMPREPLY=($(compgen -W "$words" -- "$word")); else COMPREPLY=($(compgen -f -- "$word")); fi ;;
  esac
}}
complete -o filenames -F _sinew sinew
)",
                     names.substr(1), values, names.substr(1), cases);
}

std::string zsh_completion(const CLI::App& app) {
  const auto plain = [](std::string text) {
    for (char& c : text)
      if (c == '[' || c == ']' || c == ':') c = ' ';
    return quoted(text);
  };
  std::string names;
  std::string cases;
  for (const CLI::App* command : commands_of(app)) {
    names += fmt::format("    '{}:{}'\n", command->get_name(), plain(first_line(command->get_description())));
    cases += fmt::format("    {}) _arguments", command->get_name());
    for (const CLI::Option* option : flags_of(*command)) {
      const std::vector<std::string> taken = words_of(*option);
      const std::string value = !takes_value(*option) ? ""
                                : taken.empty()       ? ":value:_files"
                                                      : fmt::format(":value:({})", fmt::join(taken, " "));
      for (const std::string& word : spellings(*option))
        cases += fmt::format(" '*{}[{}]{}'", word, plain(first_line(option->get_description())), value);
    }
    cases += " '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef sinew
_sinew() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
if [ "$funcstack[1]" = _sinew ]; then _sinew "$@"; else compdef _sinew sinew; fi
)",
                     names, cases);
}

std::string fish_completion(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : commands_of(app)) {
    out += fmt::format("complete -c sinew -n __fish_use_subcommand -f -a {} -d '{}'\n", command->get_name(),
                       quoted(first_line(command->get_description())));
    for (const CLI::Option* option : flags_of(*command)) {
      out += fmt::format("complete -c sinew -n '__fish_seen_subcommand_from {}'", command->get_name());
      for (const std::string& name : option->get_snames()) out += " -s " + name;
      for (const std::string& name : option->get_lnames()) out += " -l " + name;
      const std::vector<std::string> taken = words_of(*option);
      if (takes_value(*option)) out += taken.empty() ? " -r" : fmt::format(" -x -a '{}'", fmt::join(taken, " "));
      out += fmt::format(" -d '{}'\n", quoted(first_line(option->get_description())));
    }
  }
  return out;
}

}  // namespace

void add_completion(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("completion", "Completion of commands and options for a shell");
  const auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(word_of({"bash", "zsh", "fish"}));
  command.footer(R"(
Examples:
  sinew completion bash > ~/.local/share/bash-completion/completions/sinew
  sinew completion zsh > ~/.zfunc/_sinew
  sinew completion fish > ~/.config/fish/completions/sinew.fish)");
  command.callback([&app, shell] {
    fmt::print("{}", *shell == "bash"  ? bash_completion(app)
                     : *shell == "zsh" ? zsh_completion(app)
                                       : fish_completion(app));
  });
}

}  // namespace sinew::tool
