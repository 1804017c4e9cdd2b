#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/alembic/ogawa.h"

/// Alembic over Ogawa: objects with properties, properties with samples. Knows the layout, not what the properties of
/// a mesh or a transform mean.
namespace sinew::alembic {

/// "key=value;key=value"
class Metadata {
 public:
  Metadata() = default;
  explicit Metadata(std::string text) : text_(std::move(text)) {}

  const std::string& text() const { return text_; }
  /// The value of a key; empty when there is none.
  std::string_view operator[](std::string_view key) const;

 private:
  std::string text_;
};

/// When the samples of a property are taken. Invariant: times is not empty, finite and strictly increasing; period is
/// positive and, unless acyclic, longer than the times of one cycle.
struct TimeSampling {
  double period = 1;
  std::vector<double> times{0};  // one: uniform; several: of one cycle, or all of them when acyclic
  bool acyclic = false;

  /// Seconds of a sample. Precondition when acyclic: sample < times.size().
  double time(std::size_t sample) const;
};

enum class PropertyKind { compound, scalar, array };

/// In the order of their numbers in the file.
enum class ElementType {
  boolean,
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  uint64,
  int64,
  float16,
  float32,
  float64,
  string,
  wide_string,
};

/// Bytes of one element; 0 for strings.
std::size_t element_size(ElementType type);

/// One property of an object, without its samples. Invariant: first <= last < samples when there are samples.
struct Property {
  std::string name;
  std::string path;  // "/object/.geom/P", for sentences
  Metadata metadata;
  PropertyKind kind = PropertyKind::compound;
  ElementType type = ElementType::boolean;
  std::size_t extent = 1;  // elements per item, 3 for a point
  std::size_t samples = 0;
  std::size_t first_change = 0;  // samples before it equal sample 0
  std::size_t last_change = 0;   // samples after it equal it
  bool constant = false;
  std::size_t sampling = 0;  // index into Archive::samplings()
  ogawa::Entry entry;

  bool is(ElementType wanted, std::size_t wanted_extent) const {
    return kind != PropertyKind::compound && type == wanted && extent == wanted_extent;
  }
};

using Properties = std::vector<Property>;

/// The property of this name, or null.
const Property* find(const Properties& properties, std::string_view name);

struct ObjectHeader {
  std::string name;
  std::string path;  // "/grp/mesh"; empty for the top object
  Metadata metadata;
  ogawa::Entry entry;
};

struct Object {
  Properties properties;
  std::vector<ObjectHeader> children;
};

/// The samples of a scalar or array property. Payloads are checked against the key that is stored with them.
class Samples {
 public:
  Samples() = default;
  Samples(const ogawa::Archive& archive, const Property& property);

  bool empty() const { return property_.samples == 0; }
  const Property& property() const { return property_; }

  /// Where sample i is stored; equal entries hold equal samples. Numbers beyond the last sample mean the last.
  ogawa::Entry entry(std::size_t i) const;

  /// Number of items in sample i, without reading it.
  std::size_t items(std::size_t i) const;

  /// Reads sample i straight into `payload`, which has its size.
  void read(std::size_t i, std::span<std::byte> payload) const;

  /// The elements of sample i. Precondition: T has the element's size.
  template <class T>
  std::vector<T> values(std::size_t i) const {
    archive_->charge(sizeof(T) * property_.extent * items(i));
    std::vector<T> out(items(i) * property_.extent);
    read(i, std::as_writable_bytes(std::span(out)));
    return out;
  }

  /// Sample i of a scalar string.
  std::string text(std::size_t i) const;

 private:
  const ogawa::Archive* archive_ = nullptr;
  Property property_;
  std::vector<ogawa::Entry> slots_;  // stored samples
};

/// Longest time line, deepest nesting and largest number of objects that are accepted.
inline constexpr std::size_t kMaxSamples = std::size_t{1} << 22;
inline constexpr std::size_t kMaxDepth = 256;
inline constexpr std::size_t kMaxObjects = std::size_t{1} << 20;

class Archive {
 public:
  explicit Archive(ogawa::Source source);

  const ogawa::Archive& container() const { return container_; }
  int library_version() const { return library_version_; }
  const Metadata& metadata() const { return metadata_; }
  const std::vector<TimeSampling>& samplings() const { return samplings_; }
  const ObjectHeader& top() const { return top_; }

  Object open(const ObjectHeader& header) const;
  Properties open(const Property& compound) const;
  Samples samples(const Property& property) const { return {container_, property}; }

  /// Properties of a compound property of that name; empty when there is none.
  Properties open(const Properties& properties, std::string_view name) const;

  [[noreturn]] void refuse(const std::string& sentence) const { container_.refuse(sentence); }

 private:
  Properties read_properties(ogawa::Entry entry, const std::string& path) const;
  Property read_header(ogawa::Cursor& cursor, const std::string& path) const;
  void read_samplings(ogawa::Entry entry);
  void read_shared_metadata(ogawa::Entry entry);
  Metadata shared_metadata(std::size_t index) const;

  ogawa::Archive container_;
  int library_version_ = 0;
  Metadata metadata_;
  std::vector<TimeSampling> samplings_;
  std::vector<Metadata> shared_;
  ObjectHeader top_;
};

}  // namespace sinew::alembic
