#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "commands.h"
#include "inputs.h"
#include "interrupt.h"
#include "plot.h"
#include "report.h"
#include "sinew/core/error.h"
#include "sinew/io/output_file.h"
#include "sweep_run.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

namespace fs = std::filesystem;

struct SweepRequest {
  std::shared_ptr<SequenceInputs> inputs;
  std::string over;
  std::vector<std::string> methods;
  std::string options;
  fs::path folder;
  std::string x;
  std::vector<std::string> y{"e_rms"};
  fs::path points;
  int jobs = 0;
  bool keep_rigs = false;
  bool json = false;
  bool progress_lines = false;
};

/// As a field of a CSV: quoted where it has to be.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string csv_of(const Json& rows, const std::vector<Measure>& measures) {
  std::string out = "method";
  for (const Measure& measure : measures) out += "," + measure.name;
  out += "\n";
  for (const Json& row : rows) {
    if (row.contains("failure")) continue;
    out += field(row["method"].get<std::string>());
    for (const Measure& measure : measures)
      out += row.contains(measure.name) && row[measure.name].is_number()
                 ? fmt::format(",{:.9g}", row[measure.name].get<double>())
                 : ",";
    out += "\n";
  }
  return out;
}

/// Marks from a file with the columns curve, x and y: figures of somebody else, to be drawn beside ours.
std::vector<Curve> read_points(const fs::path& path) {
  std::vector<Curve> curves;
  if (path.empty()) return curves;
  std::ifstream file(path);
  const auto refuse = [&](std::size_t line) {
    throw Error(ErrorKind::input, fmt::format("{}: line {}: expected curve,x,y with two numbers", path.string(), line));
  };
  if (!file) throw Error(ErrorKind::input, fmt::format("{}: cannot be read", path.string()));
  std::string text;
  for (std::size_t line = 1; std::getline(file, text); ++line) {
    if (line == 1) {
      if (text != "curve,x,y") refuse(line);
      continue;
    }
    const std::size_t second = text.rfind(',');
    const std::size_t first = second == std::string::npos || second == 0 ? second : text.rfind(',', second - 1);
    double x = 0;
    double y = 0;
    if (first == std::string::npos || first == second || std::sscanf(text.c_str() + first, ",%lf,%lf", &x, &y) != 2 ||
        !std::isfinite(x) || !std::isfinite(y))
      refuse(line);
    const std::string name = text.substr(0, first);
    if (curves.empty() || curves.back().name != name) curves.push_back({name, {}, true});
    curves.back().points.emplace_back(x, y);
  }
  return curves;
}

const Measure& measure_called(const std::vector<Measure>& measures, const std::string& name,
                              const std::string& option) {
  for (const Measure& measure : measures)
    if (measure.name == name) return measure;
  std::vector<std::string> names;
  for (const Measure& measure : measures) names.push_back(measure.name);
  misused(fmt::format("{} {}: expected one of {}", option, name, fmt::join(names, ", ")));
}

/// The curves of the methods, their points in the order of the swept values.
Plot plot_of(const Json& rows, const std::string& sequence, const Measure& x, const Measure& y,
             const std::vector<std::string>& methods) {
  Plot plot{sequence + ": " + y.label.substr(0, y.label.find(',')), x.label, y.label, {}};
  for (const std::string& method : methods) {
    Curve curve{method, {}};
    for (const Json& row : rows)
      if (row["method"] == method && row.contains(x.name) && row.contains(y.name) && row[x.name].is_number() &&
          row[y.name].is_number())
        curve.points.emplace_back(row[x.name].get<double>(), row[y.name].get<double>());
    plot.curves.push_back(std::move(curve));
  }
  return plot;
}

void write_text(const fs::path& path, const std::string& text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

void write_all(const Sweep& sweep, const SweepRequest& request, const std::vector<Curve>& points) {
  const std::vector<Measure> measures = measures_of(sweep.swept());
  const Json rows = sweep.rows();
  write_json(request.folder / "sweep.json", sweep.document());
  write_text(request.folder / "sweep.csv", csv_of(rows, measures));
  const Measure& x = measure_called(measures, request.x.empty() ? sweep.swept().option : request.x, "--x");
  for (const std::string& name : request.y) {
    Plot plot = plot_of(rows, sweep.name(), x, measure_called(measures, name, "--y"), request.methods);
    if (name == request.y.front()) plot.curves.insert(plot.curves.end(), points.begin(), points.end());
    write_text(request.folder / (name + ".svg"), svg_of(plot));
  }
}

void print_rows(const Json& rows, const Swept& swept, const SweepRequest& request) {
  std::vector<std::string> columns{swept.option, "rig_bones", "e_rms", "rmse_percent", "max_percent", "seconds"};
  for (const std::string& name : request.y)
    if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
  std::vector<std::string> header = columns;
  header.emplace_back("method");
  std::vector<std::vector<std::string>> table;
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& column : columns)
      cells.push_back(row.contains(column) && row[column].is_number() ? short_number(row[column].get<double>()) : "-");
    cells.push_back(row["method"].get<std::string>() +
                    (row.contains("failure") ? ": " + row["failure"].get<std::string>() : ""));
    table.push_back(std::move(cells));
  }
  print_table(header, table);
}

void make_folder(const fs::path& folder) {
  if (folder.empty()) misused("--output is required");
  std::error_code failure;
  fs::create_directory(folder, failure);
  if (failure || !fs::is_directory(folder) || access(folder.c_str(), W_OK | X_OK) != 0)
    throw Error(ErrorKind::output, fmt::format("{}: is not a folder that can be written to", folder.string()));
}

void run(SweepRequest request, const CLI::App& app) {
  const Swept swept = parse_over(request.over);
  if (request.methods.empty()) request.methods.emplace_back("ssdr");
  std::vector<SweepRow> rows;
  for (const std::string& method : request.methods)
    for (SweepRow& row : rows_of(method, parse_chain(method, request.options), swept, app))
      rows.push_back(std::move(row));
  const std::vector<Measure> measures = measures_of(swept);
  if (!request.x.empty()) measure_called(measures, request.x, "--x");
  for (const std::string& name : request.y) measure_called(measures, name, "--y");
  const std::vector<Curve> points = read_points(request.points);
  const Sequence sequence = read_inputs(*request.inputs);
  make_folder(request.folder);
  Sweep sweep({request.folder, request.keep_rigs}, swept, std::move(rows), *request.inputs, sequence);
  {
    const HoldOn hold;  // rows that are done are kept
    sweep.run(request.jobs, request.progress_lines);
    if (!sweep.refused().empty()) misused(sweep.refused());
    write_all(sweep, request, points);
  }
  stop_if_interrupted(fmt::format("interrupted: {} keeps the rows that are done; the same command goes on from them",
                                  (request.folder / "sweep.json").string()));
  const Json all = sweep.rows();
  if (request.json)
    fmt::print("{}\n", json_text(all));
  else
    print_rows(all, swept, request);
  const auto failed = std::count_if(all.begin(), all.end(), [](const Json& row) { return row.contains("failure"); });
  if (failed > 0)
    throw Error(ErrorKind::unusable, fmt::format("{} of {} rows have no rig; the table says why", failed, all.size()));
}

}  // namespace

void add_sweep(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("sweep", "Solve again and again over values of one option: table and plots");
  auto request = std::make_shared<SweepRequest>();
  request->inputs = add_sequence_inputs(command);
  command
      .add_option("--over", request->over,
                  "OPTION=A:B[:STEP] or OPTION=A,B,C: an option of solve, correct, compress or reduce and its values")
      ->required();
  command
      .add_option("--method", request->methods,
                  "A curve: a method and its options, in quotes, and commands after '|'; may be repeated (ssdr)")
      ->allow_extra_args(false);
  command.add_option("--options", request->options, "Options of solve for all curves, in quotes");
  command.add_option("-o,--output", request->folder, "The folder for table and plots")->required();
  command.add_option("--x", request->x, "Column that plots run over (the option itself)");
  command.add_option("--y", request->y, "Column to plot, one SVG each; may be repeated (e_rms)")
      ->allow_extra_args(false);
  command.add_option("--points", request->points, "Marks for the first plot: a CSV file with the columns curve,x,y");
  command.add_option("--jobs", request->jobs, "Rows at the same time, one thread each (all cores)")
      ->check(in_range(0, 4096));
  command.add_flag("--keep-rigs", request->keep_rigs, "Keep the rig of each row, in the folder rigs");
  command.add_flag("--json", request->json, "Print the rows as JSON");
  command.add_flag("--progress", request->progress_lines, "Say how far it is in lines on stderr, for programs");
  command.footer(sequence_help() + R"(
The folder gets sweep.csv, sweep.json and one SVG for each --y. Rows that are there already are not done again: after an
interruption, or with more values, the same command goes on. The word SEQUENCE stands for the sequence in a command
after '|'. Options that solve does not have are of the last command that has them, or of a correct or compress that is
added. Columns: docs/sweep.md.

Examples:
  sinew sweep horse-gallop --over bones=10:40:5 --method ssdr --method 'ssdr --transforms affine' -o bones
  sinew sweep horse-gallop --over rank=0:20:5 --method 'sma --epsilon 0.05' --y distortion_percent -o rank
  sinew sweep horse-gallop --over virtual-bones=40:200:40 --options '--influences all --transforms affine' \
    --method 'ssdr | compress' --method 'ssdr | compress --examples SEQUENCE' -o two-layer)");
  command.callback([request, &app] { run(*request, app); });
}

}  // namespace sinew::tool
