#include "io/alembic/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "io/alembic/murmur3.h"

namespace sinew::alembic {
namespace {

using ogawa::Cursor;
using ogawa::Entry;

constexpr std::size_t kInlineMetadata = 255;
constexpr std::size_t kHeaderHashes = 32;  // that end a block of child headers
constexpr double kAcyclicPeriod = 1e300;   // the library writes DBL_MAX / 32
constexpr std::size_t kKeySize = sizeof(Digest);

/// Bits of a property header.
struct HeaderBits {
  std::uint64_t word;
  std::uint64_t field(unsigned shift, unsigned bits) const { return word >> shift & ((1u << bits) - 1); }
  std::uint64_t kind() const { return field(0, 2); }
  std::uint64_t width_code() const { return field(2, 2); }
  std::uint64_t type() const { return field(4, 4); }
  bool has_sampling() const { return field(8, 1) != 0; }
  bool has_changes() const { return field(9, 1) != 0; }
  bool constant() const { return field(11, 1) != 0; }
  std::uint64_t extent() const { return field(12, 8); }
  std::uint64_t metadata() const { return field(20, 8); }
};

/// Names end up in JSON and on terminals: bytes that are not UTF-8 and control characters become '?'.
std::string printable(std::string text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
    const unsigned lead = byte(i);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : 4;
    bool valid = lead >= 0x20 && lead != 0x7f && (lead < 0x80 || (lead >= 0xc2 && lead < 0xf5));
    valid = valid && length <= text.size() - i;
    for (std::size_t k = 1; valid && k < length; ++k) valid = (byte(i + k) & 0xc0) == 0x80;
    // Overlong forms, surrogates and code points past the last.
    if (valid && lead == 0xe0) valid = byte(i + 1) >= 0xa0;
    if (valid && lead == 0xed) valid = byte(i + 1) < 0xa0;
    if (valid && lead == 0xf0) valid = byte(i + 1) >= 0x90;
    if (valid && lead == 0xf4) valid = byte(i + 1) < 0x90;
    if (!valid) text[i] = '?';
    i += valid ? length : 1;
  }
  return text;
}

}  // namespace

std::string_view Metadata::operator[](std::string_view key) const {
  std::string_view rest = text_;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    if (pair.size() > key.size() && pair.starts_with(key) && pair[key.size()] == '=')
      return pair.substr(key.size() + 1);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

double TimeSampling::time(std::size_t sample) const {
  const std::size_t cycle = acyclic ? 0 : sample / times.size();
  const std::size_t within = acyclic ? sample : sample % times.size();
  return cycle == 0 ? times[within] : times[within] + static_cast<double>(cycle) * period;
}

std::size_t element_size(ElementType type) {
  constexpr std::array<std::size_t, 14> kSizes{1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 0, 0};
  return kSizes[static_cast<std::size_t>(type)];
}

const Property* find(const Properties& properties, std::string_view name) {
  const auto found = std::ranges::find(properties, name, &Property::name);
  return found == properties.end() ? nullptr : &*found;
}

Samples::Samples(const ogawa::Archive& archive, const Property& property) : archive_(&archive), property_(property) {
  if (property_.kind == PropertyKind::compound)
    archive.refuse(fmt::format("{} is a compound property, values are expected", property_.path));
  const std::size_t stored = property_.samples == 0 ? 0
                             : property_.constant   ? 1
                                                    : property_.last_change - property_.first_change + 2;
  const std::vector<Entry> entries = archive.group(property_.entry);
  // An array has the dimensions of a sample beside it, which its size already tells.
  const std::size_t stride = property_.kind == PropertyKind::array ? 2 : 1;
  if (entries.size() != stored * stride)
    archive.refuse(fmt::format("{} has {} blocks for {} stored samples, expected {}", property_.path, entries.size(),
                               stored, stored * stride));
  for (std::size_t slot = 0; slot < stored; ++slot) slots_.push_back(entries[slot * stride]);
}

Entry Samples::entry(std::size_t i) const {
  if (empty()) archive_->refuse(fmt::format("{} has no samples", property_.path));
  i = std::min(i, property_.samples - 1);
  if (property_.constant || i < property_.first_change) return slots_.front();
  return slots_[std::min(i, property_.last_change) - property_.first_change + 1];
}

std::size_t Samples::items(std::size_t i) const {
  const std::uint64_t bytes = archive_->data_size(entry(i));
  const std::size_t item = element_size(property_.type) * property_.extent;
  if (bytes == 0) return 0;
  if (item == 0) archive_->refuse(fmt::format("{} does not hold numbers", property_.path));
  if (bytes < kKeySize || (bytes - kKeySize) % item != 0)
    archive_->refuse(fmt::format("{}: sample {} has {} bytes, expected {} and a multiple of {}", property_.path, i,
                                 bytes, kKeySize, item));
  const auto count = static_cast<std::size_t>((bytes - kKeySize) / item);
  if (property_.kind == PropertyKind::scalar && count != 1)
    archive_->refuse(fmt::format("{}: sample {} has {} items, a scalar has one", property_.path, i, count));
  return count;
}

void Samples::read(std::size_t i, std::span<std::byte> payload) const {
  if (payload.empty()) return;
  Digest key;
  archive_->read_data(entry(i), std::as_writable_bytes(std::span(&key, 1)), payload);
  if (murmur3(payload) != key)
    archive_->refuse(fmt::format("{}: sample {} is damaged, its key does not match", property_.path, i));
}

std::string Samples::text(std::size_t i) const {
  if (property_.type != ElementType::string || property_.kind != PropertyKind::scalar)
    archive_->refuse(fmt::format("{} is not a string", property_.path));
  const std::vector<std::byte> bytes = archive_->data(entry(i));
  std::string out;
  if (bytes.size() > kKeySize)
    out.assign(reinterpret_cast<const char*>(bytes.data()) + kKeySize, bytes.size() - kKeySize);
  return out.substr(0, out.find('\0'));
}

Archive::Archive(ogawa::Source source) : container_(std::move(source)) {
  const std::vector<Entry> root = container_.group(container_.root());
  if (root.size() != 6) refuse(fmt::format("the root group has {} entries, an Alembic archive has 6", root.size()));
  const auto number = [&](std::size_t i) {
    const std::vector<std::byte> bytes = container_.data(root[i]);
    return static_cast<int>(Cursor(container_, "version numbers", bytes).unsigned_of(4));
  };
  if (const int version = number(0); version != 0)
    refuse(fmt::format("Alembic file version {}, only 0 is known", version));
  library_version_ = number(1);
  const std::vector<std::byte> text = container_.data(root[3]);
  metadata_ = Metadata(printable({reinterpret_cast<const char*>(text.data()), text.size()}));
  read_samplings(root[4]);
  read_shared_metadata(root[5]);
  top_.entry = root[2];
}

void Archive::read_samplings(Entry entry) {
  const std::vector<std::byte> bytes = container_.data(entry);
  Cursor cursor(container_, "time samplings", bytes);
  while (!cursor.at_end()) {
    TimeSampling sampling;
    cursor.unsigned_of(4);  // The largest sample count, which the properties know better.
    sampling.period = cursor.float64();
    const std::uint64_t count = cursor.unsigned_of(4);
    if (count == 0 || count > cursor.left() / 8)
      refuse(fmt::format("time sampling {} has {} times in {} bytes", samplings_.size(), count, cursor.left()));
    sampling.times.resize(static_cast<std::size_t>(count));
    for (double& time : sampling.times) time = cursor.float64();
    sampling.acyclic = sampling.period > kAcyclicPeriod;
    bool ordered = sampling.period > 0 && std::isfinite(sampling.times.front());
    for (std::size_t i = 1; i < sampling.times.size(); ++i)
      ordered = ordered && std::isfinite(sampling.times[i]) && sampling.times[i] > sampling.times[i - 1];
    ordered = ordered && (sampling.acyclic || sampling.times.back() - sampling.times.front() < sampling.period);
    if (!ordered) refuse(fmt::format("the times of time sampling {} do not increase", samplings_.size()));
    samplings_.push_back(std::move(sampling));
  }
  if (samplings_.empty()) samplings_.emplace_back();
}

void Archive::read_shared_metadata(Entry entry) {
  shared_.emplace_back();  // Index 0: none.
  const std::vector<std::byte> bytes = container_.data(entry);
  Cursor cursor(container_, "metadata records", bytes);
  while (!cursor.at_end()) shared_.emplace_back(printable(cursor.text(cursor.unsigned_of(1))));
}

Metadata Archive::shared_metadata(std::size_t index) const {
  if (index >= shared_.size())
    refuse(fmt::format("metadata record {} is referred to, there are {}", index, shared_.size() - 1));
  return shared_[index];
}

Object Archive::open(const ObjectHeader& header) const {
  const std::vector<Entry> entries = container_.group(header.entry);
  Object object;
  if (entries.empty()) return object;
  if (entries.size() < 2)
    refuse(fmt::format("object '{}' has {} blocks, expected at least 2", header.path, entries.size()));
  object.properties = read_properties(entries.front(), header.path);
  const std::vector<std::byte> bytes = container_.data(entries.back());
  const std::size_t hashes = std::min(bytes.size(), kHeaderHashes);
  Cursor cursor(container_, "child headers", std::span(bytes).first(bytes.size() - hashes));
  while (!cursor.at_end()) {
    ObjectHeader child;
    child.name = printable(cursor.text(cursor.unsigned_of(4)));
    child.path = header.path + "/" + child.name;
    const std::size_t index = static_cast<std::size_t>(cursor.unsigned_of(1));
    child.metadata =
        index == kInlineMetadata ? Metadata(printable(cursor.text(cursor.unsigned_of(4)))) : shared_metadata(index);
    if (object.children.size() + 2 >= entries.size())
      refuse(fmt::format("object '{}' has more child headers than its {} children", header.path, entries.size() - 2));
    child.entry = entries[object.children.size() + 1];
    object.children.push_back(std::move(child));
  }
  if (object.children.size() + 2 != entries.size())
    refuse(fmt::format("object '{}' has {} child headers for {} children", header.path, object.children.size(),
                       entries.size() - 2));
  return object;
}

Properties Archive::open(const Property& compound) const {
  if (compound.kind != PropertyKind::compound) refuse(fmt::format("{} is not a compound property", compound.path));
  return read_properties(compound.entry, compound.path);
}

Properties Archive::open(const Properties& properties, std::string_view name) const {
  const Property* property = find(properties, name);
  return property == nullptr ? Properties{} : open(*property);
}

Properties Archive::read_properties(Entry entry, const std::string& path) const {
  const std::vector<Entry> entries = container_.group(entry);
  Properties properties;
  if (entries.empty()) return properties;
  const std::vector<std::byte> bytes = container_.data(entries.back());
  Cursor cursor(container_, "property headers", bytes);
  while (!cursor.at_end()) {
    if (properties.size() + 1 >= entries.size())
      refuse(fmt::format("'{}' has more property headers than its {} properties", path, entries.size() - 1));
    Property property = read_header(cursor, path);
    property.entry = entries[properties.size()];
    properties.push_back(std::move(property));
  }
  if (properties.size() + 1 != entries.size())
    refuse(fmt::format("'{}' has {} property headers for {} properties", path, properties.size(), entries.size() - 1));
  return properties;
}

Property Archive::read_header(Cursor& cursor, const std::string& path) const {
  const HeaderBits bits{cursor.unsigned_of(4)};
  if (bits.width_code() > 2) refuse(fmt::format("a property of '{}' has number width {}", path, bits.width_code()));
  const std::size_t width = std::size_t{1} << bits.width_code();
  Property property;
  property.kind = bits.kind() == 0   ? PropertyKind::compound
                  : bits.kind() == 1 ? PropertyKind::scalar
                                     : PropertyKind::array;
  std::uint64_t first = 1;
  std::uint64_t last = 0;
  if (property.kind != PropertyKind::compound) {
    property.samples = static_cast<std::size_t>(cursor.unsigned_of(width));
    last = property.samples - 1;
    if (bits.constant()) first = last = 0;
    if (bits.has_changes()) {
      first = cursor.unsigned_of(width);
      last = cursor.unsigned_of(width);
    }
    if (bits.has_sampling()) property.sampling = static_cast<std::size_t>(cursor.unsigned_of(width));
  }
  property.name = printable(cursor.text(cursor.unsigned_of(width)));
  property.path = path + "/" + property.name;
  property.metadata = bits.metadata() == kInlineMetadata ? Metadata(printable(cursor.text(cursor.unsigned_of(width))))
                                                         : shared_metadata(static_cast<std::size_t>(bits.metadata()));
  if (property.kind == PropertyKind::compound) return property;

  if (bits.type() > static_cast<std::uint64_t>(ElementType::wide_string))
    refuse(fmt::format("{} has element type {}", property.path, bits.type()));
  property.type = static_cast<ElementType>(bits.type());
  property.extent = static_cast<std::size_t>(bits.extent());
  if (property.sampling >= samplings_.size())
    refuse(fmt::format("{} has time sampling {}, there are {}", property.path, property.sampling, samplings_.size()));
  if (property.samples > kMaxSamples)
    refuse(fmt::format("{} has {} samples, at most {} are read", property.path, property.samples, kMaxSamples));
  const TimeSampling& sampling = samplings_[property.sampling];
  if (sampling.acyclic && property.samples > sampling.times.size())
    refuse(fmt::format("{} has {} samples, its time sampling has {} times", property.path, property.samples,
                       sampling.times.size()));
  if (property.samples == 0) return property;
  // One sample cannot change, whatever the flag says.
  property.constant = (first == 0 && last == 0) || property.samples == 1;
  if (property.constant) first = last = 0;
  if (!property.constant && (first == 0 || first > last || last >= property.samples))
    refuse(fmt::format("{} changes from sample {} to {}, it has {} samples", property.path, first, last,
                       property.samples));
  property.first_change = static_cast<std::size_t>(first);
  property.last_change = static_cast<std::size_t>(last);
  return property;
}

}  // namespace sinew::alembic
