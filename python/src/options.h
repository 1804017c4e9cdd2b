#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

#include "sinew/solve/request.h"

namespace sinew::python {

/// Options by name, each taken once as what it has to be. A value of another type raises a TypeError, one out of range
/// throws Error{usage}; both say the option, what was given and what is expected. None counts as absent.
class OptionReader {
 public:
  explicit OptionReader(nanobind::dict options) : options_(std::move(options)) {}

  std::optional<int> integer(const char* name, std::int64_t lowest, std::int64_t highest);
  std::optional<std::uint64_t> unsigned_integer(const char* name);
  std::optional<double> number(const char* name, double lowest, double highest, bool lowest_excluded = false);
  std::optional<bool> flag(const char* name);
  std::optional<std::string> text(const char* name);
  /// One of `words`, by its place among them.
  std::optional<std::size_t> word(const char* name, const std::vector<std::string>& words);
  nanobind::object object(const char* name);

  /// Names that are there, in order.
  std::vector<std::string> names() const;

 private:
  nanobind::dict options_;
};

/// The options of a solve.
struct Request {
  SolveRequest solve;   // refers to the rig among the options
  int corrections = 0;  // rank of corrections added after it
};

/// Throws Error{usage} also for options that the method does not take.
Request solve_request(const nanobind::dict& options);

/// Everything that the result depends on as a line of text, for checkpoints.
std::string options_line(const nanobind::dict& options);

}  // namespace sinew::python
