#pragma once

#include <map>
#include <string>
#include <vector>

#include "pack/rounded.h"
#include "pack/vertex_order.h"
#include "sinew/pack/pack.h"

namespace sinew::pack {

/// The file. `normals` are those of the source rig at its control points, where its mesh has none of its own.
std::vector<std::byte> packed_glb(const Rounded& rounded, const std::vector<DrawnPiece>& pieces, const Points& normals,
                                  const PackOptions& options);

/// Bytes of a GLB by the part of the rig that they belong to; "JSON" holds what is left.
std::map<std::string, std::size_t> bytes_by_part(const std::vector<std::byte>& glb);

}  // namespace sinew::pack
