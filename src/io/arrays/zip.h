#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/byte_source.h"

#include "sinew/core/progress.h"

/// Just enough zip for NPZ and USDZ: stored members, one disk, below 4 GiB.
namespace sinew {

/// CRC-32 as zip and PNG have it, of bytes that follow those of checksum `crc`; 0 where none do.
std::uint32_t extend_crc(std::uint32_t crc, std::span<const std::byte> bytes);

/// A member as the directory states it.
struct ZipEntry {
  std::uint32_t crc;
  std::size_t size;
  std::size_t local;  // offset of its own header
  bool stored;        // neither compressed nor encrypted
};

/// Throws Error{input} when the directory is damaged or names a member twice.
std::map<std::string, ZipEntry> list_zip(const ByteSource& source, const std::string& name);

/// Where the contents of a member begin. Throws Error{input} when they lie outside the source or are not just stored.
std::size_t find_zip_contents(const ByteSource& source, const ZipEntry& entry, const std::string& name);

/// Contents of a member, in parts so that large arrays need no copy.
struct ZipMember {
  std::string name;
  std::vector<std::span<const std::byte>> parts;
};

/// Contents of every member of a USD package start at a multiple of this.
inline constexpr std::size_t kPackageAlignment = 64;

/// Throws Error{output}; no dates are written, so that equal contents give equal files. The contents of every member
/// start at a multiple of `alignment`, at most 65535.
void write_zip(const std::filesystem::path& path, const std::vector<ZipMember>& members, std::size_t alignment = 1,
               const Progress& progress = {});

}  // namespace sinew
