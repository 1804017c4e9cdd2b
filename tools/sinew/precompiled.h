#pragma once

// What the sources of the program include and what takes longest to parse, read once per build.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "../../src/precompiled.h"
