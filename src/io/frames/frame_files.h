#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sinew/core/sequence.h"

/// Folders with a file for every frame, in formats that hold one mesh.
namespace sinew {

/// Positions of a frame whose faces must be those of the mesh; the text stands for the file in sentences.
using ParseFrame = std::function<Points(std::span<const std::byte>, const std::string&, const Mesh&)>;

inline constexpr std::size_t kLeastObjVertex = 7;  // bytes of the shortest line
inline constexpr std::size_t kLeastPlyVertex = 3;  // bytes, of one byte per coordinate

/// Frames in the given order over a rest mesh that has their faces; no vertex takes fewer bytes than `least_bytes`.
/// Throws Error{input} naming the first frame that differs.
Frames read_frame_files(const std::vector<std::filesystem::path>& paths, const Mesh& rest, const ParseFrame& parse,
                        std::size_t least_bytes, const Paging& paging = {});

/// Files of a folder with that extension in natural order (frame2 before frame10), the rest pose left out.
std::vector<std::filesystem::path> list_frame_files(const std::filesystem::path& folder, std::string_view extension);

}  // namespace sinew
