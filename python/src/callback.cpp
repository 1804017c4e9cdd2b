#include "callback.h"

#include <nanobind/stl/string_view.h>

#include "sinew/core/fit_report.h"

namespace sinew::python {
namespace nb = nanobind;

LongWork::LongWork(nb::object callback) : callback_(std::move(callback)) {
  if (!callback_.is_none() && PyCallable_Check(callback_.ptr()) == 0)
    throw nb::type_error("progress: None, True or a function of (step, fraction) is expected");
}

bool LongWork::go_on(std::string_view step, double fraction) {
  constexpr double kSeconds = 0.05;  // between two looks at Python, whose lock others may hold for a while
  if (stopped_) return false;
  const double now = now_seconds();
  if (step == step_ && fraction < 1 && now - last_ < kSeconds) return true;
  step_ = step;
  last_ = now;
  const nb::gil_scoped_acquire lock;
  try {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!callback_.is_none()) stopped_ = callback_(step, fraction).is(nb::bool_(false));
  } catch (...) {
    raised_ = std::current_exception();
    throw Raised{};  // what the work has so far is of no use to anybody: it need not be brought to an end
  }
  return !stopped_;
}

}  // namespace sinew::python
