#include "io/frame_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "sinew/core/error.h"

namespace sinew {

std::vector<std::size_t> kept_frames(const std::string& name, std::size_t count, const ReadOptions& options) {
  const std::size_t last = std::min(options.last_frame, count);
  if (options.frame_step == 0 || options.first_frame >= last)
    throw Error(ErrorKind::usage, fmt::format("{}: frames {}:{}:{} of {} select nothing", name, options.first_frame,
                                              last, options.frame_step, count));
  std::vector<std::size_t> out;
  for (std::size_t f = options.first_frame; f < last; f += std::min(options.frame_step, last - f)) out.push_back(f);
  return out;
}

std::optional<std::size_t> rest_frame_number(const std::string& rest) {
  std::size_t frame = 0;
  const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), frame);
  std::error_code ignored;
  if (status != std::errc{} || end != rest.data() + rest.size() || std::filesystem::exists(rest, ignored))
    return std::nullopt;
  return frame;
}

}  // namespace sinew
