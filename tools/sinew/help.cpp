#include <fmt/format.h>

#include "command_options.h"
#include "commands.h"
#include "sinew/core/error.h"

/// Help of one command, and all of it as a man page, made from the options that the commands have added.
namespace sinew::tool {
namespace {

/// Text as troff takes it: backslashes and dashes escaped, no line that starts as a request.
std::string troff(const std::string& text) {
  std::string out;
  bool line_starts = true;
  for (const char c : text) {
    if (line_starts && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\' || c == '-') out += '\\';
    out += c == '\\' ? 'e' : c;
    line_starts = c == '\n';
  }
  return out;
}

std::string man_of(const CLI::App& command) {
  std::string out = fmt::format(".SS sinew {}\n{}\n", command.get_name(), troff(command.get_description()));
  for (const CLI::Option* option : command.get_options()) {
    const std::vector<std::string> words = spellings(*option);
    const std::string name = words.empty() ? option->get_name() : fmt::format("{}", fmt::join(words, ", "));
    const std::string value = !words.empty() && takes_value(*option) ? " \\fIVALUE\\fR" : "";
    out += fmt::format(".TP\n.B {}{}\n{}\n", troff(name), value, troff(explanation_of(*option)));
  }
  const std::string footer = command.get_footer();
  return out + fmt::format(".PP\n.nf\n{}\n.fi\n", troff(footer));
}

std::string man_page(const CLI::App& app) {
  std::string out = fmt::format(
      ".TH SINEW 1 \"\" \"sinew {}\"\n.SH NAME\nsinew \\- animated meshes to skinned rigs, and skinned rigs cheap to "
      "play\n"
      ".SH SYNOPSIS\n.B sinew\n\\fICOMMAND\\fR [\\fIOPTION\\fR]...\n.SH COMMANDS\n",
      SINEW_VERSION);
  for (const CLI::App* command : commands_of(app)) out += man_of(*command);
  return out + fmt::format(".SH EXIT STATUS\n{}\n", troff(app.get_footer()));
}

/// As --help prints it; App::help() would be that of the command that runs.
std::string help_of(const CLI::App& app, const std::string& name) {
  return app.get_formatter()->make_help(&app, name, CLI::AppFormatMode::Normal);
}

}  // namespace

void add_help(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("help", "Explain a command; or all of them as a man page");
  const auto about = std::make_shared<std::string>();
  const auto man = std::make_shared<bool>(false);
  command.add_option("COMMAND", *about, "The command to explain");
  command.add_flag("--man", *man, "Everything as a man page, in troff");
  command.footer(R"(
Examples:
  sinew help solve
  sinew help --man | man -l -)");
  command.callback([&app, about, man] {
    if (*man) return fmt::print("{}", man_page(app));
    if (about->empty()) return fmt::print("{}", help_of(app, "sinew"));
    for (const CLI::App* one : commands_of(app))
      if (one->get_name() == *about) return fmt::print("{}", help_of(*one, "sinew " + one->get_name()));
    throw Error(ErrorKind::usage, fmt::format("help: there is no command '{}'", *about));
  });
}

}  // namespace sinew::tool
