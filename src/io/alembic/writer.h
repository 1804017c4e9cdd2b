#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/alembic/archive.h"
#include "io/alembic/murmur3.h"
#include "io/alembic/ogawa.h"
#include "sinew/io/output_file.h"

/// Builds an Alembic archive from the leaves to the root: samples, properties, objects, archive. Equal samples are
/// stored once. The bytes depend on the calls alone.
namespace sinew::alembic {

/// Bytes of a block under construction.
class Block {
 public:
  template <class T>
  void put(T value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  /// The low `width` bytes of a number.
  void put_unsigned(std::uint64_t value, std::size_t width) {
    const auto bytes = std::as_bytes(std::span(&value, 1)).first(width);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put_text(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// A sample that lies in the file: where, and the key of its contents.
struct StoredSample {
  ogawa::Entry entry;
  Digest key;
};

/// A property whose samples (or, for a compound, whose properties) lie in the file.
struct WrittenProperty {
  std::string name;
  std::string metadata{};
  PropertyKind kind = PropertyKind::compound;
  ElementType type = ElementType::boolean;
  std::size_t extent = 0;
  std::size_t sampling = 0;
  std::vector<StoredSample> samples{};  // one per sample, holds repeated
  ogawa::Entry group{};                 // compound only
  Digest digest{};                      // compound only: of all that is in it
};

/// An object that lies in the file.
struct WrittenObject {
  std::string name;
  std::string metadata;
  ogawa::Entry group{};
  Digest digest{};
};

class Writer {
 public:
  explicit Writer(const std::filesystem::path& path);

  /// Stores one sample, or finds the one with the same contents.
  StoredSample sample(std::span<const std::byte> payload);
  template <class T>
  StoredSample sample(std::span<const T> values) {
    return sample(std::as_bytes(values));
  }

  WrittenProperty compound(std::string name, std::string metadata, const std::vector<WrittenProperty>& properties);
  WrittenObject object(std::string name, std::string metadata, const WrittenProperty& properties,
                       const std::vector<WrittenObject>& children);

  /// Writes the root and makes the file visible.
  void finish(const WrittenObject& top, const std::string& metadata,
              const std::vector<std::pair<TimeSampling, std::size_t>>& samplings);

 private:
  ogawa::Entry data(std::span<const std::byte> head, std::span<const std::byte> rest = {});
  ogawa::Entry group(const std::vector<ogawa::Entry>& entries);
  ogawa::Entry write_samples(const WrittenProperty& property);
  void put_header(const WrittenProperty& property, Block& headers);
  std::size_t metadata_index(const std::string& text);
  void append(std::span<const std::byte> bytes);
  void flush();

  OutputFile file_;
  std::uint64_t position_ = 0;  // of the next byte, those in the buffer included
  std::vector<std::byte> buffer_;
  std::map<std::pair<Digest, std::size_t>, ogawa::Entry> stored_;
  std::vector<std::string> metadata_;  // record i has index i + 1
  ogawa::Entry file_version_;
  ogawa::Entry library_version_;
};

}  // namespace sinew::alembic
