#include "io/fbx/tree.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "sinew/core/error.h"

namespace sinew::fbx {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are taken as they lie in the file");

constexpr std::string_view kMagic("Kaydara FBX Binary  \x00\x1a\x00", 23);
constexpr int kOldest = 7100;
constexpr int kNewest = 7999;
constexpr int kWideHeaders = 7500;  // from here on counts and places have 64 bits
constexpr int kDeepest = 64;
constexpr std::size_t kMostInflated = 1040;  // times the deflated bytes: more than the method can do

std::size_t element_size(char type) {
  switch (type) {
    case 'b':
    case 'c':
      return 1;
    case 'i':
    case 'f':
      return 4;
    default:
      return 8;
  }
}

class BinaryParser {
 public:
  BinaryParser(std::span<const std::byte> bytes, Tree& tree) : bytes_(bytes), tree_(tree) {}

  void run() {
    at_ = kMagic.size();
    tree_.version = static_cast<int>(std::min<std::uint32_t>(take<std::uint32_t>(), 1U << 30));
    if (tree_.version < kOldest || tree_.version > kNewest)
      tree_.refuse(
          fmt::format("FBX version {}, expected {} to 7700; save it as FBX 2011 or later", tree_.version, kOldest));
    // The list of the file ends with a null record; a footer follows that nothing needs.
    while (read_record(tree_.root, bytes_.size(), 0)) {
    }
  }

 private:
  template <class T>
  T take() {
    need(sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  void need(std::size_t count) const {
    if (count > bytes_.size() - at_)
      tree_.refuse(fmt::format("ends at byte {}, where {} more are expected", bytes_.size(), count));
  }

  std::size_t take_size() {
    const std::uint64_t size = tree_.version >= kWideHeaders ? take<std::uint64_t>() : take<std::uint32_t>();
    return static_cast<std::size_t>(std::min<std::uint64_t>(size, std::numeric_limits<std::size_t>::max()));
  }

  std::string_view take_text(std::size_t length) {
    need(length);
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data() + at_), length);
    at_ += length;
    return text;
  }

  /// Reads the record here into `parent`; false for the null record that ends a list.
  bool read_record(Record& parent, std::size_t limit, int depth) {
    const std::size_t start = at_;
    const std::size_t end = take_size();
    const std::size_t values = take_size();
    const std::size_t value_bytes = take_size();
    const std::size_t name_length = take<std::uint8_t>();
    if (end == 0 && values == 0 && value_bytes == 0 && name_length == 0) return false;
    if (depth > kDeepest) tree_.refuse(fmt::format("the record at byte {} is more than {} deep", start, kDeepest));
    Record record;
    record.name = take_text(name_length);
    if (end > limit || end < at_ || value_bytes > end - at_)
      tree_.refuse(fmt::format("record '{}' at byte {} ends at byte {}, expected {} to {}", printable(record.name),
                               start, end, at_ + value_bytes, limit));
    const std::size_t after = at_ + value_bytes;
    if (values > value_bytes)
      tree_.refuse(fmt::format("record '{}' at byte {} has {} properties in {} bytes", printable(record.name), start,
                               values, value_bytes));
    record.values.reserve(values);
    for (std::size_t i = 0; i < values; ++i) record.values.push_back(read_value(after));
    if (at_ != after)
      tree_.refuse(fmt::format("record '{}' at byte {}: its properties end at byte {}, expected {}",
                               printable(record.name), start, at_, after));
    while (at_ < end && read_record(record, end, depth + 1)) {
    }
    if (at_ != end)
      tree_.refuse(
          fmt::format("record '{}' at byte {} ends at byte {}, expected {}", printable(record.name), start, at_, end));
    parent.children.push_back(std::move(record));
    return true;
  }

  Property read_value(std::size_t limit) {
    const char type = static_cast<char>(take<std::uint8_t>());
    switch (type) {
      case 'B':
      case 'C':
        return std::int64_t{take<std::uint8_t>()};
      case 'Y':
        return std::int64_t{take<std::int16_t>()};
      case 'I':
        return std::int64_t{take<std::int32_t>()};
      case 'L':
        return take<std::int64_t>();
      case 'F':
        return static_cast<double>(take<float>());
      case 'D':
        return take<double>();
      case 'S':
      case 'R':
        return take_text(take<std::uint32_t>());
      case 'b':
      case 'c':
      case 'd':
      case 'f':
      case 'i':
      case 'l':
        return read_array(type, limit);
      default:
        tree_.refuse(fmt::format("a property of unknown type {} at byte {}", static_cast<int>(type), at_ - 1));
    }
  }

  Array read_array(char type, std::size_t limit) {
    const std::size_t start = at_;
    Array array;
    array.type = type;
    array.count = take<std::uint32_t>();
    const std::uint32_t encoding = take<std::uint32_t>();
    const std::size_t stored = take<std::uint32_t>();
    if (array.count > std::numeric_limits<std::size_t>::max() / element_size(type))
      tree_.refuse(
          fmt::format("the array at byte {} holds {} numbers, more than there is memory for", start, array.count));
    const std::size_t size = array.count * element_size(type);
    if (encoding > 1)
      tree_.refuse(fmt::format("the array at byte {} has encoding {}, expected 0 or 1", start, encoding));
    array.deflated = encoding == 1;
    const std::size_t length = array.deflated ? stored : size;
    if (limit < at_ || length > limit - at_ || (array.deflated && size / kMostInflated > length))
      tree_.refuse(fmt::format("the array at byte {} holds {} numbers, too many for {} bytes", start, array.count,
                               limit < at_ ? 0 : std::min(length, limit - at_)));
    need(length);
    array.bytes = bytes_.subspan(at_, length);
    at_ += length;
    return array;
  }

  static std::string printable(std::string_view name) {
    std::string out(name);
    for (char& c : out)
      if (c < ' ' || c > '~') c = '?';
    return out;
  }

  std::span<const std::byte> bytes_;
  Tree& tree_;
  std::size_t at_ = 0;
};

/// The bytes of an array as they were before they were deflated.
std::vector<std::byte> unpacked(const Tree& tree, const Array& array, std::string_view where) {
  const std::size_t size = array.count * element_size(array.type);
  std::vector<std::byte> out(size);
  if (!array.deflated) {
    if (size > 0) std::memcpy(out.data(), array.bytes.data(), size);
    return out;
  }
  z_stream stream{};
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(array.bytes.data()));
  stream.avail_in = static_cast<uInt>(array.bytes.size());
  Bytef nothing = 0;
  stream.next_out = size > 0 ? reinterpret_cast<Bytef*>(out.data()) : &nothing;
  std::size_t left = size;
  int status = inflateInit(&stream);
  while (status == Z_OK) {
    const auto step = static_cast<uInt>(std::min<std::size_t>(left, std::numeric_limits<uInt>::max()));
    stream.avail_out = step;
    status = inflate(&stream, Z_NO_FLUSH);
    left -= step - stream.avail_out;
    if (status == Z_OK && stream.avail_in == 0 && stream.avail_out > 0) status = Z_DATA_ERROR;
    if (status == Z_OK && left == 0) {  // all numbers are there: only the end may follow
      stream.next_out = &nothing;
      stream.avail_out = 1;
      status = inflate(&stream, Z_NO_FLUSH);
      if (stream.avail_out == 0 || status == Z_OK) status = Z_DATA_ERROR;
    }
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || left != 0)
    tree.refuse(fmt::format("{}: {} numbers cannot be inflated from {} bytes", where, array.count, array.bytes.size()));
  return out;
}

template <class From, class To>
std::vector<To> converted(const std::vector<std::byte>& bytes) {
  std::vector<To> out(bytes.size() / sizeof(From));
  for (std::size_t i = 0; i < out.size(); ++i) {
    From value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    out[i] = static_cast<To>(value);
  }
  return out;
}

/// A real number as an integer; what does not fit, or is none, is the least one.
std::int64_t whole(double value) {
  constexpr double kEdge = 9.2e18;
  return std::abs(value) < kEdge ? static_cast<std::int64_t>(value) : std::numeric_limits<std::int64_t>::min();
}

template <class To>
std::vector<To> numbers_of(const Tree& tree, const Record* record, std::string_view where) {
  std::vector<To> out;
  if (record == nullptr || record->values.empty()) return out;
  const auto from_double = [](double value) {
    if constexpr (std::is_same_v<To, double>)
      return value;
    else
      return whole(value);
  };
  const Array* const array = std::get_if<Array>(&record->values[0]);
  if (array == nullptr) {
    for (std::size_t i = 0; i < record->values.size(); ++i)
      if constexpr (std::is_same_v<To, double>)
        out.push_back(record->number(i, std::numeric_limits<double>::quiet_NaN()));
      else
        out.push_back(record->integer(i, std::numeric_limits<std::int64_t>::min()));
    return out;
  }
  if (array->numbers) {
    out.reserve(array->numbers->size());
    for (const double value : *array->numbers) out.push_back(from_double(value));
    return out;
  }
  const std::vector<std::byte> bytes = unpacked(tree, *array, where);
  switch (array->type) {
    case 'd':
    case 'f': {
      std::vector<double> values =
          array->type == 'd' ? converted<double, double>(bytes) : converted<float, double>(bytes);
      if constexpr (std::is_same_v<To, double>) return values;
      for (const double value : values) out.push_back(from_double(value));
      return out;
    }
    case 'i':
      return converted<std::int32_t, To>(bytes);
    case 'l':
      return converted<std::int64_t, To>(bytes);
    default:
      return converted<std::uint8_t, To>(bytes);
  }
}

}  // namespace

const Record* Record::find(std::string_view child) const {
  for (const Record& record : children)
    if (record.name == child) return &record;
  return nullptr;
}

std::string_view Record::text(std::size_t i, std::string_view otherwise) const {
  const auto* value = i < values.size() ? std::get_if<std::string_view>(&values[i]) : nullptr;
  return value != nullptr ? *value : otherwise;
}

double Record::number(std::size_t i, double otherwise) const {
  if (i >= values.size()) return otherwise;
  if (const auto* real = std::get_if<double>(&values[i])) return *real;
  if (const auto* integer = std::get_if<std::int64_t>(&values[i])) return static_cast<double>(*integer);
  return otherwise;
}

std::int64_t Record::integer(std::size_t i, std::int64_t otherwise) const {
  if (i >= values.size()) return otherwise;
  if (const auto* integer = std::get_if<std::int64_t>(&values[i])) return *integer;
  if (const auto* real = std::get_if<double>(&values[i])) return whole(*real);
  return otherwise;
}

void Tree::refuse(const std::string& sentence) const {
  throw Error(ErrorKind::input, fmt::format("{}: {}", file, sentence));
}

std::vector<double> Tree::doubles(const Record* record, std::string_view where) const {
  return numbers_of<double>(*this, record, where);
}

std::vector<std::int64_t> Tree::integers(const Record* record, std::string_view where) const {
  return numbers_of<std::int64_t>(*this, record, where);
}

Tree parse_tree(std::span<const std::byte> bytes, const std::string& file) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic.substr(0, 18))) return parse_ascii_tree(text, file);
  Tree tree;
  tree.file = file;
  if (bytes.size() < kMagic.size() + 4) tree.refuse(fmt::format("{} bytes, too short for an FBX file", bytes.size()));
  BinaryParser(bytes, tree).run();
  return tree;
}

}  // namespace sinew::fbx
