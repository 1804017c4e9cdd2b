#include <fmt/format.h>

#include <optional>

#include "commands.h"
#include "sinew/core/error.h"
#include "sinew/io/output_file.h"

namespace sinew::tool {
namespace {

namespace fs = std::filesystem;

/// The built page: beside the installed program, else where the preset wasm builds it.
std::optional<fs::path> built_page() {
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/self/exe", none);
  const fs::path installed = program.parent_path().parent_path() / "share/sinew/app/index.html";
  for (const fs::path& page : {installed, fs::path(SINEW_BUILT_APP)})
    if (fs::is_regular_file(page, none)) return page;
  return std::nullopt;
}

void run(const fs::path& folder) {
  const auto page = built_page();
  if (!page)
    throw Error(ErrorKind::unusable,
                "app: the page for browsers is not built here: 'script/bootstrap --wasm', then 'cmake --preset wasm' "
                "and 'cmake --build --preset wasm' make it");
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure)
    throw Error(ErrorKind::output,
                fmt::format("{}: the folder cannot be made: {}", folder.string(), failure.message()));
  const std::vector<std::byte> bytes = read_file(*page);
  OutputFile file(folder / "index.html");
  file.write(std::span<const std::byte>(bytes));
  file.commit();
  fmt::print("{}\n", (folder / "index.html").string());
}

}  // namespace

void add_app(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("app", "Write a web page that does all this in the browser");
  auto folder = std::make_shared<fs::path>();
  command.add_option("-o,--output", *folder, "The folder to write it into, made where it is missing")->required();
  command.footer(R"(The page is one file: open it from disk or put it on any server. What is dropped on it stays in it.
'script/app' writes and serves it on this machine.

Examples:
  sinew app -o site)");
  command.callback([folder] { run(*folder); });
}

}  // namespace sinew::tool
