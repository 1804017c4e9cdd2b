#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "child_program.h"
#include "report.h"
#include "sinew/core/progress.h"
#include "sinew/core/sequence.h"
#include "sweep_rows.h"

namespace sinew::tool {

struct SweepFolder {
  std::filesystem::path path;
  bool keep_rigs = false;  // in the folder rigs
};

/// sweep.json: what is done, by its key. A shared start has only its file and its seconds.
struct Done {
  std::map<std::string, Json> rows;
  std::map<std::string, Json> starts;
};

/// The work of a sweep: what is to be done, what is done, and the folder that says so.
class Sweep {
 public:
  /// Throws Error{input} when the folder holds a sweep of something else.
  Sweep(SweepFolder folder, Swept swept, std::vector<SweepRow> rows, const SequenceInputs& inputs,
        const Sequence& sequence);
  ~Sweep();
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  /// Everything that is not done yet, starts first, several at a time. Returns early when the user interrupts or a
  /// command refuses its options.
  void run(int jobs, bool progress_lines);

  /// Rows in the order asked for: the method, the value, and what was measured or why nothing was.
  Json rows() const;
  /// What sweep.json holds.
  Json document() const;
  const Swept& swept() const { return swept_; }
  const std::string& name() const { return name_; }
  /// What a command said about its options; empty when none was refused.
  const std::string& refused() const { return refused_; }

 private:
  std::vector<std::string> command_line(const SweepRow& row, std::size_t step, const std::filesystem::path& rig,
                                        const std::filesystem::path& out) const;
  Json chain_result(const SweepRow& row, std::size_t first, std::size_t last, const std::filesystem::path& rig,
                    const std::filesystem::path& out, const std::string& name);
  void make_start(const SweepRow& row, std::size_t number);
  void make_row(const SweepRow& row, std::size_t number);
  void keep(std::map<std::string, Json>& list, const std::string& key, Json result);
  void run_all(const std::vector<std::function<void()>>& tasks, int jobs, const Progress& progress);

  const SweepFolder folder_;
  const Swept swept_;
  const std::vector<SweepRow> rows_;
  const std::string name_;
  const std::string digest_;
  const std::vector<std::filesystem::path> paths_;  // of the sequence
  const std::vector<std::string> input_;            // and the words that choose from it
  const std::filesystem::path work_;
  ChildPrograms programs_;
  mutable std::mutex lock_;
  Done done_;
  std::map<std::string, std::string> failures_;  // by key: why there is no result
  std::string refused_;                          // what a command said about its options
  std::atomic<std::size_t> finished_{0};
  std::size_t to_do_ = 0;
};

}  // namespace sinew::tool
