#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <numeric>
#include <sstream>
#include <string_view>

#include "command_options.h"
#include "commands.h"
#include "interrupt.h"
#include "processes.h"
#include "sinew/core/error.h"
#include "sinew/io/io.h"

namespace {

constexpr std::size_t kHelpColumn = 24;  // where the explanations of options start
constexpr std::size_t kHelpWidth = 100;

/// Letters of UTF-8 text, each a column of a terminal.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// A line of help in as many as its width asks for: an option's go on under its explanation.
std::string wrapped(std::string_view line) {
  const std::string indent(line.rfind("  ", 0) == 0 ? kHelpColumn : 0, ' ');
  std::string out;
  std::string rest(line);
  while (columns(rest) > kHelpWidth) {
    std::size_t cut = std::string::npos;
    for (std::size_t at = rest.find(' ', indent.size() + 1); at != std::string::npos; at = rest.find(' ', at + 1))
      if (columns(rest.substr(0, at)) <= kHelpWidth) cut = at;
    if (cut == std::string::npos) break;
    out += rest.substr(0, cut) + '\n';
    rest.replace(0, cut + 1, indent);
  }
  return out + rest;
}

/// Help without CLI11's own notes on types and ranges: the text of each option says what a person needs.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::istringstream help(Formatter::make_help(app, std::move(name), mode));
    std::vector<std::string> lines;
    for (std::string line; std::getline(help, line);) {
      const std::string before = lines.empty() ? "" : lines.back();
      if (line.empty() && before.empty()) continue;  // one empty line is enough between groups
      const bool flows = columns(before) > 80 && before.front() != ' ' && !line.empty() && line.front() != ' ' &&
                         line.rfind("Usage: ", 0) != 0;
      if (flows)
        lines.back() += ' ' + line;
      else
        lines.push_back(line);
    }
    std::string out;
    for (const std::string& line : lines) out += (line.rfind("  sinew ", 0) == 0 ? line : wrapped(line)) + '\n';
    return out;
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_expected_min() == 0 || option->get_positional()) return "";
    const std::string type = option->get_type_name();
    const bool number = type.rfind("INT", 0) == 0 || type.rfind("UINT", 0) == 0;
    return number ? " N" : type.rfind("FLOAT", 0) == 0 ? " X" : " TEXT";
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return sinew::tool::explanation_of(*option);
  }
};

/// Exit status for an error of this kind.
int exit_code(sinew::ErrorKind kind) {
  using sinew::ErrorKind;
  switch (kind) {
    case ErrorKind::usage:
      return 2;
    case ErrorKind::input:
    case ErrorKind::output:
      return 3;
    case ErrorKind::unusable:
      return 4;
    case ErrorKind::interrupted:
      return 130;
  }
  return 3;
}

/// Letters to change, add or leave out to turn one word into the other.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

/// The command or option that `word` was probably meant to be; empty if there is none.
std::string meant(const CLI::App& app, const CLI::App& command, const std::string& word) {
  std::vector<std::string> known;
  if (word.rfind('-', 0) == 0) {
    for (const CLI::Option* option : command.get_options())
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  } else {
    for (const CLI::App* other : app.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(other->get_name());
  }
  std::string best;
  std::size_t least = std::min<std::size_t>(3, word.size() / 2 + 1);  // most of the word has to be there
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(word, name);
    if (distance >= least) continue;
    least = distance;
    best = name;
  }
  return best;
}

/// CLI11's sentence, but for those that speak of types.
std::string sentence_of(const CLI::ParseError& error) {
  const std::string text = error.what();
  if (error.get_name() == "ArgumentMismatch" && text.find(" required ") != std::string::npos)
    return text.substr(0, text.find(':')) + " needs a value";
  const std::string unreadable = "Could not convert: ";  // OPTION = VALUE
  const std::size_t equals = text.find(" = ");
  if (text.rfind(unreadable, 0) == 0 && equals != std::string::npos)
    return fmt::format("{}: {} is not a whole number", text.substr(unreadable.size(), equals - unreadable.size()),
                       text.substr(equals + 3));
  return text;
}

/// What was wrong with the command line, in one sentence, and where to look. An unknown word is named first: it is
/// often the reason why something else is missing.
void print_usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto commands = app.get_subcommands();
  const CLI::App& command = commands.empty() ? app : *commands.front();
  const std::string name = commands.empty() ? "sinew" : "sinew " + command.get_name();
  const std::vector<std::string> unknown = app.remaining(true);
  if (unknown.empty()) {
    fmt::print(stderr, "{}: {}\n", name, sentence_of(error));
  } else {
    const std::string word = unknown.front().substr(0, unknown.front().find('='));
    const bool file =
        commands.empty() && (sinew::usable_for(sinew::FileUse::read_sequence, word) ||
                             sinew::usable_for(sinew::FileUse::read_positions, word) || std::filesystem::exists(word));
    const std::string guess = file ? fmt::format("'sinew solve {} -o rig.glb'", word) : meant(app, command, word);
    fmt::print(stderr, "{}: {} is not {}{}\n", name, word, file ? "a command" : "known here",
               guess.empty() ? "" : fmt::format("; did you mean {}?", guess));
  }
  fmt::print(stderr, "'{} --help' lists what there is\n", name);
}

/// `status`, or the status of an output that cannot be written when stdout could not be.
int flushed(int status) {
  const bool arrived = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (arrived) return status;
  fmt::print(stderr, "sinew: standard output: cannot be written\n");
  return exit_code(sinew::ErrorKind::output);
}

/// A page of a file that is not there any more, because somebody cut the file or its disk failed, is a sentence too.
void catch_lost_pages() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    constexpr std::string_view kSentence = "sinew: a file became shorter while it was read, or its disk failed\n";
    const ssize_t ignored = write(STDERR_FILENO, kSentence.data(), kSentence.size());
    _exit(ignored < 0 ? 1 : 3);
  };
  sigaction(SIGBUS, &action, nullptr);
}

/// Whether all processes were given the same words.
bool asked_alike(int argc, char** argv, sinew::Ranks& ranks) {
  std::uint64_t digest = 0xcbf29ce484222325;  // FNV-1a of the words, ends included
  for (int i = 1; i < argc; ++i)
    for (const char* c = argv[i];; ++c) {
      digest = (digest ^ static_cast<unsigned char>(*c)) * 0x100000001b3;
      if (*c == 0) break;
    }
  const std::uint64_t of_first = ranks.of_first(digest);
  return !ranks.any(digest != of_first);
}

int run(int argc, char** argv, sinew::Ranks& ranks) {
  using namespace sinew;
  if (!asked_alike(argc, argv, ranks)) {
    fmt::print(stderr, "sinew: processes that share a solve are given the same command line\n");
    return exit_code(ErrorKind::usage);
  }
  // Only a solve is shared; whatever else is asked for the first process does.
  if (ranks.rank() > 0 && (argc < 2 || std::string_view(argv[1]) != "solve")) return 0;
  CLI::App app("sinew: animated meshes to skinned rigs, and skinned rigs cheap to play", "sinew");
  app.set_version_flag("--version", std::string("sinew ") + SINEW_VERSION);
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormatter>());
  app.get_formatter()->column_width(kHelpColumn);
  tool::add_demo(app);
  tool::add_solve(app, ranks);
  tool::add_sweep(app);
  tool::add_correct(app);
  tool::add_evaluate(app);
  tool::add_reduce(app);
  tool::add_compress(app);
  tool::add_pack(app);
  tool::add_lod(app);
  tool::add_transfer(app);
  tool::add_edit(app);
  tool::add_bounds(app);
  tool::add_info(app);
  tool::add_convert(app);
  tool::add_view(app);
  tool::add_app(app);
  tool::add_crowd(app);
  tool::add_help(app);
  tool::add_completion(app);
  app.footer(
      "'sinew help COMMAND' explains one command. Data goes to stdout, everything else to stderr.\n"
      "Exit status: 0 done, 2 wrong usage, 3 input or output that cannot be used, 4 no usable model or not\n"
      "enough memory, 130 interrupted.");
  if (argc == 1) {
    fmt::print(stderr, "{}", app.help());
    return exit_code(ErrorKind::usage);
  }
  tool::catch_interrupts();
  catch_lost_pages();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    print_usage_error(app, error);
    return exit_code(ErrorKind::usage);
  } catch (const Error& error) {
    fmt::print(stderr, "sinew: {}\n", error.what());
    return exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "sinew: not enough memory\n");
    return exit_code(ErrorKind::unusable);
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return exit_code(ErrorKind::output);  // said once it is flushed
    // Threads need memory too; the library that starts them throws an error of its own kind.
    const bool thread = std::string_view(error.what()).find("pthread_create") != std::string_view::npos;
    fmt::print(stderr, "sinew: {}{}\n", thread ? "not enough memory for its threads: " : "", error.what());
    return exit_code(ErrorKind::unusable);
  }
  return 0;
}

/// Whether the memory of this process is limited (ulimit -v).
bool memory_limited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

int main(int argc, char** argv) {
  const auto processes = sinew::tool::join_processes(argc, argv);
  const int status = processes->end(flushed(run(argc, argv, processes->ranks())));
  // Everything is written and cleaned up. Libraries that could not start their threads may wait for them forever.
  if (memory_limited()) std::_Exit(status);
  return status;
}
