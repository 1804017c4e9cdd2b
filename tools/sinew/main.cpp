#include <fmt/format.h>

#include <new>

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

}  // namespace

int main(int argc, char** argv) {
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
