#pragma once

// What nearly every test includes, read once per build.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../src/precompiled.h"
