#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

/// Just enough zip for NPZ: stored members, one disk, below 4 GiB.
namespace sinew {

/// CRC-32 as zip and PNG have it.
std::uint32_t crc32(std::span<const std::byte> bytes);

/// Where the directory entry of each member lies, by member name. Throws Error{input} when the directory is damaged or
/// names a member twice.
std::map<std::string, std::size_t> list_zip(std::span<const std::byte> bytes, const std::string& name);

/// The contents that the directory entry at `entry` refers to, as a view into `bytes`. Throws Error{input} when they
/// lie outside `bytes`, are compressed or encrypted, or do not have the checksum that the entry states.
std::span<const std::byte> read_zip_member(std::span<const std::byte> bytes, std::size_t entry,
                                           const std::string& name);

/// Contents of a member, in parts so that large arrays need no copy.
struct ZipMember {
  std::string name;
  std::vector<std::span<const std::byte>> parts;
};

/// Throws Error{output}; no dates are written, so that equal contents give equal files.
void write_zip(const std::filesystem::path& path, const std::vector<ZipMember>& members);

}  // namespace sinew
