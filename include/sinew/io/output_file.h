#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace sinew {

/// A file that becomes visible only when it is complete: bytes go to a temporary file beside the target, commit()
/// flushes it to disk and renames it. Without commit() the destructor removes it. Throws Error{output} naming the
/// target when the folder is missing, not writable or full.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path target);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  template <class T>
  void write(std::span<const T> values) {
    write(std::as_bytes(values));
  }
  /// Overwrites bytes that were written before, e.g. a header that says where the rest lies.
  void overwrite(std::uint64_t offset, std::span<const std::byte> bytes);
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

/// Whole contents of a file. Throws Error{input} naming the path and the reason.
std::vector<std::byte> read_file(const std::filesystem::path& path);

}  // namespace sinew
