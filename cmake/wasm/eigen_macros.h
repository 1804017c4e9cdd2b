#pragma once

// Included before everything that may include Eigen. Eigen takes clang for an old gcc and works around a fault of that
// one in x86 assembly, which there is none of here: its vectors are emscripten's SSE.
#include <Eigen/src/Core/util/Macros.h>
#undef EIGEN_COMP_GNUC
#define EIGEN_COMP_GNUC 0
