#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

/// What pages are put together from.
namespace sinew {

void append_base64(std::string& out, std::span<const std::byte> bytes);

/// JSON that cannot end the element it stands in: "</script" needs a "<".
std::string json_for_html(const nlohmann::json& value);

/// A script element that holds data.
void append_element(std::string& out, std::string_view id, std::string_view type, std::string_view content);

/// A page with `data` in the place of its mark. Throws Error{usage} where the page was not built in.
std::string filled_page(std::string_view page, std::string_view data);

}  // namespace sinew
