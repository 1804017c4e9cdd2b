#include "io/alembic/writer.h"

#include <algorithm>
#include <array>
#include <bit>

namespace sinew::alembic {
namespace {

using ogawa::Entry;

constexpr std::size_t kBufferSize = std::size_t{1} << 18;
constexpr std::int32_t kFileVersion = 0;
constexpr std::int32_t kLibraryVersion = 10808;  // whose layout this is
constexpr std::size_t kInlineMetadata = 255;
constexpr std::array<std::uint8_t, 8> kMagic{'O', 'g', 'a', 'w', 'a', 0xff, 0, 1};  // closed properly, version 1

/// When a property changes, as its header states it.
struct Changes {
  std::size_t first = 0;
  std::size_t last = 0;
  bool constant = true;
};

Changes changes_of(const std::vector<StoredSample>& samples) {
  Changes changes;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    if (samples[i].entry == samples[i - 1].entry) continue;
    if (changes.constant) changes.first = i;
    changes.constant = false;
    changes.last = i;
  }
  return changes;
}

}  // namespace

Writer::Writer(const std::filesystem::path& path) : file_(path) {
  append(std::as_bytes(std::span(kMagic)));
  const std::uint64_t root_later = 0;
  append(std::as_bytes(std::span(&root_later, 1)));
  file_version_ = data(std::as_bytes(std::span(&kFileVersion, 1)));
  library_version_ = data(std::as_bytes(std::span(&kLibraryVersion, 1)));
}

void Writer::append(std::span<const std::byte> bytes) {
  position_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBufferSize) flush();
  if (bytes.size() > kBufferSize)
    file_.write(bytes);
  else
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void Writer::flush() {
  file_.write(std::span<const std::byte>(buffer_));
  buffer_.clear();
}

Entry Writer::data(std::span<const std::byte> head, std::span<const std::byte> rest) {
  const std::uint64_t size = head.size() + rest.size();
  if (size == 0) return {true, 0};
  const Entry entry{true, position_};
  append(std::as_bytes(std::span(&size, 1)));
  append(head);
  append(rest);
  return entry;
}

Entry Writer::group(const std::vector<Entry>& entries) {
  if (entries.empty()) return {false, 0};
  const Entry entry{false, position_};
  Block block;
  block.put<std::uint64_t>(entries.size());
  for (const Entry& e : entries) block.put<std::uint64_t>(e.offset | (e.is_data ? ogawa::kDataBit : 0));
  append(block.bytes());
  return entry;
}

StoredSample Writer::sample(std::span<const std::byte> payload) {
  StoredSample sample{{true, 0}, murmur3(payload)};
  if (payload.empty()) return sample;  // an array without elements has no block
  const auto [known, added] = stored_.try_emplace({sample.key, payload.size()});
  if (added) known->second = data(std::as_bytes(std::span(&sample.key, 1)), payload);
  sample.entry = known->second;
  return sample;
}

Entry Writer::write_samples(const WrittenProperty& property) {
  const Changes changes = changes_of(property.samples);
  std::vector<Entry> entries;
  const auto add = [&](std::size_t i) {
    entries.push_back(property.samples[i].entry);
    if (property.kind == PropertyKind::array) entries.push_back({true, 0});  // one-dimensional: no dimensions needed
  };
  if (!property.samples.empty()) add(0);
  if (!changes.constant)
    for (std::size_t i = changes.first; i <= changes.last; ++i) add(i);
  return group(entries);
}

std::size_t Writer::metadata_index(const std::string& text) {
  if (text.empty()) return 0;
  const auto known = std::ranges::find(metadata_, text);
  if (known != metadata_.end()) return static_cast<std::size_t>(known - metadata_.begin()) + 1;
  if (text.size() > 255 || metadata_.size() + 1 >= kInlineMetadata) return kInlineMetadata;
  metadata_.push_back(text);
  return metadata_.size();
}

void Writer::put_header(const WrittenProperty& property, Block& headers) {
  const std::size_t metadata = metadata_index(property.metadata);
  const std::size_t inline_length = metadata == kInlineMetadata ? property.metadata.size() : 0;
  const Changes changes = changes_of(property.samples);
  const std::size_t count = property.samples.size();
  const std::size_t largest = std::max({property.name.size(), inline_length, count, property.sampling});
  const std::size_t width_code = largest < 0x100 ? 0 : largest < 0x10000 ? 1 : 2;
  const std::size_t width = std::size_t{1} << width_code;
  const bool compound = property.kind == PropertyKind::compound;
  const bool store_changes = !changes.constant && (changes.first != 1 || changes.last != count - 1);
  std::uint64_t bits = width_code << 2 | metadata << 20;
  if (!compound) {
    bits |= property.kind == PropertyKind::scalar ? 1 : 2;
    bits |= static_cast<std::uint64_t>(property.type) << 4 | property.extent << 12;
    if (property.sampling != 0) bits |= 1 << 8;
    if (store_changes) bits |= 1 << 9;
    if (property.kind == PropertyKind::scalar || property.extent == 1) bits |= 1 << 10;  // as the library does
    if (changes.constant) bits |= 1 << 11;
  }
  headers.put_unsigned(bits, 4);
  if (!compound) {
    headers.put_unsigned(count, width);
    if (store_changes) {
      headers.put_unsigned(changes.first, width);
      headers.put_unsigned(changes.last, width);
    }
    if (property.sampling != 0) headers.put_unsigned(property.sampling, width);
  }
  headers.put_unsigned(property.name.size(), width);
  headers.put_text(property.name);
  if (metadata != kInlineMetadata) return;
  headers.put_unsigned(inline_length, width);
  headers.put_text(property.metadata);
}

WrittenProperty Writer::compound(std::string name, std::string metadata,
                                 const std::vector<WrittenProperty>& properties) {
  WrittenProperty out{.name = std::move(name), .metadata = std::move(metadata)};
  if (properties.empty()) return out;
  std::vector<Entry> entries;
  Block headers;
  Block digests;
  for (const WrittenProperty& property : properties) {
    const bool is_compound = property.kind == PropertyKind::compound;
    entries.push_back(is_compound ? property.group : write_samples(property));
    put_header(property, headers);
    digests.put_text(property.name);
    if (is_compound) digests.put(property.digest);
    for (const StoredSample& sample : property.samples) digests.put(sample.key);
  }
  entries.push_back(data(headers.bytes()));
  out.group = group(entries);
  out.digest = murmur3(digests.bytes());
  return out;
}

WrittenObject Writer::object(std::string name, std::string metadata, const WrittenProperty& properties,
                             const std::vector<WrittenObject>& children) {
  WrittenObject out{.name = std::move(name), .metadata = std::move(metadata)};
  std::vector<Entry> entries{properties.group};
  Block headers;
  Block digests;
  for (const WrittenObject& child : children) {
    entries.push_back(child.group);
    headers.put_unsigned(child.name.size(), 4);
    headers.put_text(child.name);
    const std::size_t index = metadata_index(child.metadata);
    headers.put_unsigned(index, 1);
    if (index == kInlineMetadata) {
      headers.put_unsigned(child.metadata.size(), 4);
      headers.put_text(child.metadata);
    }
    digests.put_text(child.name);
    digests.put(child.digest);
  }
  // Two digests that let programs see at a glance whether properties or children of two objects differ.
  const Digest below = children.empty() ? Digest{} : murmur3(digests.bytes());
  headers.put(properties.digest);
  headers.put(below);
  entries.push_back(data(headers.bytes()));
  out.group = group(entries);
  digests.put(properties.digest);
  out.digest = murmur3(digests.bytes());
  metadata_index(out.metadata);  // numbered in the library's order: right after the object's own properties
  return out;
}

void Writer::finish(const WrittenObject& top, const std::string& metadata,
                    const std::vector<std::pair<TimeSampling, std::size_t>>& samplings) {
  Block times;
  for (const auto& [sampling, samples] : samplings) {
    times.put_unsigned(samples, 4);
    times.put(sampling.period);
    times.put_unsigned(sampling.times.size(), 4);
    for (const double time : sampling.times) times.put(time);
  }
  Block records;
  for (const std::string& text : metadata_) {
    records.put_unsigned(text.size(), 1);
    records.put_text(text);
  }
  const Entry text = data(std::as_bytes(std::span(metadata)));
  const Entry time_entry = data(times.bytes());
  const Entry record_entry = data(records.bytes());
  const Entry root = group({file_version_, library_version_, top.group, text, time_entry, record_entry});
  flush();
  file_.overwrite(kMagic.size(), std::as_bytes(std::span(&root.offset, 1)));
  file_.commit();
}

}  // namespace sinew::alembic
