#include "sinew/io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "io/byte_source.h"
#include "sinew/core/error.h"

namespace sinew {
namespace {

std::string reason() {
  return std::strerror(errno);
}

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
  const ByteSource file(path);
  return file.read(0, file.size());
}

}  // namespace sinew
