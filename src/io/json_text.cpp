#include "io/json_text.h"

namespace sinew {

nlohmann::json parse_json(std::string_view text) {
  return nlohmann::json::parse(text.data(), text.data() + text.size(), nullptr, false);
}

std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace sinew
