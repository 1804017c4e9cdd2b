#include "sweep_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <set>

#include "inputs.h"
#include "interrupt.h"
#include "math/parallel.h"
#include "progress_bar.h"
#include "sinew/core/error.h"
#include "sinew/io/checkpoint_file.h"
#include "sinew/io/output_file.h"

namespace sinew::tool {
namespace {

namespace fs = std::filesystem;

/// What a chain of commands is remembered by: everything its figures depend on beside the sequence.
std::string key_of(const SweepRow& row, std::size_t commands) {
  return fmt::format("sinew {} {}", SINEW_VERSION, line_of(row.chain, commands));
}

std::string row_key(const SweepRow& row) {
  return key_of(row, row.chain.size());
}

std::string start_key(const SweepRow& row) {
  return key_of(row, row.shared);
}

/// What an earlier run left in the folder. Throws Error{input} when that is of something else.
Done read_done(const fs::path& file, const std::string& digest, const std::string& option) {
  Done done;
  if (!fs::exists(file)) return done;
  const std::vector<std::byte> bytes = read_file(file);
  const Json json = Json::parse(reinterpret_cast<const char*>(bytes.data()),
                                reinterpret_cast<const char*>(bytes.data()) + bytes.size(), nullptr, false);
  const bool known = json.is_object() && json.contains("digest") && json.contains("over") && json.contains("rows") &&
                     json.contains("starts") && json["rows"].is_array() && json["starts"].is_array();
  if (!known) throw Error(ErrorKind::input, fmt::format("{}: is not of a sweep; choose another folder", file.string()));
  if (json["digest"] != digest || json["over"] != option)
    throw Error(ErrorKind::input,
                fmt::format("{}: is of another sequence or another option; choose another folder", file.string()));
  const auto keep = [](const Json& list, std::map<std::string, Json>& into) {
    for (const Json& one : list)
      if (one.is_object() && one.contains("key") && one["key"].is_string() && !one.contains("failure"))
        into[one["key"].get<std::string>()] = one;
  };
  keep(json["rows"], done.rows);
  keep(json["starts"], done.starts);
  return done;
}

}  // namespace

Sweep::Sweep(SweepFolder folder, Swept swept, std::vector<SweepRow> rows, const SequenceInputs& inputs,
             const Sequence& sequence)
    : folder_(std::move(folder)),
      swept_(std::move(swept)),
      rows_(std::move(rows)),
      name_(sequence.name),
      digest_(digest_of(sequence)),
      paths_(inputs.paths),
      input_(sequence_words(inputs)),
      work_(folder_.path / fmt::format(".sweep-{}", getpid())) {
  done_ = read_done(folder_.path / "sweep.json", digest_, swept_.option);
  fs::create_directories(work_);
  if (folder_.keep_rigs) fs::create_directories(folder_.path / "rigs");
}

Sweep::~Sweep() {
  std::error_code ignored;
  fs::remove_all(work_, ignored);
}

std::vector<std::string> Sweep::command_line(const SweepRow& row, std::size_t step, const fs::path& rig,
                                             const fs::path& out) const {
  const std::vector<std::string>& asked = row.chain[step];
  std::vector<std::string> words{asked[0]};
  if (step > 0) words.push_back(rig.string());
  if (asked[0] == "solve" || asked[0] == "correct") words.insert(words.end(), input_.begin(), input_.end());
  for (std::size_t i = 1; i < asked.size(); ++i) {
    if (asked[i] == "SEQUENCE")
      for (const fs::path& path : paths_) words.push_back(path.string());
    else
      words.push_back(asked[i]);
  }
  words.insert(words.end(), {"-o", out.string(), "--threads", "1", "--json"});
  return words;
}

/// Runs commands `first` to `last - 1` of a row and returns what was measured, or {"failure": why}.
Json Sweep::chain_result(const SweepRow& row, std::size_t first, std::size_t last, const fs::path& rig,
                         const fs::path& out, const std::string& name) {
  double seconds = 0;
  fs::path before = rig;
  Json printed;
  for (std::size_t step = first; step < last; ++step) {
    const fs::path target = step + 1 == last ? out : work_ / fmt::format("{}-{}.glb", name, step);
    const ChildResult result = programs_.run(command_line(row, step, before, target), work_, name);
    seconds += result.seconds;
    if (result.status == 2) {
      const std::lock_guard guard(lock_);
      if (refused_.empty()) refused_ = fmt::format("{}: {}", line_of(row.chain, step + 1), result.error);
    }
    if (result.status != 0)
      return {{"failure", result.error.empty() ? fmt::format("status {}", result.status) : result.error}};
    printed = Json::parse(result.out, nullptr, false);
    std::error_code ignored;
    if (step > first) fs::remove(before, ignored);
    before = target;
  }
  Json out_json = measured_of(printed, out);
  out_json["seconds"] = seconds;
  return out_json;
}

void Sweep::keep(std::map<std::string, Json>& list, const std::string& key, Json result) {
  {
    const std::lock_guard guard(lock_);
    if (result.contains("failure")) {
      failures_[key] = result["failure"].get<std::string>();
      return;
    }
    Json kept{{"key", key}};
    kept.update(result);
    list[key] = std::move(kept);
  }
  write_json(folder_.path / "sweep.json", document());
}

void Sweep::make_start(const SweepRow& row, std::size_t number) {
  const std::string file = fmt::format("start-{}.glb", number);
  Json result = chain_result(row, 0, row.shared, {}, work_ / file, fmt::format("start-{}", number));
  if (!result.contains("failure")) {
    fs::rename(work_ / file, folder_.path / file);
    result["file"] = file;
  }
  keep(done_.starts, start_key(row), std::move(result));
}

void Sweep::make_row(const SweepRow& row, std::size_t number) {
  Json start;
  if (row.shared > 0) {
    const std::lock_guard guard(lock_);
    const std::string key = start_key(row);
    if (done_.starts.count(key) == 0) {
      failures_[row_key(row)] = failures_[key];
      return;
    }
    start = done_.starts.at(key);
  }
  const fs::path rig = start.is_null() ? fs::path() : folder_.path / start["file"].get<std::string>();
  const std::string name = fmt::format("row-{}", number);
  const fs::path out =
      folder_.keep_rigs ? folder_.path / "rigs" / fmt::format("{}.glb", number) : work_ / (name + ".glb");
  Json result = chain_result(row, row.shared, row.chain.size(), rig, out, name);
  if (!result.contains("failure") && !start.is_null())
    result["seconds"] = result["seconds"].get<double>() + start["seconds"].get<double>();
  if (!folder_.keep_rigs) {
    std::error_code ignored;
    fs::remove(out, ignored);
  }
  keep(done_.rows, row_key(row), std::move(result));
}

void Sweep::run_all(const std::vector<std::function<void()>>& tasks, int jobs, const Progress& progress) {
  std::atomic<std::size_t> next{0};
  const auto stopped = [&] {
    const std::lock_guard guard(lock_);
    return interrupted() || !refused_.empty();
  };
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks.size() && !stopped(); i = next++) {
      tasks[i]();
      ++finished_;
    }
  };
  std::vector<std::future<void>> workers;
  const auto count = std::min(tasks.size(), static_cast<std::size_t>(resolve_threads(jobs)));
  for (std::size_t i = 0; i < count; ++i) workers.push_back(std::async(std::launch::async, work));
  for (std::future<void>& worker : workers) {
    while (worker.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
      progress("rows", static_cast<double>(finished_) / static_cast<double>(std::max<std::size_t>(1, to_do_)));
      if (stopped()) programs_.stop();
    }
    worker.get();
  }
}

void Sweep::run(int jobs, bool progress_lines) {
  std::vector<std::function<void()>> rows;
  std::map<std::string, std::function<void()>> starts;
  std::size_t number = 0;
  for (const SweepRow& row : rows_) {
    ++number;
    if (done_.rows.count(row_key(row)) > 0) continue;
    rows.push_back([this, &row, number] { make_row(row, number); });
    if (row.shared == 0) continue;
    const auto known = done_.starts.find(start_key(row));
    if (known != done_.starts.end() && fs::exists(folder_.path / known->second.value("file", "")) &&
        !known->second.value("file", "").empty())
      continue;
    const std::size_t next = done_.starts.size() + starts.size() + 1;
    starts.try_emplace(start_key(row), [this, &row, next] { make_start(row, next); });
  }
  to_do_ = rows.size() + starts.size();
  std::vector<std::function<void()>> first;
  for (auto& [key, task] : starts) first.push_back(std::move(task));
  ProgressBar bar(0, progress_lines);
  run_all(first, jobs, bar.callback());
  if (!interrupted() && refused_.empty()) run_all(rows, jobs, bar.callback());
}

Json Sweep::rows() const {
  const std::lock_guard guard(lock_);
  Json out = Json::array();
  for (const SweepRow& row : rows_) {
    Json one{{"method", row.method}, {swept_.option, std::stod(row.value)}};
    const std::string key = row_key(row);
    if (const auto done = done_.rows.find(key); done != done_.rows.end())
      one.update(done->second);
    else if (const auto failure = failures_.find(key); failure != failures_.end())
      one["failure"] = failure->second;
    else
      continue;
    out.push_back(std::move(one));
  }
  return out;
}

/// Rows that an earlier, wider sweep has done are kept as they are, behind those asked for now.
Json Sweep::document() const {
  Json out{{"sinew", SINEW_VERSION}, {"sequence", name_}, {"digest", digest_}, {"over", swept_.option}};
  out["rows"] = rows();
  const std::lock_guard guard(lock_);
  std::set<std::string> shown;
  for (const Json& row : out["rows"])
    if (row.contains("key")) shown.insert(row["key"].get<std::string>());
  for (const auto& [key, row] : done_.rows)
    if (shown.count(key) == 0) out["rows"].push_back(row);
  out["starts"] = Json::array();
  for (const auto& [key, start] : done_.starts) out["starts"].push_back(start);
  return out;
}

}  // namespace sinew::tool
