#include "solve/ssdr/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sinew/core/error.h"

namespace sinew::ssdr {

void check_options(const SsdrOptions& options) {
  const auto refuse = [](const std::string& sentence) { throw Error(ErrorKind::usage, sentence); };
  if (options.bones < 1 || options.bones > 1024) {
    refuse(fmt::format("bones: {} asked for, expected 1 to 1024", options.bones));
  }
  if (options.influences < 0 || options.influences > 8) {
    refuse(fmt::format("influences: {} asked for, expected 1 to 8, or 0 for any number", options.influences));
  }
  if (!(options.smoothness >= 0) || !std::isfinite(options.smoothness)) {
    refuse(fmt::format("smoothness: {} given, expected a number from 0 up", options.smoothness));
  }
  if (!(options.surface >= 0) || options.surface > 1e3) {
    refuse(fmt::format("surface: {} given, expected a number from 0 to 1000", options.surface));
  }
  if (!(options.tolerance >= 0)) {
    refuse(fmt::format("tolerance: {} given, expected a number from 0 up", options.tolerance));
  }
  if (options.max_iterations < 0) {
    refuse(fmt::format("iterations: {} given, expected 0 or more", options.max_iterations));
  }
  if (!(options.time >= 0) || !std::isfinite(options.time)) {
    refuse(fmt::format("time: {} seconds given, expected a number above 0", options.time));
  }
  if (!(options.work >= 0) || options.work > 1e9) {
    refuse(fmt::format("work: {} given, expected a number above 0, up to 1e9", options.work));
  }
  if (!(options.max_error >= 0) || !std::isfinite(options.max_error)) {
    refuse(fmt::format("max error: {} given, expected a positive E_RMS", options.max_error));
  }
  if (options.min_bones < 1 || options.max_bones > 1024 || options.min_bones > options.max_bones) {
    refuse(fmt::format("bones between {} and {} asked for, expected 1 <= least <= most <= 1024", options.min_bones,
                       options.max_bones));
  }
}

int slots(const SsdrOptions& options, int bones) {
  return options.influences == 0 ? bones : std::min(options.influences, bones);
}

std::uint64_t work_limit(const SsdrOptions& options) {
  return static_cast<std::uint64_t>(std::llround(options.work * kWorkUnit));
}

SmoothingEdges::SmoothingEdges(const Sequence& sequence, const Problem& problem, const SsdrOptions& options)
    : strength_(options.smoothness) {
  if (!(strength_ > 0)) return;
  edges_ = options.laplacian == LaplacianKind::graph
               ? graph_laplacian(problem.adjacency())
               : rigidness_laplacian(sequence, problem.adjacency(), 1e-3, options.threads);
}

}  // namespace sinew::ssdr
