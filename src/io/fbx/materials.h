#pragma once

#include <map>

#include "io/fbx/objects.h"
#include "sinew/core/mesh.h"

namespace sinew::fbx {

/// The materials of a mesh as objects of a file: each once, when it is first asked for.
class MaterialObjects {
 public:
  MaterialObjects(const Mesh& mesh, ObjectList& objects) : mesh_(mesh), objects_(objects) {}

  /// The object of a material; -1: a plain one for faces without any.
  Id id(int material);

 private:
  Id texture(std::size_t index, const std::string& uv_set);
  Id video(std::size_t image);

  const Mesh& mesh_;
  ObjectList& objects_;
  std::map<int, Id> materials_;
  std::map<std::size_t, Id> videos_;
};

}  // namespace sinew::fbx
