#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sinew {

/// Bytes that are read piece by piece: those of a file, which is then never held whole beside what it becomes, or those
/// of a buffer. Throws Error{input} naming the path and the reason.
class ByteSource {
 public:
  explicit ByteSource(const std::filesystem::path& path);
  explicit ByteSource(std::span<const std::byte> bytes) : bytes_(bytes), size_(bytes.size()) {}
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  std::size_t size() const { return size_; }
  bool is_file() const { return descriptor_ >= 0; }
  /// Fills `out` from `offset`; both must lie within size().
  void read(std::size_t offset, std::span<std::byte> out) const;
  /// The bytes from `offset`, as many as there are but no more than `count`.
  std::vector<std::byte> read(std::size_t offset, std::size_t count) const;

 private:
  std::string name_;
  int descriptor_ = -1;  // or a buffer
  std::span<const std::byte> bytes_;
  std::size_t size_ = 0;
};

}  // namespace sinew
