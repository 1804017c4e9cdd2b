#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <optional>
#include <string>

#include "sinew/core/progress.h"

namespace sinew::python {

/// Python during long work: now and then sees whether the user pressed Ctrl-C, and calls `callback(step, fraction)`
/// unless that is None. What these raise ends the work at once and is raised. A callback that returns False asks it to
/// stop.
class LongWork {
 public:
  explicit LongWork(nanobind::object callback);

  /// Runs `work(progress)` without the interpreter's lock.
  template <class Work>
  auto run(const Work& work) {
    const Progress progress = [this](std::string_view step, double fraction) { return go_on(step, fraction); };
    std::optional<decltype(work(progress))> result;
    try {
      const nanobind::gil_scoped_release released;
      result.emplace(work(progress));
    } catch (...) {
      if (raised_) std::rethrow_exception(raised_);
      throw;
    }
    return std::move(*result);
  }

 private:
  /// Thrown through the work when Python has raised something; needs no lock of the interpreter.
  struct Raised {};

  bool go_on(std::string_view step, double fraction);

  nanobind::object callback_;
  std::string step_;  // of the last call of Python
  double last_ = -1;  // when that was, in seconds
  bool stopped_ = false;
  std::exception_ptr raised_;
};

}  // namespace sinew::python
