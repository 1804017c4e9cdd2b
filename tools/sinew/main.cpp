#include <fmt/format.h>

#include <new>

#include "commands.h"
#include "interrupt.h"
#include "sinew/core/error.h"

int main(int argc, char** argv) {
  using namespace sinew;
  CLI::App app("sinew: animated meshes to skinned rigs, and skinned rigs cheap to play");
  app.set_version_flag("--version", std::string("sinew ") + SINEW_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(30);
  tool::add_demo(app);
  tool::add_solve(app);
  tool::add_evaluate(app);
  tool::add_reduce(app);
  tool::add_compress(app);
  tool::add_info(app);
  tool::add_convert(app);
  tool::add_view(app);
  app.footer(
      "'sinew COMMAND --help' explains one command. Data goes to stdout, everything else to stderr.\n"
      "Exit status: 0 done, 2 wrong usage, 3 input or output that cannot be used, 4 solved but not usable,\n"
      "130 interrupted.");
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
    fmt::print(stderr, "sinew: {}\n", error.what());
    return exit_code(ErrorKind::unusable);
  }
  return 0;
}
