#include <fmt/format.h>

#include <new>

#include "commands.h"
#include "sinew/core/error.h"

int main(int argc, char** argv) {
  CLI::App app("sinew: animated meshes to skinned rigs, and skinned rigs cheap to play");
  app.require_subcommand(1);
  sinew::tool::add_info(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return sinew::exit_code(sinew::ErrorKind::usage);
  } catch (const sinew::Error& error) {
    fmt::print(stderr, "sinew: {}\n", error.what());
    return sinew::exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "sinew: not enough memory\n");
    return sinew::exit_code(sinew::ErrorKind::unusable);
  }
  return 0;
}
