#pragma once

#include "sinew/solve/ssdr.h"
#include "solve/lbs/alternation.h"

/// What solve_ssdr and refit_ssdr share about options.
namespace sinew::ssdr {

using namespace lbs;

/// Throws Error{usage} for the first option out of its range.
void check_options(const SsdrOptions& options);

/// Weight slots per vertex for this many bones.
int slots(const SsdrOptions& options, int bones);

/// The work that the options allow, in the units of lbs::Work; 0: they say nothing.
std::uint64_t work_limit(const SsdrOptions& options);

/// The smoothness term of the options; edge weights are formed only where they are needed.
class SmoothingEdges {
 public:
  SmoothingEdges(const Sequence& sequence, const Problem& problem, const SsdrOptions& options);
  Smoothing smoothing() const { return {strength_, &edges_}; }

 private:
  double strength_;
  EdgeWeights edges_;
};

}  // namespace sinew::ssdr
