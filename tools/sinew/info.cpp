#include "commands.h"

namespace sinew::tool {

void add_info(CLI::App& app) {
  app.add_subcommand("info", "What a file holds");
}

}  // namespace sinew::tool
