#pragma once

#include <string>

namespace sinew::tool {

/// From now on SIGINT and SIGTERM ask the running command to stop, which is acknowledged at once; a second one ends the
/// program at once. Work that does not answer within a fraction of a CPU second is ended with the program, status 130,
/// unless a HoldOn says that it is worth the wait.
void catch_interrupts();

/// Whether the user has asked to stop.
bool interrupted();

/// Throws Error{interrupted} with this sentence when the user has asked to stop.
void stop_if_interrupted(const std::string& sentence);

/// From now on the command finishes whatever the user asks: its result is written or about to be.
void too_late_to_stop();

/// While this lives, interrupted work is waited for: it writes a file, or has a state or a model to keep.
class HoldOn {
 public:
  explicit HoldOn(bool wanted = true);
  ~HoldOn();
  HoldOn(const HoldOn&) = delete;
  HoldOn& operator=(const HoldOn&) = delete;

 private:
  bool wanted_;
};

}  // namespace sinew::tool
