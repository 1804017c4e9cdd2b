#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sinew/core/fit_report.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"
#include "sinew/evaluate/errors.h"

/// What the commands print and write down. JSON keys keep their order; a number that is not finite becomes null.
namespace sinew::tool {

using Json = nlohmann::ordered_json;

Json facts_of(const Sequence& sequence);
Json facts_of(const Rig& rig);
Json facts_of(const Errors& errors, bool per_vertex = false);
Json facts_of(const std::optional<ErrorsBetween>& between);
Json facts_of(const FitReport& report);

/// Three significant digits.
std::string short_number(double value);

/// "1.23 MB"
std::string size_text(double bytes);

/// "8 s", "3 min" or "2 h"
std::string duration_text(double seconds);

/// A header and rows, columns aligned on the right except the last, to stdout.
void print_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);

/// Columns of the table that solve and demo print, and a row of it.
std::vector<std::string> result_header();
std::vector<std::string> result_row(const Rig& rig, const Errors& errors, const std::optional<ErrorsBetween>& between,
                                    double seconds, const std::string& file);

/// JSON as text on several lines. Bytes of a name that are not UTF-8 are replaced.
std::string json_text(const Json& json);

/// Writes that text, complete or not at all.
void write_json(const std::filesystem::path& path, const Json& json);

}  // namespace sinew::tool
