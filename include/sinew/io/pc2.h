#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "sinew/core/progress.h"
#include "sinew/io/io.h"
#include "sinew/io/output_file.h"
#include "sinew/io/point_cache.h"

/// PointCache2: "POINTCACHE2\0", int32 version 1, int32 points, float32 start, float32 rate, int32 samples, then
/// float32 xyz per point per sample, little-endian. `start` and `rate` count frames, of kDefaultSecondsPerFrame each;
/// times start at 0 whatever `start` says.
namespace sinew {

/// `name` stands for the bytes in error sentences. Throws Error{input} when the header is not that of a PC2 file,
/// counts are not positive or promise more than the bytes hold, or a position is not finite. A rate that is not
/// positive is read as 1, and bytes after the last sample are left out, both with a warning.
PointCache parse_pc2(std::span<const std::byte> bytes, const std::string& name, const Warnings& warn = {});
PointCache read_pc2(const std::filesystem::path& path, const Warnings& warn = {}, const Paging& paging = {});

/// A PC2 file that is written frame by frame; it appears when it is committed. Throws Error{output}.
class Pc2File {
 public:
  /// `rate` is the spacing of frames in units of kDefaultSecondsPerFrame.
  Pc2File(const std::filesystem::path& path, std::size_t frames, std::size_t vertices, float rate = 1);
  void add(const Eigen::Ref<const Points>& frame);  // vertices columns, as many times as there are frames
  void commit();

 private:
  OutputFile file_;
  std::filesystem::path path_;
  std::size_t left_;
  std::size_t vertices_;
};

/// The rate is the mean spacing of `times`, since PC2 has no other. Throws Error{output}.
void write_pc2(const std::filesystem::path& path, const Frames& frames, std::span<const double> times,
               const Progress& progress = {});

}  // namespace sinew
