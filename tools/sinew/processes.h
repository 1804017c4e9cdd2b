#pragma once

#include <memory>

#include "sinew/core/ranks.h"

namespace sinew::tool {

/// The processes that work on one command: this one alone in `sinew`; in `sinew-mpi` all that mpiexec started with it,
/// of which the first talks and writes.
class Processes {
 public:
  virtual ~Processes() = default;
  virtual Ranks& ranks() { return alone(); }
  /// Waits until all have come here with their exit status, and returns that of this one. When one of them failed and
  /// others still work, it says why and ends them.
  virtual int end(int status) { return status; }
};

/// `sinew` becomes `sinew-mpi` where mpiexec started several of it for a solve.
std::unique_ptr<Processes> join_processes(int argc, char** argv);

}  // namespace sinew::tool
