#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "sinew/core/rig.h"
#include "sinew/evaluate/errors.h"

namespace sinew::python {

/// A rig as Python holds it: never changed once it is made, so that views of its arrays stay true.
struct Model {
  Rig rig;
  nanobind::object report;  // Report: how it was made; empty for a rig from a file
};

/// sinew.Report of these facts.
nanobind::object make_report(const nanobind::dict& facts);

/// Errors by the names that `sinew evaluate --json` gives them; those of frames and vertices as arrays.
nanobind::dict facts_of(const Errors& errors);

/// JSON text as Python objects; None where it is empty or none.
nanobind::object parsed_json(const std::string& text);

/// A warning of Python's; needs no lock of the interpreter.
void warn(std::string_view sentence);

void bind_sequence(nanobind::module_& module);
void bind_rig(nanobind::module_& module);
void bind_solve(nanobind::module_& module);
void bind_refine(nanobind::module_& module);

}  // namespace sinew::python
