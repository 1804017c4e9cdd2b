#include <string>

#include "fuzz.h"
#include "sinew/core/error.h"
#include "text_options.h"

using namespace sinew;

/// Options in their own notation: what is accepted is in range, what is not is wrong usage.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto accepts = [](const auto& parse) {
    try {
      parse();
    } catch (const Error& error) {
      fuzz::require(error.kind() == ErrorKind::usage, "options are refused as wrong usage");
    }
  };
  accepts([&] {
    ReadOptions options;
    tool::parse_frames(text, options);
    fuzz::require(options.frame_step > 0, "a step of frames is positive");
    fuzz::require(text.find(':') != std::string::npos, "a range of frames has a colon");
  });
  accepts([&] {
    const int influences = tool::parse_influences(text);
    fuzz::require(influences > 0 ? text == std::to_string(influences) || text[0] == '0' : text == "all",
                  "influences are the number that is written");
  });
  accepts([&] { fuzz::require(tool::parse_size("--memory-limit", text) < (std::uint64_t{1} << 63), "a size fits"); });
  return 0;
}
