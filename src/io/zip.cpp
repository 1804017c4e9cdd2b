#include "io/zip.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "sinew/core/error.h"
#include "sinew/io/output_file.h"

namespace sinew {
namespace {

// Sizes of the fixed parts of the three records, and their signatures.
constexpr std::size_t kLocalSize = 30;
constexpr std::size_t kEntrySize = 46;
constexpr std::size_t kEndSize = 22;
constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kEntrySignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;

/// Tables for eight bytes at a time: entry [k][b] is the CRC of byte b followed by k zero bytes.
constexpr auto kCrcTables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
    tables[0][b] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t b = 0; b < 256; ++b) tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xffU];
  return tables;
}();

std::uint32_t extend_crc(std::uint32_t crc, std::span<const std::byte> bytes) {
  crc = ~crc;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::memcpy(&low, at, 4);
    std::memcpy(&high, at + 4, 4);
    low ^= crc;
    crc = kCrcTables[7][low & 0xffU] ^ kCrcTables[6][low >> 8 & 0xffU] ^ kCrcTables[5][low >> 16 & 0xffU] ^
          kCrcTables[4][low >> 24] ^ kCrcTables[3][high & 0xffU] ^ kCrcTables[2][high >> 8 & 0xffU] ^
          kCrcTables[1][high >> 16 & 0xffU] ^ kCrcTables[0][high >> 24];
  }
  for (; left > 0; --left, ++at) crc = (crc >> 8) ^ kCrcTables[0][(crc ^ std::to_integer<std::uint32_t>(*at)) & 0xffU];
  return ~crc;
}

template <class T>
T load(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

/// Bytes of little-endian fields, one after another.
class Record {
 public:
  template <class T>
  Record& add(T value) {
    const auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Record& add_text(const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// The fields that a local header and a directory entry share: version, flags, method, date, checksum, sizes, lengths.
void add_common(Record& record, std::uint32_t crc, std::uint32_t size, const std::string& name) {
  constexpr std::uint16_t kVersion = 20;
  constexpr std::uint32_t kFirstDate = 0x0021U << 16;  // 1 January 1980, 0:00: the earliest that zip can state
  record.add(kVersion).add(std::uint16_t{0}).add(std::uint16_t{0}).add(kFirstDate).add(crc).add(size).add(size);
  record.add(static_cast<std::uint16_t>(name.size())).add(std::uint16_t{0});
}

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw Error(ErrorKind::input, fmt::format("{}: {}", name, what));
}

/// Offset of the end record, which only a comment may follow.
std::size_t find_end(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() >= kEndSize) {
    const std::size_t longest_comment = std::min<std::size_t>(bytes.size() - kEndSize, 0xffff);
    for (std::size_t comment = 0; comment <= longest_comment; ++comment) {
      const std::size_t at = bytes.size() - kEndSize - comment;
      if (load<std::uint32_t>(bytes, at) == kEndSignature && load<std::uint16_t>(bytes, at + 20) == comment) return at;
    }
  }
  refuse(name, "not a zip archive, or cut off before its end");
}

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes) {
  return extend_crc(0, bytes);
}

std::map<std::string, std::size_t> list_zip(std::span<const std::byte> bytes, const std::string& name) {
  const std::size_t end = find_end(bytes, name);
  const std::size_t count = load<std::uint16_t>(bytes, end + 10);
  std::size_t at = load<std::uint32_t>(bytes, end + 16);
  if (at == 0xffffffffU) refuse(name, "a zip archive of 4 GiB or more, which is not supported");
  std::map<std::string, std::size_t> members;
  for (std::size_t i = 0; i < count; ++i) {
    if (at > end || end - at < kEntrySize || load<std::uint32_t>(bytes, at) != kEntrySignature)
      refuse(name, fmt::format("entry {} of {} of the zip directory is damaged", i, count));
    const std::size_t name_size = load<std::uint16_t>(bytes, at + 28);
    const std::size_t rest = name_size + load<std::uint16_t>(bytes, at + 30) + load<std::uint16_t>(bytes, at + 32);
    if (end - at - kEntrySize < rest)
      refuse(name, fmt::format("entry {} of {} of the zip directory is damaged", i, count));
    const std::string member(reinterpret_cast<const char*>(bytes.data() + at + kEntrySize), name_size);
    if (!members.try_emplace(member, at).second) refuse(name, fmt::format("holds '{}' twice", member));
    at += kEntrySize + rest;
  }
  return members;
}

std::span<const std::byte> read_zip_member(std::span<const std::byte> bytes, std::size_t entry,
                                           const std::string& name) {
  const auto flags = load<std::uint16_t>(bytes, entry + 8);
  const auto method = load<std::uint16_t>(bytes, entry + 10);
  const auto crc = load<std::uint32_t>(bytes, entry + 16);
  const std::size_t packed = load<std::uint32_t>(bytes, entry + 20);
  const std::size_t size = load<std::uint32_t>(bytes, entry + 24);
  const std::size_t local = load<std::uint32_t>(bytes, entry + 42);
  if (method != 0 || (flags & 1U) != 0 || packed != size)
    refuse(name, "compressed or encrypted; expected a plain archive as np.savez writes it");
  if (local > bytes.size() || bytes.size() - local < kLocalSize || load<std::uint32_t>(bytes, local) != kLocalSignature)
    refuse(name, "its header lies outside the archive");
  const std::size_t start =
      local + kLocalSize + load<std::uint16_t>(bytes, local + 26) + load<std::uint16_t>(bytes, local + 28);
  if (start > bytes.size() || bytes.size() - start < size) refuse(name, "its contents lie outside the archive");
  const std::span<const std::byte> contents = bytes.subspan(start, size);
  if (crc32(contents) != crc) refuse(name, "its contents do not have the checksum that the archive states");
  return contents;
}

void write_zip(const std::filesystem::path& path, const std::vector<ZipMember>& members) {
  OutputFile file(path);
  Record directory;
  std::uint64_t offset = 0;
  const auto limited = [&](std::uint64_t value) {
    if (value >= std::numeric_limits<std::uint32_t>::max())
      throw Error(ErrorKind::output, fmt::format("{}: would exceed the 4 GiB of a plain zip archive", path.string()));
    return static_cast<std::uint32_t>(value);
  };
  for (const ZipMember& member : members) {
    std::uint64_t size = 0;
    std::uint32_t crc = 0;
    for (const auto part : member.parts) size += part.size();
    limited(offset + size);
    for (const auto part : member.parts) crc = extend_crc(crc, part);
    Record local;
    local.add(kLocalSignature);
    add_common(local, crc, limited(size), member.name);
    local.add_text(member.name);
    file.write(local.bytes());
    for (const auto part : member.parts) file.write(part);

    directory.add(kEntrySignature).add(std::uint16_t{20});
    add_common(directory, crc, limited(size), member.name);
    // Comment length, disk, internal attributes (16 bits each), external attributes, offset of the local header.
    directory.add(std::uint16_t{0}).add(std::uint16_t{0}).add(std::uint16_t{0}).add(std::uint32_t{0});
    directory.add(limited(offset)).add_text(member.name);
    offset += local.bytes().size() + size;
  }
  const auto count = static_cast<std::uint16_t>(members.size());
  Record end;
  end.add(kEndSignature).add(std::uint16_t{0}).add(std::uint16_t{0}).add(count).add(count);
  end.add(limited(directory.bytes().size())).add(limited(offset)).add(std::uint16_t{0});
  file.write(directory.bytes());
  file.write(end.bytes());
  file.commit();
}

}  // namespace sinew
