#include "io/usd/package.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/arrays/zip.h"
#include "sinew/core/error.h"
#include "sinew/io/output_file.h"

namespace sinew::usd {
namespace {

namespace fs = std::filesystem;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Refuses what is no text layer before it is taken for a damaged one.
void check_text(std::string_view text, const std::string& name) {
  if (text.starts_with("PXR-USDC"))
    throw Error(ErrorKind::input,
                fmt::format("{}: a binary layer (crate), which is not read; turn it into text first: usdcat IN -o "
                            "OUT.usda",
                            name));
}

/// An asset path without the dots that lead nowhere; empty where it leaves the folder or names another place.
std::string inside(const std::string& asset) {
  const fs::path path = fs::path(asset).lexically_normal();
  if (asset.empty() || path.is_absolute() || asset.find("://") != std::string::npos) return "";
  for (const fs::path& step : path)
    if (step == "..") return "";
  return path.generic_string();
}

std::vector<std::uint8_t> copied(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return {data, data + bytes.size()};
}

std::span<const std::byte> member(std::span<const std::byte> bytes, const ZipEntry& entry, const std::string& name) {
  const std::span<const std::byte> contents =
      bytes.subspan(find_zip_contents(ByteSource(bytes), entry, name), entry.size);
  if (extend_crc(0, contents) != entry.crc)
    throw Error(ErrorKind::input, fmt::format("{}: its checksum does not match", name));
  return contents;
}

}  // namespace

Package open_package(std::span<const std::byte> bytes, const fs::path& folder, const std::string& name) {
  Package out;
  out.name = name;
  if (!text_of(bytes).starts_with("PK")) {
    check_text(text_of(bytes), name);
    out.text = text_of(bytes);
    out.fetch = [folder](const std::string& asset) -> std::vector<std::uint8_t> {
      const std::string path = inside(asset);
      std::error_code ignored;
      if (path.empty() || !fs::is_regular_file(folder / path, ignored)) return {};
      return copied(read_file(folder / path));
    };
    return out;
  }
  auto members = std::make_shared<std::map<std::string, ZipEntry>>(list_zip(ByteSource(bytes), name));
  if (members->empty()) throw Error(ErrorKind::input, fmt::format("{}: the package is empty", name));
  const auto root = std::min_element(members->begin(), members->end(), [](const auto& a, const auto& b) {
    return a.second.local < b.second.local;  // the first file is the one to open
  });
  out.name = fmt::format("{}[{}]", name, root->first);
  out.text = text_of(member(bytes, root->second, out.name));
  check_text(out.text, out.name);
  out.fetch = [bytes, members, name](const std::string& asset) -> std::vector<std::uint8_t> {
    const auto found = members->find(inside(asset));
    if (found == members->end()) return {};
    return copied(member(bytes, found->second, fmt::format("{}[{}]", name, asset)));
  };
  return out;
}

}  // namespace sinew::usd
