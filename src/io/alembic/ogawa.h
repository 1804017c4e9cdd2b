#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The Ogawa container: groups of references to groups and data blocks, as Alembic archives use it. Every offset, count
/// and size is checked against the file before it is used; nothing is allocated that the file cannot fill.
namespace sinew::ogawa {

/// Bytes at offsets: a file read where it lies (never mapped, so that a file cut short meanwhile is an error and not a
/// signal, and memory holds only what was asked for), or a buffer of the caller's that must outlive this.
class Source {
 public:
  explicit Source(const std::filesystem::path& path);
  Source(std::string name, std::span<const std::byte> bytes);
  ~Source();
  Source(Source&& other) noexcept;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  Source& operator=(Source&&) = delete;

  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }

  /// Fills `head`, then `rest`, from consecutive bytes. The range must lie inside size().
  void read(std::uint64_t offset, std::span<std::byte> head, std::span<std::byte> rest = {}) const;

 private:
  std::string name_;
  std::uint64_t size_ = 0;
  int descriptor_ = -1;
  std::span<const std::byte> bytes_;
};

/// A reference to a block. Offset 0 stands for an empty group or empty data.
struct Entry {
  bool is_data = false;
  std::uint64_t offset = 0;
  bool operator==(const Entry&) const = default;
};

inline constexpr std::uint64_t kDataBit = std::uint64_t{1} << 63;

/// An archive that was closed properly. Throws Error{input} naming the file for everything that does not hold.
class Archive {
 public:
  explicit Archive(Source source);

  const std::string& name() const { return source_.name(); }
  std::uint64_t size() const { return source_.size(); }
  Entry root() const { return root_; }

  /// The references of a group.
  std::vector<Entry> group(Entry entry) const;

  /// The size in bytes of a data block.
  std::uint64_t data_size(Entry entry) const;

  /// The contents of a data block.
  std::vector<std::byte> data(Entry entry) const;

  /// Reads a data block of exactly head.size() + rest.size() bytes into the two buffers, without an intermediate copy.
  void read_data(Entry entry, std::span<std::byte> head, std::span<std::byte> rest) const;

  /// Counts work that the file asks for against what its size can justify. Blocks may be shared, so that a small file
  /// can refer to the same bytes without end; an honest one never comes near the limit.
  void charge(std::uint64_t bytes) const;

  [[noreturn]] void refuse(const std::string& sentence) const;

 private:
  Source source_;
  Entry root_;
  mutable std::uint64_t budget_ = 0;
};

/// Reads fields one after another from a block. Throws Error{input} with `what` when the block ends too soon.
class Cursor {
 public:
  Cursor(const Archive& archive, std::string_view what, std::span<const std::byte> bytes)
      : archive_(&archive), what_(what), bytes_(bytes) {}

  bool at_end() const { return bytes_.empty(); }
  std::size_t left() const { return bytes_.size(); }
  std::uint64_t unsigned_of(std::size_t width);
  double float64();
  std::string text(std::uint64_t length);

 private:
  std::span<const std::byte> take(std::uint64_t count);

  const Archive* archive_;
  std::string_view what_;
  std::span<const std::byte> bytes_;
};

}  // namespace sinew::ogawa
