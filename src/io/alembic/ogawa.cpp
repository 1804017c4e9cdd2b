#include "io/alembic/ogawa.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sinew/core/error.h"

namespace sinew::ogawa {
namespace {

static_assert(std::endian::native == std::endian::little, "fields are copied as they lie in the file");

constexpr std::string_view kMagic = "Ogawa";
constexpr std::uint64_t kHeaderSize = 16;
constexpr std::byte kFrozen{0xff};
constexpr unsigned kVersion = 1;

/// A file may cause reads of this many bytes plus this many times its size; more is refused: see Archive::charge.
constexpr std::uint64_t kFreeWork = std::uint64_t{64} << 20;
constexpr std::uint64_t kWorkPerByte = 32;

[[noreturn]] void fail(const std::string& name, const std::string& sentence) {
  throw Error(ErrorKind::input, fmt::format("{}: {}", name, sentence));
}

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace

Source::Source(const std::filesystem::path& path) : name_(path.string()) {
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat facts {};
  if (descriptor_ < 0 || fstat(descriptor_, &facts) != 0) {
    const std::string why = std::strerror(errno);
    if (descriptor_ >= 0) close(descriptor_);
    fail(name_, "cannot be read: " + why);
  }
  if (!S_ISREG(facts.st_mode)) {
    close(descriptor_);
    fail(name_, "not a file");
  }
  size_ = static_cast<std::uint64_t>(facts.st_size);
}

Source::Source(std::string name, std::span<const std::byte> bytes)
    : name_(std::move(name)), size_(bytes.size()), bytes_(bytes) {}

Source::Source(Source&& other) noexcept
    : name_(std::move(other.name_)),
      size_(other.size_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(other.bytes_) {}

Source::~Source() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Source::read(std::uint64_t offset, std::span<std::byte> head, std::span<std::byte> rest) const {
  if (descriptor_ < 0) {
    const auto from = bytes_.subspan(static_cast<std::size_t>(offset));
    std::copy_n(from.begin(), head.size(), head.begin());
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(head.size()), rest.size(), rest.begin());
    return;
  }
  while (!head.empty() || !rest.empty()) {
#ifdef __EMSCRIPTEN__  // whose preadv reads every part from the same place
    const std::span<std::byte> part = head.empty() ? rest : head;
    const ssize_t got = pread(descriptor_, part.data(), part.size(), static_cast<off_t>(offset));
#else
    const std::array<iovec, 2> parts{{{head.data(), head.size()}, {rest.data(), rest.size()}}};
    const ssize_t got = preadv(descriptor_, parts.data(), 2, static_cast<off_t>(offset));
#endif
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(name_, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) fail(name_, "became shorter while it was read");
    auto count = static_cast<std::size_t>(got);
    offset += count;
    const std::size_t to_head = std::min(count, head.size());
    head = head.subspan(to_head);
    rest = rest.subspan(count - to_head);
  }
}

Archive::Archive(Source source) : source_(std::move(source)) {
  std::array<std::byte, kHeaderSize> header{};
  source_.read(0, std::span(header).first(static_cast<std::size_t>(std::min(kHeaderSize, size()))));
  const auto starts_with = [&](std::string_view magic) {
    return size() >= magic.size() && std::memcmp(header.data(), magic.data(), magic.size()) == 0;
  };
  if (starts_with("\x89HDF")) refuse("HDF5 archive; convert it with abcconvert -toOgawa");
  if (!starts_with(kMagic)) refuse("not an Alembic archive: the file does not start with 'Ogawa'");
  if (size() < kHeaderSize) refuse(fmt::format("cut short: {} bytes, the header alone has {}", size(), kHeaderSize));
  if (header[5] != kFrozen) refuse("not finished: the program that wrote it did not close the archive");
  const unsigned version = std::to_integer<unsigned>(header[6]) << 8 | std::to_integer<unsigned>(header[7]);
  if (version != kVersion) refuse(fmt::format("Ogawa format version {}, only {} is known", version, kVersion));
  budget_ = kFreeWork + std::min(size(), UINT64_MAX / (2 * kWorkPerByte)) * kWorkPerByte;
  root_ = {false, load<std::uint64_t>(header.data() + 8)};
  if (root_.offset == 0 || root_.offset > size() - 8)
    refuse(fmt::format("cut short or damaged: the root group should be at byte {}, the file has {}", root_.offset,
                       size()));
}

std::vector<Entry> Archive::group(Entry entry) const {
  if (entry.is_data) refuse(fmt::format("data block at byte {} where a group is expected", entry.offset));
  if (entry.offset == 0) return {};
  if (entry.offset > size() - 8) refuse(fmt::format("group at byte {} lies beyond the end, {}", entry.offset, size()));
  std::array<std::byte, 8> head;
  source_.read(entry.offset, head);
  const auto count = load<std::uint64_t>(head.data());
  if (count > (size() - entry.offset - 8) / 8)
    refuse(fmt::format("group at byte {} claims {} entries, the file has {} bytes", entry.offset, count, size()));
  charge(8 * (count + 1));
  std::vector<std::uint64_t> words(static_cast<std::size_t>(count));
  source_.read(entry.offset + 8, std::as_writable_bytes(std::span(words)));
  std::vector<Entry> entries(words.size());
  std::transform(words.begin(), words.end(), entries.begin(), [](std::uint64_t word) {
    return Entry{(word & kDataBit) != 0, word & ~kDataBit};
  });
  return entries;
}

std::uint64_t Archive::data_size(Entry entry) const {
  if (!entry.is_data && entry.offset != 0)
    refuse(fmt::format("group at byte {} where a data block is expected", entry.offset));
  if (entry.offset == 0) return 0;
  if (entry.offset > size() - 8)
    refuse(fmt::format("data block at byte {} lies beyond the end, {}", entry.offset, size()));
  charge(8);
  std::array<std::byte, 8> head;
  source_.read(entry.offset, head);
  const auto count = load<std::uint64_t>(head.data());
  if (count > size() - entry.offset - 8)
    refuse(fmt::format("data block at byte {} claims {} bytes, the file has {}", entry.offset, count, size()));
  return count;
}

std::vector<std::byte> Archive::data(Entry entry) const {
  const std::uint64_t count = data_size(entry);
  charge(count);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  if (count > 0) source_.read(entry.offset + 8, bytes);
  return bytes;
}

void Archive::read_data(Entry entry, std::span<std::byte> head, std::span<std::byte> rest) const {
  const std::uint64_t count = data_size(entry);
  if (count != head.size() + rest.size())
    refuse(
        fmt::format("data block at byte {} has {} bytes, expected {}", entry.offset, count, head.size() + rest.size()));
  if (count > 0) source_.read(entry.offset + 8, head, rest);
}

void Archive::charge(std::uint64_t bytes) const {
  if (bytes > budget_) refuse("damaged: its blocks refer to each other far more often than its size explains");
  budget_ -= bytes;
}

void Archive::refuse(const std::string& sentence) const {
  fail(name(), sentence);
}

std::span<const std::byte> Cursor::take(std::uint64_t count) {
  if (count > bytes_.size())
    archive_->refuse(fmt::format("{} end too soon: {} bytes wanted, {} left", what_, count, bytes_.size()));
  const auto part = bytes_.first(static_cast<std::size_t>(count));
  bytes_ = bytes_.subspan(part.size());
  return part;
}

std::uint64_t Cursor::unsigned_of(std::size_t width) {
  std::uint64_t value = 0;
  const auto part = take(width);
  std::memcpy(&value, part.data(), width);
  return value;
}

double Cursor::float64() {
  return load<double>(take(8).data());
}

std::string Cursor::text(std::uint64_t length) {
  const auto part = take(length);
  return {reinterpret_cast<const char*>(part.data()), part.size()};
}

}  // namespace sinew::ogawa
