#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "model.h"
#include "sinew/core/error.h"
#include "sinew/view/page.h"

namespace sinew::python {
namespace nb = nanobind;
namespace {

const char* name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::input:
      return "input";
    case ErrorKind::output:
      return "output";
    case ErrorKind::unusable:
      return "unusable";
    case ErrorKind::interrupted:
      return "interrupted";
  }
  return "";
}

/// sinew::Error as sinew.Error.
void translate(const std::exception_ptr& thrown, void* /*unused*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    const nb::object type = nb::module_::import_("sinew._types").attr("Error");
    const nb::object instance = type(std::string(error.what()), name_of(error.kind()));
    PyErr_SetObject(type.ptr(), instance.ptr());
  }
}

}  // namespace

nb::object make_report(const nb::dict& facts) {
  return nb::module_::import_("sinew._types").attr("Report")(facts);
}

nb::object parsed_json(const std::string& text) {
  if (text.empty()) return nb::none();
  try {
    return nb::module_::import_("json").attr("loads")(text);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ValueError)) throw;
    return nb::none();
  }
}

void warn(std::string_view sentence) {
  const nb::gil_scoped_acquire lock;
  if (PyErr_WarnEx(PyExc_UserWarning, std::string(sentence).c_str(), 2) != 0) throw nb::python_error();
}

void bind(nb::module_& module) {
  module.attr("version") = SINEW_VERSION;
  nb::register_exception_translator(translate);
  bind_sequence(module);
  bind_rig(module);
  bind_solve(module);
  bind_refine(module);
  bind_rework(module);
  bind_make(module);
  module.def("has_viewer", &has_viewer, "Whether this build can make viewer pages.");
}

}  // namespace sinew::python
