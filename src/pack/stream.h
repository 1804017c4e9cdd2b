#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/gltf/builder.h"

/// Numbers of a packed file on their way into coded views.
namespace sinew::pack {

/// Elements of equal size that become one coded view, and the accessors over it.
class Stream {
 public:
  Stream(std::size_t stride, gltf::Use use, std::string filter = "")
      : view_{"ATTRIBUTES", std::move(filter), 0, stride}, use_(use) {}

  std::size_t size() const { return bytes_.size(); }
  template <class T>
  void put(const T& value) {
    put(&value, sizeof(T));
  }
  void put(const void* from, std::size_t size);
  void pad() { bytes_.resize((bytes_.size() + view_.stride - 1) / view_.stride * view_.stride); }

  /// An accessor over what was put since `from`. The view's number is filled in by finish().
  std::size_t accessor(gltf::GlbBuilder& out, std::size_t from, GltfArray::Component component, const char* type,
                       bool normalized);
  /// The same, where an accessor that already holds these elements serves again.
  std::size_t shared_accessor(gltf::GlbBuilder& out, std::size_t from, GltfArray::Component component, const char* type,
                              bool normalized);
  void finish(gltf::GlbBuilder& out, const char* extension);

 private:
  gltf::CompressedView view_;
  gltf::Use use_;
  std::vector<std::byte> bytes_;
  std::vector<std::size_t> accessors_;
  std::map<std::string, std::size_t> known_;  // accessors by what they hold
};

/// The number that prints shortest among those that are this float.
double shortest(float x);

/// Floats as whole multiples of a power of two: 24 bits and the exponent, as filter EXPONENTIAL takes them.
std::uint32_t exponential(float x, int exponent);

}  // namespace sinew::pack
