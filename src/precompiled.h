#pragma once

// What nearly every source of the libraries includes and what takes longest to parse: read once per build (see
// sinew_precompile in cmake/SinewTargets.cmake). Sources still include what they use: tests/architecture holds them to
// it.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/eigen_kernels.h"
