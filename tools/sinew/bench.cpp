#include "bench.h"

#include "commands.h"

namespace sinew::tool {

void add_bench(CLI::App& app) {
  CLI::App& group = *app.add_subcommand("bench", "Measure speed, as ratios within one run");
  group.require_subcommand(1);
  add_bench_sma(group);
  add_bench_ssdr(group);
}

}  // namespace sinew::tool
