#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "processes.h"

namespace sinew::tool {
#ifdef __EMSCRIPTEN__

std::unique_ptr<Processes> join_processes(int /*argc*/, char** /*argv*/) {
  return std::make_unique<Processes>();
}

#else
namespace {

/// The number in the first of these variables that there is.
int number_in(std::initializer_list<const char*> variables, int otherwise) {
  for (const char* const variable : variables)
    if (const char* const text = std::getenv(variable)) return std::atoi(text);
  return otherwise;
}

/// Several of this program that mpiexec started to solve one thing would each solve it all: they become sinew-mpi,
/// which is beside it where it was built.
void hand_over(char** argv) {
  std::error_code none;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", none);
  execv((self.parent_path() / "sinew-mpi").c_str(), argv);
  if (number_in({"PMI_RANK", "OMPI_COMM_WORLD_RANK"}, 0) == 0)
    fmt::print(stderr,
               "sinew: mpiexec starts several processes, but there is no sinew-mpi beside {}: build with SINEW_MPI\n",
               self.string());
  std::_Exit(2);
}

}  // namespace

std::unique_ptr<Processes> join_processes(int argc, char** argv) {
  const bool solves = argc > 1 && std::string_view(argv[1]) == "solve";
  if (solves && number_in({"PMI_SIZE", "OMPI_COMM_WORLD_SIZE"}, 1) > 1) hand_over(argv);
  return std::make_unique<Processes>();
}

#endif
}  // namespace sinew::tool
