#include "io/fbx/writer.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "sinew/core/error.h"

namespace sinew::fbx {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers go to the file as they lie in memory");

constexpr std::uint32_t kVersion = 7400;
constexpr std::size_t kNullRecord = 13;
constexpr std::size_t kWorthDeflating = 128;  // bytes

// The identifier, the time of creation and the code in the footer belong together. These three are for a fixed time:
// equal rigs give equal files.
constexpr std::string_view kTime = "1970-01-01 10:00:00:000";
constexpr std::array<std::uint8_t, 16> kFileId{0x28, 0xb3, 0x2a, 0xeb, 0xb6, 0x24, 0xcc, 0xc2,
                                               0xbf, 0xc8, 0xb0, 0x2a, 0xa9, 0x2b, 0xfc, 0xf1};
constexpr std::array<std::uint8_t, 16> kFooterCode{0xfa, 0xbc, 0xab, 0x09, 0xd0, 0xc8, 0xd4, 0x66,
                                                   0xb1, 0x76, 0xfb, 0x83, 0x1c, 0xf7, 0x26, 0x7e};
constexpr std::array<std::uint8_t, 16> kEnd{0xf8, 0x5a, 0x8c, 0x6a, 0xde, 0xf5, 0xd9, 0x7e,
                                            0xec, 0xe9, 0x0c, 0xe3, 0x75, 0x8f, 0x29, 0x0b};

template <class T>
void append(std::vector<std::byte>& out, std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void overwrite_word(std::vector<std::byte>& out, std::size_t at, std::size_t value) {
  const auto word = static_cast<std::uint32_t>(value);  // finish() refuses files where this would not fit
  std::memcpy(out.data() + at, &word, sizeof word);
}

}  // namespace

std::string object_name(std::string_view name, std::string_view type) {
  std::string out(name);
  out.append("\x00\x01", 2);
  out.append(type);
  return out;
}

Writer::Writer() {
  put_text(std::string_view("Kaydara FBX Binary  \x00\x1a\x00", 23));
  put_raw(kVersion);
}

template <class T>
void Writer::put_raw(T value) {
  append(out_, std::span<const T>(&value, 1));
}

void Writer::put_text(std::string_view text) {
  append(out_, std::span(text.data(), text.size()));
}

/// Fastest level: the next one takes twice the time for files that are 3 % smaller.
template <class T>
void Writer::put_array(char code, std::span<const T> values) {
  out_.push_back(static_cast<std::byte>(code));
  if (values.size_bytes() > std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorKind::output, fmt::format("FBX: an array of {} bytes, at most 4 GiB fit", values.size_bytes()));
  put_raw(static_cast<std::uint32_t>(values.size()));
  if (values.size_bytes() <= kWorthDeflating) {
    put_raw(std::uint32_t{0});
    put_raw(static_cast<std::uint32_t>(values.size_bytes()));
    append(out_, values);
    return;
  }
  put_raw(std::uint32_t{1});
  const std::size_t length = out_.size();
  uLongf size = compressBound(static_cast<uLong>(values.size_bytes()));
  out_.resize(length + sizeof(std::uint32_t) + size);
  if (compress2(reinterpret_cast<Bytef*>(out_.data() + length + sizeof(std::uint32_t)), &size,
                reinterpret_cast<const Bytef*>(values.data()), static_cast<uLong>(values.size_bytes()),
                Z_BEST_SPEED) != Z_OK)
    throw Error(ErrorKind::output, "FBX: an array cannot be deflated");
  overwrite_word(out_, length, size);
  out_.resize(length + sizeof(std::uint32_t) + size);
}

void Writer::put(const Value& value) {
  const auto scalar = [&](char code, auto number) {
    out_.push_back(static_cast<std::byte>(code));
    put_raw(number);
  };
  const auto put_one = [&]<class T>(const T& v) {
    if constexpr (std::is_same_v<T, bool>) scalar('C', static_cast<std::uint8_t>(v ? 1 : 0));
    if constexpr (std::is_same_v<T, std::int32_t>) scalar('I', v);
    if constexpr (std::is_same_v<T, std::int64_t>) scalar('L', v);
    if constexpr (std::is_same_v<T, double>) scalar('D', v);
    if constexpr (std::is_same_v<T, std::string>) {
      scalar('S', static_cast<std::uint32_t>(v.size()));
      put_text(v);
    }
    if constexpr (std::is_same_v<T, std::span<const std::int32_t>>) put_array('i', v);
    if constexpr (std::is_same_v<T, std::span<const std::int64_t>>) put_array('l', v);
    if constexpr (std::is_same_v<T, std::span<const float>>) put_array('f', v);
    if constexpr (std::is_same_v<T, std::span<const double>>) put_array('d', v);
    if constexpr (std::is_same_v<T, std::span<const std::uint8_t>>) {
      if (v.size() > std::numeric_limits<std::uint32_t>::max())
        throw Error(ErrorKind::output, fmt::format("FBX: an image of {} bytes, at most 4 GiB fit", v.size()));
      scalar('R', static_cast<std::uint32_t>(v.size()));
      append(out_, v);
    }
  };
  std::visit(put_one, value);
}

void Writer::begin(std::string_view name, std::span<const Value> values) {
  if (!open_.empty()) open_.back().has_children = true;
  // The format asks for an empty list below these even where nothing is in it.
  const bool always = name == "AnimationStack" || name == "AnimationLayer";
  open_.push_back({out_.size(), !values.empty(), false, always});
  put_raw(std::uint32_t{0});  // end, filled in by close()
  put_raw(static_cast<std::uint32_t>(values.size()));
  put_raw(std::uint32_t{0});  // bytes of the values
  put_raw(static_cast<std::uint8_t>(name.size()));
  put_text(name);
  const std::size_t start = out_.size();
  for (const Value& value : values) put(value);
  overwrite_word(out_, open_.back().start + 8, out_.size() - start);
}

void Writer::open(std::string_view name, std::initializer_list<Value> values) {
  begin(name, {values.begin(), values.size()});
  open_.back().ends_with_null = open_.back().ends_with_null || !open_.back().has_values;
}

void Writer::leaf(std::string_view name, std::initializer_list<Value> values) {
  begin(name, {values.begin(), values.size()});
  close();
}

void Writer::close() {
  const Open record = open_.back();
  open_.pop_back();
  if (record.has_children || record.ends_with_null) out_.resize(out_.size() + kNullRecord);
  overwrite_word(out_, record.start, out_.size());
}

void Writer::property(std::string_view name, std::string_view type, std::string_view label, std::string_view flags,
                      std::initializer_list<Value> values) {
  std::vector<Value> all{std::string(name), std::string(type), std::string(label), std::string(flags)};
  all.insert(all.end(), values.begin(), values.end());
  begin("P", all);
  close();
}

void Writer::identify(std::string_view generator) {
  leaf("FileId", {std::span<const std::uint8_t>(kFileId)});
  leaf("CreationTime", {std::string(kTime)});
  leaf("Creator", {std::string(generator)});
}

std::vector<std::byte> Writer::finish() {
  out_.resize(out_.size() + kNullRecord);
  append(out_, std::span<const std::uint8_t>(kFooterCode));
  out_.resize(out_.size() + 4);
  out_.resize(out_.size() + 16 - out_.size() % 16);
  put_raw(kVersion);
  out_.resize(out_.size() + 120);
  append(out_, std::span<const std::uint8_t>(kEnd));
  if (out_.size() > std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorKind::output, fmt::format("FBX: the file would have {} bytes, at most 4 GiB fit", out_.size()));
  return std::move(out_);
}

}  // namespace sinew::fbx
