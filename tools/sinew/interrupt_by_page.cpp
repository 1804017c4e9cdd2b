#include <emscripten.h>

#include "interrupt.h"
#include "sinew/core/error.h"

/// Where there are no signals: the script that runs the module says whether it shall stop (view/wasm).
namespace sinew::tool {
namespace {

// clang-format off
EM_JS(int, stop_asked, (), { return Module["stopAsked"] && Module["stopAsked"]() ? 1 : 0; })
// clang-format on

int held = 0;
bool too_late = false;

}  // namespace

void catch_interrupts() {}

bool interrupted() {
  return !too_late && stop_asked() != 0;
}

void stop_if_interrupted(const std::string& sentence) {
  if (interrupted()) throw Error(ErrorKind::interrupted, sentence);
}

void too_late_to_stop() {
  too_late = true;
}

HoldOn::HoldOn(bool wanted) : wanted_(wanted) {
  if (wanted_) ++held;
}

HoldOn::~HoldOn() {
  if (wanted_) --held;
}

}  // namespace sinew::tool
