#include "io/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sinew/core/error.h"

namespace sinew {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw Error(ErrorKind::input, fmt::format("{}: {}", name, what));
}

std::string unreadable() {
  return fmt::format("cannot be read: {}", std::strerror(errno));
}

/// A descriptor that closes itself unless it is handed on.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) close(value);
  }
};

}  // namespace

ByteSource::ByteSource(const std::filesystem::path& path) : name_(path.string()) {
  Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat facts {};
  if (file.value < 0 || fstat(file.value, &facts) != 0) refuse(name_, unreadable());
  if (!S_ISREG(facts.st_mode)) refuse(name_, "not a file");
  size_ = static_cast<std::size_t>(facts.st_size);
  std::swap(descriptor_, file.value);
}

ByteSource::~ByteSource() {
  if (descriptor_ >= 0) close(descriptor_);
}

void ByteSource::read(std::size_t offset, std::span<std::byte> out) const {
  if (descriptor_ < 0) {
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return;
  }
  while (!out.empty()) {
    const ssize_t got = pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(name_, unreadable());
    if (got == 0) refuse(name_, "became shorter while it was read");
    offset += static_cast<std::size_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::vector<std::byte> ByteSource::read(std::size_t offset, std::size_t count) const {
  std::vector<std::byte> bytes(std::min(count, size_ - std::min(offset, size_)));
  read(offset, std::span(bytes));
  return bytes;
}

}  // namespace sinew
