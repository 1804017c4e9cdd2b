#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "sinew/core/error.h"
#include "sinew/io/io.h"
#include "sinew/io/obj.h"
#include "sinew/io/pc2.h"

namespace sinew {
namespace {

namespace fs = std::filesystem;

std::string lower_extension(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension;
}

[[noreturn]] void refuse(const std::string& sentence) {
  throw Error(ErrorKind::input, sentence);
}

// --- Formats of positions only, which need a rest mesh beside them.

using ReadCache = PointCache (*)(const fs::path&, const Warnings&);

struct CacheFormat {
  std::string_view extension;
  ReadCache read;
};

constexpr std::array kCacheFormats{CacheFormat{".pc2", read_pc2}};

const CacheFormat* cache_format(const fs::path& path) {
  const std::string extension = lower_extension(path);
  for (const CacheFormat& format : kCacheFormats)
    if (format.extension == extension) return &format;
  return nullptr;
}

Sequence read_cache(const fs::path& rest, const fs::path& cache_path, const ReadOptions& options) {
  Sequence sequence;
  sequence.rest = read_obj(rest);
  PointCache cache = cache_format(cache_path)->read(cache_path, options.warn);
  if (cache.frames.vertex_count() != sequence.vertex_count())
    refuse(fmt::format("{}: {} points, {} has {} vertices", cache_path.string(), cache.frames.vertex_count(),
                       rest.string(), sequence.vertex_count()));
  sequence.name = cache_path.stem().string();
  sequence.frames = std::move(cache.frames);
  sequence.times = std::move(cache.times);
  return sequence;
}

// --- OBJ files and folders.

Sequence read_single_obj(const fs::path& path) {
  Sequence sequence;
  sequence.name = path.stem().string();
  sequence.rest = read_obj(path);
  sequence.frames = Frames(1, sequence.vertex_count());
  sequence.frames[0] = sequence.rest.positions;
  sequence.times = uniform_times(1);
  return sequence;
}

Sequence read_folder(const fs::path& folder, const ReadOptions& options) {
  const fs::path rest = folder / "rest.obj";
  Sequence sequence;
  if (fs::exists(rest))
    for (const CacheFormat& format : kCacheFormats) {
      const fs::path cache = folder / fmt::format("frames{}", format.extension);
      if (fs::exists(cache)) {
        sequence = read_cache(rest, cache, options);
        sequence.name = fs::absolute(folder).lexically_normal().filename().string();
        return sequence;
      }
    }
  const std::vector<fs::path> frames = list_obj_frames(folder);
  if (frames.empty()) refuse(fmt::format("{}: a folder without OBJ frames", folder.string()));
  sequence.name = fs::absolute(folder).lexically_normal().filename().string();
  sequence.rest = read_obj(fs::exists(rest) ? rest : frames.front());
  sequence.frames = read_obj_frames(frames, sequence.rest);
  sequence.times = uniform_times(frames.size());
  return sequence;
}

Sequence read_one(const fs::path& path, const ReadOptions& options) {
  if (fs::is_directory(path)) return read_folder(path, options);
  if (!fs::exists(path)) refuse(fmt::format("{}: no such file or folder", path.string()));
  if (lower_extension(path) == ".obj") return read_single_obj(path);
  if (cache_format(path) != nullptr) {
    const fs::path rest = fs::path(path).replace_extension(".obj");
    if (!fs::exists(rest))
      refuse(fmt::format("{}: holds positions only; give its mesh before it, or put it beside as {}", path.string(),
                         rest.filename().string()));
    return read_cache(rest, path, options);
  }
  refuse(fmt::format("{}: not a format that can be read", path.string()));
}

}  // namespace

Sequence read_sequence(const std::vector<fs::path>& paths, const ReadOptions& options) {
  Sequence sequence;
  if (paths.size() == 1) {
    sequence = read_one(paths[0], options);
  } else if (paths.size() == 2 && lower_extension(paths[0]) == ".obj" && cache_format(paths[1]) != nullptr) {
    sequence = read_cache(paths[0], paths[1], options);
  } else {
    throw Error(ErrorKind::usage, "a sequence is one file or folder, or REST.obj followed by a .pc2 or .mdd file");
  }
  sequence.check();
  return sequence;
}

}  // namespace sinew
