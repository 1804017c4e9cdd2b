#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "sinew/core/progress.h"
#include "sinew/io/io.h"
#include "sinew/io/point_cache.h"

/// MDD (LightWave Motion Designer): int32 frames, int32 points, float32 seconds per frame's time, then float32 xyz per
/// point per frame, all big-endian.
namespace sinew {

/// `name` stands for the bytes in error sentences. Throws Error{input} when counts are not positive or promise more
/// than the bytes hold, or a position is not finite. Times that do not increase are replaced by uniform ones, and bytes
/// after the last frame are left out, both with a warning.
PointCache parse_mdd(std::span<const std::byte> bytes, const std::string& name, const Warnings& warn = {});
PointCache read_mdd(const std::filesystem::path& path, const Warnings& warn = {}, const Paging& paging = {});

/// Throws Error{output}.
void write_mdd(const std::filesystem::path& path, const Frames& frames, std::span<const double> times,
               const Progress& progress = {});

}  // namespace sinew
