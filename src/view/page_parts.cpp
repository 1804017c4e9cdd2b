#include "view/page_parts.h"

#include <algorithm>
#include <cstdint>

#include "sinew/core/error.h"

namespace sinew {

void append_base64(std::string& out, std::span<const std::byte> bytes) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  out.reserve(out.size() + (bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k) word = word << 8 | (k < left ? static_cast<std::uint32_t>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) out += k <= left ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
}

/// JSON that cannot end the element it stands in: "</script" needs a "<".
std::string json_for_html(const nlohmann::json& value) {
  std::string out;
  for (const char c : value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

void append_element(std::string& out, std::string_view id, std::string_view type, std::string_view content) {
  out += "<script id=\"";
  out += id;
  out += "\" type=\"";
  out += type;
  out += "\">";
  out += content;
  out += "</script>\n";
}

std::string filled_page(std::string_view page, std::string_view data) {
  constexpr std::string_view kDataMark = "<!--DATA-->";
  const std::size_t mark = page.find(kDataMark);
  if (mark == std::string_view::npos)
    throw Error(ErrorKind::usage, "this build has no viewer: Node or its packages were missing when it was configured");
  std::string out(page.substr(0, mark));
  out += data;
  out += page.substr(mark + kDataMark.size());
  return out;
}

}  // namespace sinew
