#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>

namespace sinew {

class Ranks;

/// What to do with numbers that memory has no room for.
struct Paging {
  std::size_t most = std::numeric_limits<std::size_t>::max();  // frames of more bytes than this are kept in a file
  std::size_t memory = std::size_t{1} << 28;  // bytes of such frames, and of what is made of them, at a time
  std::filesystem::path scratch;              // folder for files that nobody else sees; empty: the system's
  Ranks* ranks = nullptr;                     // that share the vertices of such frames; null: none others
};

/// Bytes of a file as memory: they come when they are looked at, and go again when they are released.
class PagedMemory {
 public:
  /// Bytes [offset, offset + size) of a file that only we read. They must lie within it, and it must not be made
  /// shorter for as long as they are in use. Throws Error{input} naming the file.
  static std::shared_ptr<PagedMemory> of_file(const std::filesystem::path& path, std::size_t offset, std::size_t size,
                                              const Paging& paging);
  /// Zeros in a new file without a name, which is gone with this object or with the process. Throws Error{output}
  /// naming the folder, also when the disk has no room for them.
  static std::shared_ptr<PagedMemory> scratch(std::size_t size, const Paging& paging);

  ~PagedMemory();
  PagedMemory(const PagedMemory&) = delete;
  PagedMemory& operator=(const PagedMemory&) = delete;

  std::byte* data() const { return data_; }  // of a file: not to be written to
  std::size_t size() const { return size_; }
  bool writable() const { return writable_; }
  const Paging& paging() const { return paging_; }

  /// Reads or writes without bringing pages into the process. Throws Error{input, output}.
  void read(std::size_t offset, std::span<std::byte> out) const;
  void write(std::size_t offset, std::span<const std::byte> bytes);

  /// Says that so many bytes are going to be looked at. Once that is a quarter of paging().memory, all others go. Safe
  /// to call from several threads; what they still look at comes back by itself.
  void announce(std::size_t bytes) const;
  void release() const;
  void set_memory(std::size_t bytes) { paging_.memory = bytes; }

  /// Whether somebody has found all numbers in it finite since it was last written to.
  bool known_finite() const { return known_finite_; }
  void set_known_finite(bool known) const { known_finite_ = known; }

 private:
  PagedMemory() = default;
  void map(bool writable);

  Paging paging_;
  std::filesystem::path name_;  // of the file or of the scratch folder
  int descriptor_ = -1;
  std::size_t offset_ = 0;  // in the file
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool writable_ = false;
  mutable std::atomic<std::size_t> announced_{0};
  mutable std::atomic<bool> known_finite_{false};
};

}  // namespace sinew
