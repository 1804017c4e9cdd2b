#pragma once

#include <cstdint>
#include <string>

#include "sinew/io/io.h"

/// Options that are written in a small notation of their own. Each function throws Error{usage} that says what was
/// expected.
namespace sinew::tool {

/// Throws Error{usage} with this sentence.
[[noreturn]] void misused(const std::string& sentence);

/// --frames A:B or A:B:STEP, each of them may be left out: sets the frames to keep.
void parse_frames(const std::string& text, ReadOptions& options);

/// --influences: a number from 1 up, or "all" (0).
int parse_influences(const std::string& text);

/// A size in bytes: a number with K, M, G or T (powers of 1024) behind it, or none.
std::uint64_t parse_size(const std::string& text);

/// Checks of numbers for options, with sentences a person can read: CLI11's own print the range of double in digits.
std::string above_zero(const std::string& text);
std::string not_negative(const std::string& text);

}  // namespace sinew::tool
