#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinew/core/fit_report.h"
#include "sinew/core/rig.h"
#include "sinew/core/sliders.h"
#include "sinew/evaluate/errors.h"
#include "sinew/rework/bounds.h"

namespace sinew::python {

/// A rig as Python holds it: never changed once it is made, so that views of its arrays stay true.
struct Model {
  Rig rig;
  nanobind::object report;                // Report: how it was made; empty for a rig from a file
  std::optional<SliderMap> sliders = {};  // by which its bones follow sliders, where they do
};

/// sinew.Report of these facts.
nanobind::object make_report(const nanobind::dict& facts);

/// Errors by the names that `sinew evaluate --json` gives them; those of frames and vertices as arrays.
nanobind::dict facts_of(const Errors& errors);

/// What a solver says of itself, by the names of `sinew solve --report`.
nanobind::dict facts_of(const FitReport& report);

/// The boxes of a rig's clips at its keys and half-way between them, where players interpolate.
std::vector<ClipBounds> played_bounds(const Rig& rig, int threads);

/// Clips as dicts of name, first_frame and frames.
nanobind::list facts_of(const std::vector<Clip>& clips);

/// JSON text as Python objects; None where it is empty or none.
nanobind::object parsed_json(const std::string& text);

/// A warning of Python's; needs no lock of the interpreter.
void warn(std::string_view sentence);

void bind_sequence(nanobind::module_& module);
void bind_rig(nanobind::module_& module);
void bind_solve(nanobind::module_& module);
void bind_refine(nanobind::module_& module);
void bind_rework(nanobind::module_& module);
void bind_sliders(nanobind::module_& module, nanobind::class_<Model>& rig);
void bind_make(nanobind::module_& module);

}  // namespace sinew::python
