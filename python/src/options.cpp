#include "options.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "arrays.h"
#include "model.h"
#include "sinew/core/error.h"

namespace sinew::python {
namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();

std::string shown(nb::handle value) {
  return nb::cast<std::string>(nb::repr(value));
}

[[noreturn]] void wrong_type(const char* name, nb::handle value, const std::string& expected) {
  throw nb::type_error(fmt::format("{}: {} was given, {} is expected", name, shown(value), expected).c_str());
}

[[noreturn]] void wrong_value(const char* name, nb::handle value, const std::string& expected) {
  throw Error(ErrorKind::usage, fmt::format("{}: {} was given, {} is expected", name, shown(value), expected));
}

/// An int, or anything that stands for one exactly (numpy's integers); True and False are no numbers.
nb::object as_integer(const char* name, nb::handle value) {
  if (nb::isinstance<nb::bool_>(value)) wrong_type(name, value, "an integer");
  PyObject* const number = PyNumber_Index(value.ptr());
  if (number != nullptr) return nb::steal(number);
  PyErr_Clear();
  wrong_type(name, value, "an integer");
}

/// How many influences: 0 for "all".
std::optional<int> influences_of(OptionReader& options) {
  const nb::object value = options.object("influences");
  if (nb::isinstance<nb::str>(value)) {
    if (nb::cast<std::string>(value) != "all") wrong_value("influences", value, "a number from 1 up, or 'all'");
    return 0;
  }
  return options.integer("influences", 1, 99999);
}

/// Names or numbers of bones; one alone needs no list.
std::vector<std::string> bones_of(const nb::object& value) {
  std::vector<std::string> out;
  if (value.is_none()) return out;
  const auto add = [&](nb::handle bone) {
    if (nb::isinstance<nb::str>(bone))
      out.push_back(nb::cast<std::string>(bone));
    else
      out.push_back(nb::cast<std::string>(nb::str(as_integer("lock", bone))));
  };
  if (nb::isinstance<nb::str>(value) || !nb::isinstance<nb::iterable>(value))
    add(value);
  else
    for (const nb::handle bone : value) add(bone);
  return out;
}

/// lock_vertices: the name of a bone or a colour set, or V numbers of which those that are not 0 count.
void set_locked_vertices(OptionReader& options, SolveRequest& request) {
  const nb::object value = options.object("lock_vertices");
  if (value.is_none()) return;
  if (nb::isinstance<nb::str>(value)) {
    request.ssdr.lock_vertices = nb::cast<std::string>(value);
    return;
  }
  const IntegerArray mask = integer_array(value, "lock_vertices", {"V"});
  for (std::size_t v = 0; v < mask.size(); ++v) request.ssdr.locked_vertices.push_back(mask.data()[v] != 0 ? 1 : 0);
}

/// Refuses options that the method does not know.
void check_taken(const OptionReader& options, const std::string& method) {
  takes(method, "");  // there has to be such a method
  const std::set<std::string> shared{"method", "bones", "quality", "seed", "threads", "corrections"};
  for (const std::string& name : options.names()) {
    if (shared.count(name) != 0 || takes(method, name)) continue;
    throw Error(ErrorKind::usage, fmt::format("{} is not something method='{}' can do", name, method));
  }
}

void set_method_options(OptionReader& options, SolveRequest& request) {
  request.add_bones = options.integer("add_bones", 0, 1024).value_or(0);
  set_locked_vertices(options, request);
  if (options.word("laplacian", {"rigidness", "graph"}) == 1) request.ssdr.laplacian = LaplacianKind::graph;
  request.ssdr.rest_pose = options.flag("rest_pose").value_or(false);
  SmaOptions& sma = request.sma;
  sma.epsilon = options.number("epsilon", 1e-6, 2).value_or(sma.epsilon);
  if (const auto weights = options.text("weights"); weights && !set_sma_weights(*weights, sma))
    wrong_value("weights", options.object("weights"), "'nnls', 'tsvd' or 'bounded:NUMBER'");
  FlatsOptions& flats = request.flats;
  if (options.word("flat_solver", {"gauss-newton", "alternating"}) == 1) flats.solver = FlatSolver::alternating;
  flats.outliers = options.number("outliers", 0, 0.5).value_or(flats.outliers);
  flats.quantile = options.number("quantile", 0.001, 1).value_or(flats.quantile);
  request.starts = options.integer("starts", 1, 1000000).value_or(0);
  flats.optimize_rest = options.flag("optimize_rest").value_or(false);
  SkeletonOptions& skeleton = request.skeleton;
  skeleton.clusters = options.integer("clusters", 1, 1000).value_or(skeleton.clusters);
  if (const auto detail = options.word("detail", {"low", "medium", "high"}))
    skeleton.detail = std::array{Detail::low, Detail::medium, Detail::high}[*detail];
  skeleton.free_joints = options.flag("free_joints").value_or(false);
  skeleton.keep_all_bones = options.flag("keep_all_bones").value_or(false);
  const std::optional<bool> symmetric = options.flag("symmetric");
  skeleton.symmetric = symmetric.value_or(false);
  skeleton.uneven = !symmetric.value_or(true);
  skeleton.drive_helpers = options.flag("drive_helpers").value_or(false);
  skeleton.root = options.text("root").value_or("");
}

}  // namespace

std::optional<int> OptionReader::integer(const char* name, std::int64_t lowest, std::int64_t highest) {
  const nb::object value = object(name);
  if (value.is_none()) return std::nullopt;
  int overflow = 0;
  const nb::object number = as_integer(name, value);
  const long long found = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0 || found < lowest || found > highest)
    wrong_value(name, value, fmt::format("an integer from {} to {}", lowest, highest));
  return static_cast<int>(found);
}

std::optional<std::uint64_t> OptionReader::unsigned_integer(const char* name) {
  const nb::object value = object(name);
  if (value.is_none()) return std::nullopt;
  const nb::object number = as_integer(name, value);
  const unsigned long long found = PyLong_AsUnsignedLongLong(number.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    wrong_value(name, value, "an integer from 0 to 2**64 - 1");
  }
  return found;
}

std::optional<double> OptionReader::number(const char* name, double lowest, double highest, bool lowest_excluded) {
  const nb::object value = object(name);
  if (value.is_none()) return std::nullopt;
  if (nb::isinstance<nb::str>(value) || nb::isinstance<nb::bool_>(value)) wrong_type(name, value, "a number");
  const double found = PyFloat_AsDouble(value.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    wrong_type(name, value, "a number");
  }
  if (std::isfinite(found) && found <= highest && (lowest_excluded ? found > lowest : found >= lowest)) return found;
  if (highest == kAny)
    wrong_value(name, value, fmt::format("a number {} {}", lowest_excluded ? "above" : "of at least", lowest));
  wrong_value(name, value, fmt::format("a number from {} to {}", lowest, highest));
}

std::optional<bool> OptionReader::flag(const char* name) {
  const nb::object value = object(name);
  if (value.is_none()) return std::nullopt;
  if (!nb::isinstance<nb::bool_>(value)) wrong_type(name, value, "True or False");
  return nb::cast<bool>(value);
}

std::optional<std::string> OptionReader::text(const char* name) {
  const nb::object value = object(name);
  if (value.is_none()) return std::nullopt;
  if (!nb::isinstance<nb::str>(value)) wrong_type(name, value, "text");
  return nb::cast<std::string>(value);
}

std::optional<std::size_t> OptionReader::word(const char* name, const std::vector<std::string>& words) {
  const std::optional<std::string> found = text(name);
  if (!found) return std::nullopt;
  const auto place = std::find(words.begin(), words.end(), *found);
  if (place != words.end()) return static_cast<std::size_t>(place - words.begin());
  std::string expected;
  for (std::size_t i = 0; i < words.size(); ++i)
    expected += fmt::format("{}'{}'", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  wrong_value(name, object(name), expected);
}

nb::object OptionReader::object(const char* name) {
  return options_.contains(name) ? nb::object(options_[name]) : nb::none();
}

std::vector<std::string> OptionReader::names() const {
  std::vector<std::string> out;
  for (const auto& [name, value] : options_)
    if (!value.is_none()) out.push_back(nb::cast<std::string>(name));
  return out;
}

Request solve_request(const nb::dict& given) {
  OptionReader options(given);
  Request out;
  SolveRequest& request = out.solve;
  request.style = OptionStyle::keywords;
  request.method = options.text("method").value_or(request.method);
  options.flag("skeleton");
  check_taken(options, request.method);
  request.bones = options.integer("bones", 1, 100000);
  request.max_error = options.number("max_error", 0, kAny, true);
  request.min_bones = options.integer("min_bones", 1, 100000);
  request.max_bones = options.integer("max_bones", 1, 100000);
  request.influences = influences_of(options);
  if (const auto kind = options.word("transforms", {"rigid", "affine"}))
    request.transforms = *kind == 0 ? Transforms::rigid : Transforms::affine;
  request.smoothness = options.number("smoothness", 0, kAny);
  request.time = options.number("time", 0, kAny, true);
  request.work = options.number("work", 0, 1e9, true);
  request.surface = options.number("surface", 0, 1000);
  if (const auto device = options.text("device"); device && !set_device(*device, request.device))
    wrong_value("device", options.object("device"), "'auto', 'cpu', 'cuda' or 'cuda:N'");
  request.iterations = options.integer("iterations", 0, std::numeric_limits<int>::max());
  if (const auto start = options.word("start", {"parts", "flats"}))
    request.start = *start == 0 ? Start::parts : Start::flats;
  if (const auto quality = options.word("quality", {"fast", "balanced", "best"}))
    request.quality = static_cast<Quality>(*quality);
  if ((request.time || request.work) && request.quality != Quality::balanced)  // which is the default
    throw Error(ErrorKind::usage, fmt::format("{} and quality exclude each other", request.time ? "time" : "work"));
  request.seed = options.unsigned_integer("seed").value_or(request.seed);
  request.threads = options.integer("threads", 0, 4096).value_or(0);
  out.corrections = options.integer("corrections", 0, 1000).value_or(0);
  const nb::object rig = options.object("rig");
  if (!rig.is_none()) {
    if (!nb::isinstance<Model>(rig)) wrong_type("rig", rig, "a Rig");
    request.given = &nb::cast<const Model&>(rig).rig;
  }
  options.word("fit", {"weights", "motion", "all", "joints"});
  request.fit = options.text("fit").value_or("");
  request.lock = bones_of(options.object("lock"));
  set_method_options(options, request);
  return out;
}

std::string options_line(const nb::dict& given) {
  const OptionReader options(given);
  std::vector<std::string> names = options.names();
  std::sort(names.begin(), names.end());
  std::string line = fmt::format("sinew {} Python solve", SINEW_VERSION);
  for (const std::string& name : names) {
    if (name == "threads" || name == "rig") continue;
    nb::object value = given[name.c_str()];
    if (nb::hasattr(value, "tolist")) value = value.attr("tolist")();  // numpy's own text leaves out the middle
    line += fmt::format(" {}={}", name, shown(value));
  }
  return line;
}

}  // namespace sinew::python
