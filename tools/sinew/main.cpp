#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>

#include "commands.h"
#include "interrupt.h"
#include "sinew/core/error.h"

namespace {

/// Options without what CLI11 knows about their types and validators: the text says what a person needs.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_expected_min() == 0 || option->get_positional()) return "";
    const std::string type = option->get_type_name();
    const bool number = type.rfind("INT", 0) == 0 || type.rfind("UINT", 0) == 0;
    return number ? " N" : type.rfind("FLOAT", 0) == 0 ? " X" : " TEXT";
  }
};

/// `status`, or that of an output that cannot be written when what was printed did not arrive.
int flushed(int status) {
  const bool arrived = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (arrived) return status;
  fmt::print(stderr, "sinew: standard output: cannot be written\n");
  return sinew::exit_code(sinew::ErrorKind::output);
}

int run(int argc, char** argv) {
  using namespace sinew;
  CLI::App app("sinew: animated meshes to skinned rigs, and skinned rigs cheap to play");
  app.set_version_flag("--version", std::string("sinew ") + SINEW_VERSION);
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormatter>());
  app.get_formatter()->column_width(24);
  tool::add_demo(app);
  tool::add_solve(app);
  tool::add_correct(app);
  tool::add_evaluate(app);
  tool::add_reduce(app);
  tool::add_compress(app);
  tool::add_info(app);
  tool::add_convert(app);
  tool::add_view(app);
  tool::add_bench(app);
  app.footer(
      "'sinew COMMAND --help' explains one command. Data goes to stdout, everything else to stderr.\n"
      "Exit status: 0 done, 2 wrong usage, 3 input or output that cannot be used, 4 no usable model or not\n"
      "enough memory, 130 interrupted.");
  tool::catch_interrupts();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return exit_code(ErrorKind::usage);
  } catch (const Error& error) {
    fmt::print(stderr, "sinew: {}\n", error.what());
    return exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "sinew: not enough memory\n");
    return exit_code(ErrorKind::unusable);
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return exit_code(ErrorKind::output);  // said once it is flushed
    // Threads need memory too: the library that starts them says so in words of its own.
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
  const int status = flushed(run(argc, argv));
  // Everything is written and tidied up. Libraries that could not start their threads may wait for them for good.
  if (memory_limited()) std::_Exit(status);
  return status;
}
