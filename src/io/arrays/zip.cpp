#include "io/arrays/zip.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "io/go_on.h"
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
void add_common(Record& record, std::uint32_t crc, std::uint32_t size, const std::string& name, std::size_t extra) {
  constexpr std::uint16_t kVersion = 20;
  constexpr std::uint32_t kFirstDate = 0x0021U << 16;  // 1 January 1980, 0:00: the earliest that zip can state
  record.add(kVersion).add(std::uint16_t{0}).add(std::uint16_t{0}).add(kFirstDate).add(crc).add(size).add(size);
  record.add(static_cast<std::uint16_t>(name.size())).add(static_cast<std::uint16_t>(extra));
}

/// Bytes of an extra field after which the contents start at a multiple of `alignment`: none, or four and more.
std::size_t padding(std::uint64_t offset, const std::string& name, std::size_t alignment) {
  const std::size_t beyond = static_cast<std::size_t>((offset + kLocalSize + name.size()) % alignment);
  std::size_t out = beyond == 0 ? 0 : alignment - beyond;
  while (out > 0 && out < 4) out += alignment;
  return out;
}

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw Error(ErrorKind::input, fmt::format("{}: {}", name, what));
}

/// The end record and what lies before it in the last bytes of an archive; only a comment may follow it.
struct Tail {
  std::size_t end;  // offset of the record in the archive
  std::size_t count;
  std::size_t directory;
};

Tail find_end(const ByteSource& source, const std::string& name) {
  constexpr std::size_t kLongest = kEndSize + 0xffff;
  const std::size_t begin = source.size() - std::min(source.size(), kLongest);
  const std::vector<std::byte> bytes = source.read(begin, kLongest);
  for (std::size_t comment = 0; comment + kEndSize <= bytes.size(); ++comment) {
    const std::size_t at = bytes.size() - kEndSize - comment;
    if (load<std::uint32_t>(bytes, at) == kEndSignature && load<std::uint16_t>(bytes, at + 20) == comment)
      return {begin + at, load<std::uint16_t>(bytes, at + 10), load<std::uint32_t>(bytes, at + 16)};
  }
  refuse(name, "not a zip archive, or cut off before its end");
}

}  // namespace

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

std::map<std::string, ZipEntry> list_zip(const ByteSource& source, const std::string& name) {
  const Tail tail = find_end(source, name);
  if (tail.directory == 0xffffffffU) refuse(name, "a zip archive of 4 GiB or more, which is not supported");
  const auto damaged = [&](std::size_t i) {
    refuse(name, fmt::format("entry {} of {} of the zip directory is damaged", i, tail.count));
  };
  if (tail.directory > tail.end) damaged(0);
  const std::vector<std::byte> bytes = source.read(tail.directory, tail.end - tail.directory);
  std::map<std::string, ZipEntry> members;
  std::size_t at = 0;
  for (std::size_t i = 0; i < tail.count; ++i) {
    if (bytes.size() - at < kEntrySize || load<std::uint32_t>(bytes, at) != kEntrySignature) damaged(i);
    const std::size_t name_size = load<std::uint16_t>(bytes, at + 28);
    const std::size_t rest = name_size + load<std::uint16_t>(bytes, at + 30) + load<std::uint16_t>(bytes, at + 32);
    if (bytes.size() - at - kEntrySize < rest) damaged(i);
    const std::string member(reinterpret_cast<const char*>(bytes.data() + at + kEntrySize), name_size);
    ZipEntry entry{};
    entry.crc = load<std::uint32_t>(bytes, at + 16);
    entry.size = load<std::uint32_t>(bytes, at + 24);
    entry.local = load<std::uint32_t>(bytes, at + 42);
    const bool encrypted = (load<std::uint16_t>(bytes, at + 8) & 1U) != 0;
    const auto method = load<std::uint16_t>(bytes, at + 10);
    entry.stored = method == 0 && !encrypted && load<std::uint32_t>(bytes, at + 20) == entry.size;
    if (!members.try_emplace(member, entry).second) refuse(name, fmt::format("holds '{}' twice", member));
    at += kEntrySize + rest;
  }
  return members;
}

std::size_t find_zip_contents(const ByteSource& source, const ZipEntry& entry, const std::string& name) {
  if (!entry.stored) refuse(name, "compressed or encrypted; expected a plain archive, as np.savez and usdzip write it");
  const std::vector<std::byte> header =
      entry.local < source.size() ? source.read(entry.local, kLocalSize) : std::vector<std::byte>();
  if (header.size() < kLocalSize || load<std::uint32_t>(header, 0) != kLocalSignature)
    refuse(name, "its header lies outside the archive");
  const std::size_t start =
      entry.local + kLocalSize + load<std::uint16_t>(header, 26) + load<std::uint16_t>(header, 28);
  if (start > source.size() || source.size() - start < entry.size) refuse(name, "its contents lie outside the archive");
  return start;
}

void write_zip(const std::filesystem::path& path, const std::vector<ZipMember>& members, std::size_t alignment,
               const Progress& progress) {
  double total = 0;  // bytes, each of which is summed and written
  double done = 0;
  for (const ZipMember& member : members)
    for (const auto part : member.parts) total += 2.0 * static_cast<double>(part.size());
  const auto in_blocks = [&](std::span<const std::byte> bytes, auto&& body) {
    constexpr std::size_t kBlock = std::size_t{1} << 24;
    for (std::size_t begin = 0; begin < bytes.size(); begin += kBlock) {
      go_on(progress, path, done / total);
      const auto block = bytes.subspan(begin, std::min(kBlock, bytes.size() - begin));
      body(block);
      done += static_cast<double>(block.size());
    }
  };
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
    for (const auto part : member.parts) in_blocks(part, [&](auto block) { crc = extend_crc(crc, block); });
    const std::size_t extra = padding(offset, member.name, alignment);
    Record local;
    local.add(kLocalSignature);
    add_common(local, crc, limited(size), member.name, extra);
    local.add_text(member.name);
    if (extra > 0) {
      constexpr std::uint16_t kPaddingTag = 0x1986;
      local.add(kPaddingTag).add(static_cast<std::uint16_t>(extra - 4)).add_text(std::string(extra - 4, '\0'));
    }
    file.write(local.bytes());
    for (const auto part : member.parts) in_blocks(part, [&](auto block) { file.write(block); });

    directory.add(kEntrySignature).add(std::uint16_t{20});
    add_common(directory, crc, limited(size), member.name, 0);
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
