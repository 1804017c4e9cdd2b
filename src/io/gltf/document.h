#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sinew/core/types.h"
#include "sinew/io/gltf.h"

namespace sinew::gltf {

using Json = nlohmann::json;

/// A glTF file taken apart: its JSON and its buffers, with access that refuses whatever does not fit. Every function
/// throws Error{input} with a sentence that starts with the file's name.
class Document {
 public:
  /// `bytes` must outlive the document. Checks the container, the JSON and the version, and refuses required
  /// extensions that change what the file means.
  Document(std::span<const std::byte> bytes, std::filesystem::path folder, std::string name);

  const Json& root() const { return root_; }
  const std::string& name() const { return name_; }
  [[noreturn]] void refuse(const std::string& sentence) const;

  /// Root arrays: number of entries (0 when absent) and an entry, which is an object.
  std::size_t size(const char* array) const;
  const Json& at(const char* array, std::size_t index) const;

  /// Members of an object. `where` names the object in sentences.
  const Json* find(const Json& object, const char* key) const;
  const Json& array(const Json& object, const char* key, const std::string& where) const;  // empty when absent
  std::optional<std::size_t> index(const Json& object, const char* key, const char* array,
                                   const std::string& where) const;
  std::size_t required_index(const Json& object, const char* key, const char* array, const std::string& where) const;
  std::size_t index_value(const Json& value, const char* array, const std::string& where) const;
  std::size_t unsigned_value(const Json& object, const char* key, std::size_t fallback, const std::string& where) const;
  std::string text(const Json& object, const char* key) const;  // empty when absent
  std::vector<double> numbers(const Json& object, const char* key, std::size_t count,
                              const std::string& where) const;  // empty when absent

  /// Number of elements of an accessor.
  std::size_t element_count(std::size_t accessor) const;
  /// Elements of an accessor as float, n×width; normalised integers are scaled, sparse ones filled in. Refuses numbers
  /// that are not finite.
  std::vector<float> floats(std::size_t accessor, int width, const std::string& where) const;
  /// Elements of an accessor of unsigned integers, n×width.
  std::vector<Index> integers(std::size_t accessor, int width, const std::string& where) const;
  /// Elements of an accessor as stored, tightly packed; sparse accessors are refused.
  GltfArray packed(std::size_t accessor) const;
  int width(std::size_t accessor) const;           // components per element
  int component_type(std::size_t accessor) const;  // as in the file, e.g. 5126

  /// The bytes of a buffer view, decompressed where it is compressed by EXT_ or KHR_meshopt_compression.
  std::span<const std::byte> view(std::size_t index) const;
  /// The bytes behind a data: URI or a relative path; `mime` receives the media type of a data URI.
  std::vector<std::byte> fetch(const std::string& uri, const std::string& where, std::string* mime = nullptr) const;

 private:
  struct Layout;

  void parse_container(std::span<const std::byte> bytes);
  void parse_json(std::span<const std::byte> text);
  void check_extensions() const;
  void load_buffers(std::span<const std::byte> binary);
  std::span<const std::byte> slice(const Json& object, const std::string& where) const;
  Layout layout(std::size_t accessor) const;
  template <class T>
  std::vector<T> elements(std::size_t accessor, int width, const std::string& where) const;
  template <class T>
  void fill_sparse(const Json& sparse, const Layout& layout, const std::string& where, std::vector<T>& out) const;

  std::filesystem::path folder_;
  std::string name_;
  Json root_;
  std::vector<std::vector<std::byte>> loaded_;                      // buffers that are not the GLB's own
  std::vector<std::span<const std::byte>> buffers_;                 // one per glTF buffer
  std::vector<std::string> unreadable_;                             // why a buffer has no bytes, empty when it has
  mutable std::map<std::size_t, std::vector<std::byte>> unpacked_;  // compressed views that were asked for
  mutable std::size_t total_bytes_ = 0;                             // of the file, its buffers and unpacked views
  mutable std::size_t decoded_ = 0;                                 // numbers handed out so far
};

}  // namespace sinew::gltf
