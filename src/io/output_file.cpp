#include "sinew/io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "sinew/core/error.h"

namespace sinew {
namespace {

std::string reason() {
  return std::strerror(errno);
}

/// A descriptor that closes itself.
struct Descriptor {
  int value;
  ~Descriptor() { close(value); }
};

}  // namespace

OutputFile::OutputFile(std::filesystem::path target) : target_(std::move(target)) {
  static std::atomic<unsigned> serial{0};
  temporary_ = target_;
  temporary_ += fmt::format(".{}.{}.tmp", getpid(), serial++);
  descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    throw Error(ErrorKind::output, fmt::format("{}: cannot be written: {}", target_.string(), reason()));
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      throw Error(ErrorKind::output, fmt::format("{}: cannot be written: {}", target_.string(), reason()));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void OutputFile::overwrite(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      throw Error(ErrorKind::output, fmt::format("{}: cannot be written: {}", target_.string(), reason()));
    offset += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void OutputFile::commit() {
  const bool flushed = fsync(descriptor_) == 0 || errno == EINVAL;  // EINVAL: pipes and the like cannot be flushed
  const bool closed = close(descriptor_) == 0;
  descriptor_ = -1;
  if (flushed && closed && std::rename(temporary_.c_str(), target_.c_str()) == 0) return;
  const std::string why = reason();
  unlink(temporary_.c_str());
  throw Error(ErrorKind::output, fmt::format("{}: cannot be written: {}", target_.string(), why));
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat facts {};
  if (file.value < 0 || fstat(file.value, &facts) != 0)
    throw Error(ErrorKind::input, fmt::format("{}: cannot be read: {}", path.string(), reason()));
  if (!S_ISREG(facts.st_mode)) throw Error(ErrorKind::input, fmt::format("{}: not a file", path.string()));
  std::vector<std::byte> bytes(static_cast<std::size_t>(facts.st_size));
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = read(file.value, bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(ErrorKind::input, fmt::format("{}: cannot be read: {}", path.string(), reason()));
    if (got == 0) throw Error(ErrorKind::input, fmt::format("{}: became shorter while it was read", path.string()));
    filled += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace sinew
