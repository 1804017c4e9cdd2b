#include "child_program.h"
#include "sinew/core/error.h"

/// Where no program can start another: in a browser.
namespace sinew::tool {

ChildResult ChildPrograms::run(const std::vector<std::string>& /*words*/, const std::filesystem::path& /*folder*/,
                               const std::string& /*name*/) {
  throw Error(ErrorKind::unusable, "sweeps start the program many times, which cannot be done here");
}

void ChildPrograms::stop() {
  stopped_ = true;
}

}  // namespace sinew::tool
