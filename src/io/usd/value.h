#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/usd/layer.h"

/// Values of a layer as numbers and texts. Each throws Error{input} with the line where the value is something else.
namespace sinew::usd {

double read_number(const Layer& layer, Value value);

/// All numbers of an array, a tuple or tuples within: `width` of them between the innermost parentheses, where there
/// are any. Numbers that are not finite are refused.
std::vector<float> read_floats(const Layer& layer, Value value, int width);
std::vector<double> read_doubles(const Layer& layer, Value value, int width);
std::vector<std::int64_t> read_integers(const Layer& layer, Value value);

/// The same into memory that is there: as many numbers as `out` has, or refused.
void read_floats(const Layer& layer, Value value, int width, float* out, std::size_t count);

/// A string, token, asset or path without its quotes.
std::string read_text(const Layer& layer, Value value);
/// One or several of them; none for None.
std::vector<std::string> read_texts(const Layer& layer, Value value);

}  // namespace sinew::usd
