#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

/// JSON in and out of text. The templates behind it are large: they are compiled in json_text.cpp alone.
namespace sinew {

/// The value, or a discarded one where the text is no JSON.
nlohmann::json parse_json(std::string_view text);

/// Without white space. Bytes that are no UTF-8, in names from elsewhere, become U+FFFD.
std::string json_text(const nlohmann::json& value);

}  // namespace sinew
