#include "sinew/core/paged_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "sinew/core/error.h"

namespace sinew {
namespace {

std::size_t page_size() {
  const long size = sysconf(_SC_PAGESIZE);
  return size > 0 ? static_cast<std::size_t>(size) : 4096;
}

[[noreturn]] void fail(ErrorKind kind, const std::filesystem::path& name, const std::string& what, int reason) {
  throw Error(kind, fmt::format("{}: {}: {}", name.string(), what, std::strerror(reason)));
}

/// A descriptor of a new file that has no name any more.
int unnamed_file(const std::filesystem::path& folder) {
  std::string name = (folder / "sinew-XXXXXX").string();
  const int descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) fail(ErrorKind::output, folder, "no scratch file can be made there", errno);
  unlink(name.c_str());
  return descriptor;
}

}  // namespace

std::shared_ptr<PagedMemory> PagedMemory::of_file(const std::filesystem::path& path, std::size_t offset,
                                                  std::size_t size, const Paging& paging) {
  std::shared_ptr<PagedMemory> memory(new PagedMemory);
  memory->paging_ = paging;
  memory->name_ = path;
  memory->offset_ = offset;
  memory->size_ = size;
  memory->descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat facts {};
  if (memory->descriptor_ < 0 || fstat(memory->descriptor_, &facts) != 0)
    fail(ErrorKind::input, path, "cannot be read", errno);
  if (!S_ISREG(facts.st_mode) || static_cast<std::size_t>(facts.st_size) < offset + size)
    throw Error(ErrorKind::input, fmt::format("{}: became shorter while it was read", path.string()));
  memory->map(false);
  return memory;
}

std::shared_ptr<PagedMemory> PagedMemory::scratch(std::size_t size, const Paging& paging) {
  std::shared_ptr<PagedMemory> memory(new PagedMemory);
  memory->paging_ = paging;
  std::error_code none;
  memory->name_ = paging.scratch.empty() ? std::filesystem::temp_directory_path(none) : paging.scratch;
  memory->size_ = size;
  memory->descriptor_ = unnamed_file(memory->name_);
  // Taken now: a page of a file that the disk has no room for would end the process when it is written to.
  const int failure = posix_fallocate(memory->descriptor_, 0, static_cast<off_t>(size));
  if (failure != 0)
    fail(ErrorKind::output, memory->name_,
         fmt::format("no room for {:.3g} GB of scratch", 1e-9 * static_cast<double>(size)), failure);
  memory->map(true);
  return memory;
}

void PagedMemory::map(bool writable) {
  writable_ = writable;
  const std::size_t before = offset_ % page_size();
  void* const place = mmap(nullptr, size_ + before, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                           descriptor_, static_cast<off_t>(offset_ - before));
  if (place == MAP_FAILED)
    fail(writable ? ErrorKind::output : ErrorKind::input, name_, "cannot be mapped into memory", errno);
  data_ = static_cast<std::byte*>(place) + before;
}

PagedMemory::~PagedMemory() {
  const std::size_t before = offset_ % page_size();
  if (data_ != nullptr) munmap(data_ - before, size_ + before);
  if (descriptor_ >= 0) close(descriptor_);
}

void PagedMemory::read(std::size_t offset, std::span<std::byte> out) const {
  offset += offset_;
  while (!out.empty()) {
    const ssize_t got = pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(ErrorKind::input, name_, "cannot be read", errno);
    if (got == 0) throw Error(ErrorKind::input, fmt::format("{}: became shorter while it was read", name_.string()));
    offset += static_cast<std::size_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

void PagedMemory::write(std::size_t offset, std::span<const std::byte> bytes) {
  offset += offset_;
  while (!bytes.empty()) {
    const ssize_t put = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) fail(ErrorKind::output, name_, "a scratch file cannot be written", errno);
    offset += static_cast<std::size_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void PagedMemory::announce(std::size_t bytes) const {
  if (announced_.fetch_add(bytes) + bytes <= paging_.memory / 4) return;
  announced_ = bytes;
  release();
}

void PagedMemory::release() const {
  const std::size_t before = offset_ % page_size();
  if (data_ != nullptr) madvise(data_ - before, size_ + before, MADV_DONTNEED);
}

}  // namespace sinew
