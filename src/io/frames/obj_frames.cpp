#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "io/frames/frame_files.h"
#include "sinew/core/error.h"
#include "sinew/io/io.h"
#include "sinew/io/obj.h"
#include "sinew/io/output_file.h"

namespace sinew {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view take_digits(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  return text.substr(0, n);
}

std::string_view without_leading_zeros(std::string_view digits) {
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
}

}  // namespace

Frames read_frame_files(const std::vector<std::filesystem::path>& paths, const Mesh& rest, const ParseFrame& parse,
                        std::size_t least_bytes, const Paging& paging) {
  const std::size_t vertices = rest.vertex_count();
  const auto read = [&](std::size_t f) {
    return parse(read_file(paths[f]), fmt::format("frame {} ({})", f, paths[f].string()), rest);
  };
  // Where the files are too short to hold all vertices one of them is refused, and that before memory is taken for all
  // frames.
  std::uintmax_t bytes = 0;
  for (const auto& path : paths) {
    std::error_code ignored;
    const std::uintmax_t size = std::filesystem::file_size(path, ignored);
    bytes += ignored ? 0 : size;
  }
  if (bytes / least_bytes / vertices < paths.size())
    for (std::size_t f = 0; f < paths.size(); ++f) read(f);
  Frames frames(paths.size(), vertices, paging);
  for (std::size_t f = 0; f < paths.size(); ++f) frames[f] = read(f);
  return frames;
}

Frames read_obj_frames(const std::vector<std::filesystem::path>& paths, const Mesh& rest) {
  return read_frame_files(paths, rest, parse_obj_frame, kLeastObjVertex);
}

bool natural_less(const std::string& a, const std::string& b) {
  std::string_view x = a;
  std::string_view y = b;
  while (!x.empty() && !y.empty()) {
    if (is_digit(x.front()) && is_digit(y.front())) {
      const std::string_view run_x = take_digits(x);
      const std::string_view run_y = take_digits(y);
      const std::string_view number_x = without_leading_zeros(run_x);
      const std::string_view number_y = without_leading_zeros(run_y);
      if (number_x.size() != number_y.size()) return number_x.size() < number_y.size();
      if (number_x != number_y) return number_x < number_y;
      x.remove_prefix(run_x.size());
      y.remove_prefix(run_y.size());
    } else {
      if (x.front() != y.front()) return x.front() < y.front();
      x.remove_prefix(1);
      y.remove_prefix(1);
    }
  }
  if (x.empty() != y.empty()) return x.empty();
  return a < b;  // equal numbers written with different zeros
}

std::vector<std::filesystem::path> list_frame_files(const std::filesystem::path& folder, std::string_view extension) {
  std::vector<std::filesystem::path> paths;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    if (lower_extension(entry.path()) == extension && entry.path().stem() != "rest") paths.push_back(entry.path());
  }
  if (failure) throw Error(ErrorKind::input, fmt::format("{}: cannot be read: {}", folder.string(), failure.message()));
  std::sort(paths.begin(), paths.end(),
            [](const auto& a, const auto& b) { return natural_less(a.filename().string(), b.filename().string()); });
  return paths;
}

std::vector<std::filesystem::path> list_obj_frames(const std::filesystem::path& folder) {
  return list_frame_files(folder, ".obj");
}

}  // namespace sinew
