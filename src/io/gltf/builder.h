#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "io/gltf/meshopt.h"
#include "sinew/io/gltf.h"

namespace sinew::gltf {

using Json = nlohmann::json;

/// What a buffer view is for; decides the view's target.
enum class Use { data, vertices, indices };

/// Collects accessors and JSON of a GLB file. Every number goes to the one binary chunk, aligned to 4 bytes.
class GlbBuilder {
 public:
  Json root = Json::object();

  /// Adds an accessor over a view of its own. `width` components per element: 1, 2, 3, 4 or 16.
  std::size_t add_floats(std::span<const float> values, int width, Use use, bool bounds = false);
  std::size_t add_bytes(std::span<const std::uint8_t> values, int width, Use use);
  std::size_t add_shorts(std::span<const std::uint16_t> values, int width, Use use);
  std::size_t add_integers(std::span<const std::uint32_t> values, int width, Use use);
  std::size_t add_array(const GltfArray& array);

  /// Adds a view over encoded bytes, e.g. an image.
  std::size_t add_view(std::span<const std::byte> bytes, Use use = Use::data);

  /// Adds a view that stands for `view.count` elements and holds `coded`: EXT_meshopt_compression, or the KHR extension
  /// of the same streams. Declares it.
  std::size_t add_coded_view(const CompressedView& view, std::span<const std::byte> coded, Use use,
                             const char* extension);

  /// Appends to a root array and returns the index of the new entry.
  std::size_t append(const char* array, Json entry);

  /// Until close_view(), accessors for Use::data share one view.
  void open_view();
  void close_view();

  /// The complete file. Throws Error{output} when it is larger than GLB can be.
  std::vector<std::byte> finish();

 private:
  std::size_t add_accessor(std::span<const std::byte> bytes, GltfArray::Component component, int width, Use use);

  std::vector<std::byte> binary_;
  std::optional<std::size_t> open_view_;
  std::size_t open_offset_ = 0;
  std::size_t decoded_bytes_ = 0;  // that coded views stand for
  std::string coded_by_;           // the extension
};

/// Adds a root-level extension and its arrays. Throws Error{usage} where its JSON is not as GltfExtension says.
void add_extension(const GltfExtension& extension, GlbBuilder& out);

/// Names as they came, each given once: a number tells equals apart. Safe ones are those that engines leave alone:
/// letters, digits, '_', '-' and non-ASCII characters stay, the rest becomes '_'.
class Names {
 public:
  explicit Names(bool safe) : safe_(safe) {}

  std::string take(std::string_view wanted, std::string_view fallback);

 private:
  bool safe_;
  std::unordered_set<std::string> taken_;
};

}  // namespace sinew::gltf
