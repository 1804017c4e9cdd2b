#include "sinew/core/device.h"

#include <charconv>

namespace sinew {

bool set_device(std::string_view text, Device& device) {
  constexpr std::string_view kNumbered = "cuda:";
  if (text == "auto" || text == "cpu" || text == "cuda") {
    device = {text == "auto" ? Device::Kind::automatic : text == "cpu" ? Device::Kind::cpu : Device::Kind::cuda, 0};
    return true;
  }
  if (text.substr(0, kNumbered.size()) != kNumbered) return false;
  const std::string_view digits = text.substr(kNumbered.size());
  int number = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 0) return false;
  device = {Device::Kind::cuda, number};
  return true;
}

}  // namespace sinew
