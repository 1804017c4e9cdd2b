#pragma once

#include <vector>

#include "pack/vertex_order.h"
#include "sinew/core/rig.h"

/// Normals of packed files. `normals` are those of the source rig at its control points, where its mesh has none of its
/// own.
namespace sinew::pack {

/// Unit normals of the vertices of a piece, ×4 with an unused last number.
std::vector<float> normals_of(const Rig& rig, const DrawnPiece& piece, const Points& normals);

/// Bytes of a coded normal.
std::size_t bytes_of_normal(int bits);

/// RMS angle in degrees between the normals of the pieces and what is left of them at this precision.
double normals_lost(const Rig& rig, const std::vector<DrawnPiece>& pieces, const Points& normals, int bits);

}  // namespace sinew::pack
