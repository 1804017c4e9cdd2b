#include "sweep_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>

#include "sinew/core/error.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// The numbers between A and B; steps are counted, so that they do not drift.
std::vector<std::string> range_of(double first, double last, double step) {
  std::vector<std::string> values;
  for (int i = 0; first + i * step <= last + 1e-9 * step; ++i)
    values.push_back(fmt::format("{:.10g}", first + i * step));
  return values;
}

bool has_option(const CLI::App& app, const std::string& command, const std::string& option) {
  return app.get_subcommand(command)->get_option_no_throw("--" + option) != nullptr;
}

/// Commands that take a rig and may follow a solve.
const std::vector<std::string> kFollowing{"correct", "compress", "reduce"};

/// A number of a JSON object that is reached by these keys; null where there is none.
Json number_at(const Json& json, const std::vector<std::string>& keys) {
  const Json* at = &json;
  for (const std::string& key : keys) {
    if (!at->is_object() || !at->contains(key)) return nullptr;
    at = &(*at)[key];
  }
  return at->is_number() ? *at : Json(nullptr);
}

}  // namespace

Swept parse_over(const std::string& text) {
  constexpr double kMostValues = 10000;
  const auto refuse = [&] {
    misused(fmt::format("--over {}: expected OPTION=A:B, OPTION=A:B:STEP or OPTION=A,B,C with numbers, A <= B", text));
  };
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) refuse();
  Swept swept;
  swept.option = text.substr(0, equals);
  if (swept.option.rfind("--", 0) == 0) swept.option.erase(0, 2);
  const std::string rest = text.substr(equals + 1);
  const bool range = rest.find(':') != std::string::npos;
  std::vector<double> numbers;
  for (const std::string& part : split(rest, range ? ':' : ',')) {
    double number = 0;
    const auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (failure != std::errc{} || end != part.data() + part.size() || !std::isfinite(number)) refuse();
    numbers.push_back(number);
    if (!range) swept.values.push_back(fmt::format("{:.10g}", number));
  }
  if (!range) return swept;
  if (numbers.size() == 2) numbers.push_back(1);
  if (numbers.size() != 3 || !(numbers[2] > 0) || !(numbers[0] <= numbers[1]) ||
      (numbers[1] - numbers[0]) / numbers[2] > kMostValues)
    refuse();
  swept.values = range_of(numbers[0], numbers[1], numbers[2]);
  return swept;
}

Chain parse_chain(const std::string& text, const std::string& options) {
  Chain chain;
  for (const std::string& part : split(text, '|')) {
    std::vector<std::string> words = words_of(part);
    if (words.empty()) misused(fmt::format("--method '{}': a command is missing", text));
    if (chain.empty()) {
      words.insert(words.begin(), {"solve", "--method"});
      for (const std::string& word : words_of(options)) words.push_back(word);
    } else if (std::find(kFollowing.begin(), kFollowing.end(), words[0]) == kFollowing.end()) {
      misused(fmt::format("--method '{}': {} cannot follow a solve; correct, compress and reduce can", text, words[0]));
    }
    chain.push_back(std::move(words));
  }
  return chain;
}

std::vector<SweepRow> rows_of(const std::string& method, const Chain& chain, const Swept& swept, const CLI::App& app) {
  Chain full = chain;
  std::size_t place = full.size();
  for (std::size_t i = 0; i < full.size(); ++i)
    if (has_option(app, full[i][0], swept.option)) place = i;
  if (place == full.size()) {
    const auto added = std::find_if(kFollowing.begin(), kFollowing.end(),
                                    [&](const std::string& one) { return has_option(app, one, swept.option); });
    if (added == kFollowing.end())
      misused(fmt::format("--over {}: neither solve nor correct, compress or reduce has an option --{}", swept.option,
                          swept.option));
    full.push_back({*added});
  }
  const std::string flag = "--" + swept.option;
  if (std::find(full[place].begin(), full[place].end(), flag) != full[place].end())
    misused(fmt::format("--method '{}': {} is what the sweep goes over", method, flag));
  std::vector<SweepRow> rows;
  for (const std::string& value : swept.values) {
    SweepRow row{method, value, full, place};
    row.chain[place].insert(row.chain[place].end(), {flag, value});
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string line_of(const Chain& chain, std::size_t count) {
  std::vector<std::string> commands;
  for (std::size_t i = 0; i < count; ++i) commands.push_back(fmt::format("{}", fmt::join(chain[i], " ")));
  return fmt::format("{}", fmt::join(commands, " | "));
}

std::vector<std::string> sequence_words(const SequenceInputs& inputs) {
  std::vector<std::string> words;
  for (const std::filesystem::path& path : inputs.paths) words.push_back(path.string());
  const auto add = [&](const std::string& option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--frames", inputs.frames);
  add("--rest", inputs.read.rest);
  for (const std::string& clip : inputs.clips) add("--clip", clip);
  add("--mesh", inputs.read.mesh);
  if (inputs.read.frames_per_second > 0) add("--fps", fmt::format("{}", inputs.read.frames_per_second));
  return words;
}

std::vector<Measure> measures_of(const Swept& swept) {
  static const std::map<std::string, std::string> kOptions{
      {"bones", "bones asked for"},
      {"influences", "influences per vertex"},
      {"rank", "rank of the corrections"},
      {"corrections", "rank of the corrections"},
      {"epsilon", "rotation tolerance ε, per entry of a rotation matrix"},
      {"quantile", "fraction of the one-ring maps that is kept"},
      {"virtual-bones", "virtual bones asked for"},
      {"iterations", "iterations at most"},
      {"max-error", "E_RMS asked for"}};
  const auto known = kOptions.find(swept.option);
  return {{swept.option, known == kOptions.end() ? "--" + swept.option : known->second},
          {"rig_bones", "bones"},
          {"rig_influences", "influences per vertex, at most"},
          {"e_rms", "E_RMS, 1/1000 of the radius"},
          {"rmse_percent", "RMSE, % of the diagonal"},
          {"distortion_percent", "distortion, %"},
          {"max_percent", "largest error, % of the diagonal"},
          {"normal_degrees", "normals of the surface, RMS °"},
          {"played_degrees", "normals as played, RMS °"},
          {"seconds", "time, CPU seconds"},
          {"bytes", "size of the file, bytes"},
          {"bits", "size of the file, bits per vertex and frame"},
          {"model_bits", "size of the two-layer model, bits per vertex and frame"},
          {"compression_ratio", "numbers of the sequence per number of the rig"},
          {"virtual_bones", "virtual bones"},
          {"blends_per_vertex", "blends per vertex over both layers"},
          {"weights_moved", "RMS change of the weights, × 1000"},
          {"near_rigid_fraction", "near-rigid fraction η of the triangles"}};
}

Json measured_of(const Json& printed, const std::filesystem::path& file) {
  const Rig rig = read_rig_file(file);
  const Json facts = facts_of(rig);
  const auto bytes = static_cast<double>(std::filesystem::file_size(file));
  Json out;
  out["rig_bones"] = rig.bone_count();
  out["rig_influences"] = facts["influences"];
  for (const std::string name :
       {"e_rms", "rmse_percent", "distortion_percent", "max_percent", "normal_degrees", "played_degrees"})
    out[name] = number_at(printed, {"errors", name});
  out["bytes"] = bytes;
  out["bits"] =
      8 * bytes /
      static_cast<double>(std::max<std::size_t>(1, rig.vertex_count() * std::max<std::size_t>(1, rig.frame_count())));
  out["model_bits"] = number_at(printed, {"bits_per_vertex_per_frame"});
  out["compression_ratio"] = number_at(facts, {"compression_ratio"});
  out["virtual_bones"] = number_at(printed, {"two_layer", "virtual_bones"});
  out["blends_per_vertex"] = number_at(printed, {"two_layer", "blends_per_vertex"});
  Json moved = number_at(printed, {"two_layer", "weight_error"});
  if (moved.is_null()) moved = number_at(printed, {"weight_change"});
  out["weights_moved"] = moved.is_null() ? moved : Json(1000 * moved.get<double>());
  out["near_rigid_fraction"] = number_at(facts, {"notes", "near_rigid_fraction"});
  return out;
}

}  // namespace sinew::tool
