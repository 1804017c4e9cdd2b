#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sinew/io/io.h"

/// Options that are written in a small notation of their own. Each function throws Error{usage} that says what was
/// expected.
namespace sinew::tool {

/// ".glb, .npz or a folder": what a file that is used so may end in, for help texts.
std::string one_of(const std::vector<std::string>& names);

/// Throws Error{usage} with this sentence.
[[noreturn]] void misused(const std::string& sentence);

/// --frames A:B or A:B:STEP, each of them may be left out: sets the frames to keep.
void parse_frames(const std::string& text, ReadOptions& options);

/// --influences: a number from 1 up, or "all" (0).
int parse_influences(const std::string& text);

/// A size in bytes, as the option is given it: a number with K, M, G or T (powers of 1024) behind it, or none.
std::uint64_t parse_size(const std::string& option, const std::string& text);

/// Checks of what options are given, with sentences a person can read: empty when all is well. CLI11's own print the
/// range of double in digits, and the numbers behind the words of an enum.
std::string above_zero(const std::string& text);
std::string not_negative(const std::string& text);
using Check = std::function<std::string(const std::string&)>;
/// A whole number from `least` to `most`.
Check in_range(int least, int most);
/// A number from `least` to `most`.
Check in_range(double least, double most);
/// One of these words; shells complete them.
CLI::Validator word_of(std::vector<std::string> words);
/// Empty when the text is one of these words.
std::string not_among(const std::vector<std::string>& words, const std::string& text);

}  // namespace sinew::tool
