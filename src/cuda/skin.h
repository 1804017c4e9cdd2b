#pragma once

#include "cuda/skin_calls.h"

struct CUstream_st;

namespace sinew::cuda {

/// sinew_cuda_skin with a given plan, for tests and benchmarks.
sinew_status skin_planned(const sinew_model& model, const sinew_poses& poses, const SkinPlan& plan,
                          CUstream_st* stream);

/// The plan that sinew_cuda_skin takes on the current device.
SkinPlan current_plan(const sinew_model& model, std::size_t poses);

}  // namespace sinew::cuda
