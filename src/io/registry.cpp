#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <optional>

#include "io/frame_choice.h"
#include "io/frames/frame_files.h"
#include "io/scene/sequence_times.h"
#include "sinew/core/error.h"
#include "sinew/io/alembic.h"
#include "sinew/io/bvh.h"
#include "sinew/io/fbx.h"
#include "sinew/io/gltf.h"
#include "sinew/io/io.h"
#include "sinew/io/mdd.h"
#include "sinew/io/npz.h"
#include "sinew/io/obj.h"
#include "sinew/io/output_file.h"
#include "sinew/io/pc2.h"
#include "sinew/io/ply.h"
#include "sinew/io/two_layer_gltf.h"
#include "sinew/io/usd.h"

namespace sinew {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& sentence) {
  throw Error(ErrorKind::input, sentence);
}

// --- One row per extension; null where the format cannot do that.

struct Format {
  std::string_view extension;
  Sequence (*read_sequence)(const fs::path&, const ReadOptions&) = nullptr;
  PointCache (*read_cache)(const fs::path&, const Warnings&,
                           const Paging&) = nullptr;  // positions only: a rest mesh comes beside it
  Rig (*read_rig)(const fs::path&, const ReadOptions&) = nullptr;
  void (*write_sequence)(const fs::path&, const Sequence&, const Progress&) = nullptr;
  void (*write_rig)(const fs::path&, const Rig&, const WriteOptions&) = nullptr;
  bool keeps_shear = false;                           // write_rig writes bones that shear as they are
  bool bakes_shear = false;                           // or with WriteOptions::bake_shear
  bool (*has_two_layers)(const fs::path&) = nullptr;  // without a look at the rest of the file
  Mesh (*read_mesh)(const fs::path&) = nullptr;       // one mesh: a folder of such files is a sequence
  Points (*parse_frame)(std::span<const std::byte>, const std::string&, const Mesh&) = nullptr;
  std::size_t least_vertex_bytes = 1;
  bool selects_frames = false;  // read_sequence takes the rest frame and leaves out frames as the options ask
};

template <auto read_mesh>
Sequence read_single_mesh(const fs::path& path, const ReadOptions& options);
Sequence read_npz_file(const fs::path& path, const ReadOptions& options);
template <auto write_cache>
void write_cache_and_rest(const fs::path& path, const Sequence& sequence, const Progress& progress);
bool has_two_layer_extension(const fs::path& path);
void write_bvh_file(const fs::path& path, const Rig& rig, const WriteOptions& options);
void write_glb_file(const fs::path& path, const Rig& rig, const WriteOptions& options);
void write_single_obj(const fs::path& path, const Sequence& sequence, const Progress& progress);
void write_usd_file(const fs::path& path, const Rig& rig, const WriteOptions& options);

constexpr std::array kFormats{
    Format{.extension = ".obj",
           .read_sequence = read_single_mesh<read_obj>,
           .write_sequence = write_single_obj,
           .read_mesh = read_obj,
           .parse_frame = parse_obj_frame,
           .least_vertex_bytes = kLeastObjVertex},
    Format{.extension = ".ply",
           .read_sequence = read_single_mesh<read_ply>,
           .read_mesh = read_ply,
           .parse_frame = parse_ply_frame,
           .least_vertex_bytes = kLeastPlyVertex},
    Format{.extension = ".pc2", .read_cache = read_pc2, .write_sequence = write_cache_and_rest<write_pc2>},
    Format{.extension = ".mdd", .read_cache = read_mdd, .write_sequence = write_cache_and_rest<write_mdd>},
    Format{.extension = ".abc", .read_sequence = read_alembic, .write_sequence = write_alembic, .selects_frames = true},
    Format{.extension = ".fbx",
           .read_sequence = read_fbx_sequence,
           .read_rig = read_fbx_rig,
           .write_rig = write_fbx,
           .bakes_shear = true},
    Format{.extension = ".glb",
           .read_sequence = read_gltf_sequence,
           .read_rig = read_gltf_rig,
           .write_rig = write_glb_file,
           .keeps_shear = true,
           .has_two_layers = has_two_layer_extension},
    Format{.extension = ".gltf",
           .read_sequence = read_gltf_sequence,
           .read_rig = read_gltf_rig,
           .has_two_layers = has_two_layer_extension},
    Format{.extension = ".usda",
           .read_sequence = read_usd_sequence,
           .read_rig = read_usd_rig,
           .write_sequence = write_usd_sequence,
           .write_rig = write_usd_file,
           .selects_frames = true},
    Format{.extension = ".usdz",
           .read_sequence = read_usd_sequence,
           .read_rig = read_usd_rig,
           .write_sequence = write_usd_sequence,
           .write_rig = write_usd_file,
           .selects_frames = true},
    Format{.extension = ".usd", .read_sequence = read_usd_sequence, .read_rig = read_usd_rig, .selects_frames = true},
    Format{.extension = ".usdc", .read_sequence = read_usd_sequence, .read_rig = read_usd_rig, .selects_frames = true},
    Format{.extension = ".bvh", .write_rig = write_bvh_file},
    Format{.extension = ".npz", .read_sequence = read_npz_file, .write_sequence = write_npz},
};

/// The row of a path's extension, or an empty one.
const Format& format_of(const fs::path& path) {
  static constexpr Format kUnknown{};
  const std::string extension = lower_extension(path);
  for (const Format& format : kFormats)
    if (format.extension == extension) return format;
  return kUnknown;
}

bool can(const Format& format, FileUse use) {
  switch (use) {
    case FileUse::read_sequence:
      return format.read_sequence != nullptr;
    case FileUse::read_positions:
      return format.read_cache != nullptr;
    case FileUse::read_rig:
      return format.read_rig != nullptr;
    case FileUse::write_sequence:
      return format.write_sequence != nullptr;
    case FileUse::write_rig:
      return format.write_rig != nullptr;
    case FileUse::write_and_read_rig:
      return format.write_rig != nullptr && format.read_rig != nullptr;
    case FileUse::write_shear:
      return format.write_rig != nullptr && format.keeps_shear;
    case FileUse::bake_shear:
      return format.write_rig != nullptr && format.bakes_shear;
  }
  return false;
}

/// ".pc2, .mdd", for sentences.
std::string list_for(FileUse use) {
  return fmt::format("{}", fmt::join(extensions_for(use), ", "));
}

// --- Reading.

/// Whether there is such a file or folder; one that we have no right to look at counts as absent.
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::string folder_name(const fs::path& folder) {
  std::error_code ignored;
  const fs::path whole = fs::absolute(folder, ignored).lexically_normal();
  return (whole.filename().empty() ? whole.parent_path() : whole).filename().string();
}

template <auto read_mesh>
Sequence read_single_mesh(const fs::path& path, const ReadOptions&) {
  Sequence sequence;
  sequence.name = path.stem().string();
  sequence.rest = read_mesh(path);
  sequence.frames = Frames(1, sequence.vertex_count());
  sequence.frames[0] = sequence.rest.positions;
  sequence.times = uniform_times(1);
  return sequence;
}

Sequence read_npz_file(const fs::path& path, const ReadOptions& options) {
  return read_npz(path, options.paging);
}

Sequence read_cache(const fs::path& rest, const fs::path& cache_path, const ReadOptions& options) {
  Sequence sequence;
  sequence.rest = read_obj(rest);
  PointCache cache = format_of(cache_path).read_cache(cache_path, options.warn, options.paging);
  if (cache.frames.vertex_count() != sequence.vertex_count())
    refuse(fmt::format("{}: {} points, {} has {} vertices", cache_path.string(), cache.frames.vertex_count(),
                       rest.string(), sequence.vertex_count()));
  sequence.name = cache_path.stem().string();
  sequence.frames = std::move(cache.frames);
  sequence.times = std::move(cache.times);
  return sequence;
}

/// A sequence, and whether it holds only the frames that the options ask for.
struct Loaded {
  Sequence sequence;
  bool selected = false;
};

/// A folder with a file for every frame.
Loaded read_frame_folder(const fs::path& folder, const std::vector<fs::path>& all, const Format& format,
                         const ReadOptions& options) {
  const fs::path rest = folder / fmt::format("rest{}", format.extension);
  std::vector<fs::path> wanted;
  Loaded loaded{{}, true};
  for (std::size_t f = 0; f < all.size(); ++f) {
    if (f < options.first_frame || f >= options.last_frame || (f - options.first_frame) % options.frame_step != 0)
      continue;
    wanted.push_back(all[f]);
    loaded.sequence.times.push_back(static_cast<double>(f) * kDefaultSecondsPerFrame);
  }
  if (wanted.empty())
    throw Error(ErrorKind::usage, fmt::format("frames {}:{}:{} of {} select nothing", options.first_frame,
                                              options.last_frame, options.frame_step, all.size()));
  loaded.sequence.name = folder_name(folder);
  loaded.sequence.rest = format.read_mesh(is_there(rest) ? rest : all.front());
  loaded.sequence.frames =
      read_frame_files(wanted, loaded.sequence.rest, format.parse_frame, format.least_vertex_bytes, options.paging);
  return loaded;
}

Loaded read_folder(const fs::path& folder, const ReadOptions& options) {
  const fs::path rest = folder / "rest.obj";
  for (const Format& format : kFormats) {
    const fs::path cache = folder / fmt::format("frames{}", format.extension);
    if (format.read_cache == nullptr || !is_there(cache) || !is_there(rest)) continue;
    Loaded loaded{read_cache(rest, cache, options), false};
    loaded.sequence.name = folder_name(folder);
    return loaded;
  }
  std::vector<std::string_view> extensions;
  for (const Format& format : kFormats) {
    if (format.parse_frame == nullptr) continue;
    extensions.push_back(format.extension);
    const std::vector<fs::path> frames = list_frame_files(folder, format.extension);
    if (!frames.empty()) return read_frame_folder(folder, frames, format, options);
  }
  refuse(fmt::format("{}: the folder has no frames ({}), nor rest.obj with frames.pc2 or frames.mdd", folder.string(),
                     fmt::join(extensions, ", ")));
}

/// How to make a file that can be read out of one that people have.
std::string way_to_convert(const std::string& extension) {
  const auto is = [&](std::initializer_list<const char*> list) {
    return std::find(list.begin(), list.end(), extension) != list.end();
  };
  if (is({".blend", ".dae"})) return "; in Blender: open or import it, File > Export > glTF 2.0 or Alembic";
  if (is({".max", ".ma", ".mb", ".c4d", ".hip"})) return "; export it there as Alembic, FBX or glTF";
  if (extension == ".vrm") return "; it is a .glb by another name: rename it";
  if (extension == ".stl") return "; it holds one mesh that does not move: animate it first";
  return "";
}

Loaded read_one(const fs::path& path, const ReadOptions& options) {
  if (is_folder(path)) return read_folder(path, options);
  if (!is_there(path))
    refuse(fmt::format("{}: no such file or folder", path.empty() ? "an empty name" : path.string()));
  const Format& format = format_of(path);
  if (format.read_sequence != nullptr) return {format.read_sequence(path, options), format.selects_frames};
  if (lower_extension(path) == ".bvh")
    refuse(fmt::format(
        "{}: BVH holds the motion of a skeleton and no mesh; bind a mesh to it and export that, e.g. in Blender "
        "File > Import > Motion Capture, parent the mesh to the armature, File > Export > glTF 2.0",
        path.string()));
  if (format.read_cache == nullptr)
    refuse(fmt::format("{}: not a format that can be read; expected {}, {} or a folder of frames{}", path.string(),
                       list_for(FileUse::read_sequence), list_for(FileUse::read_positions),
                       way_to_convert(lower_extension(path))));
  const fs::path rest = fs::path(path).replace_extension(".obj");
  if (!is_there(rest))
    refuse(fmt::format("{}: holds positions only; name its mesh before it, or put that beside it as {}", path.string(),
                       rest.filename().string()));
  return {read_cache(rest, path, options), false};
}

Loaded read_paths(const std::vector<fs::path>& paths, const ReadOptions& options) {
  if (paths.size() == 1) return read_one(paths[0], options);
  if (paths.size() == 2 && lower_extension(paths[0]) == ".obj" && format_of(paths[1]).read_cache != nullptr)
    return {read_cache(paths[0], paths[1], options), false};
  throw Error(ErrorKind::usage, fmt::format("a sequence is one file or folder, or REST.obj and then a file of {}",
                                            list_for(FileUse::read_positions)));
}

/// Takes the rest pose from a frame of the sequence. Normals and shapes of the former rest pose do not fit it.
void set_rest_frame(Sequence& sequence, std::size_t frame, const Warnings& warn) {
  if (frame >= sequence.frame_count())
    throw Error(ErrorKind::usage, fmt::format("rest frame {}: {} has {} frames, counted from 0", frame, sequence.name,
                                              sequence.frame_count()));
  sequence.rest.positions = sequence.frames[frame];
  sequence.rest.normals = {};
  if (!sequence.rest.shapes.empty() && warn)
    warn(fmt::format("{}: {} morph targets that no frame uses do not fit another rest pose and are dropped",
                     sequence.name, sequence.rest.shapes.size()));
  sequence.rest.shapes.clear();
}

/// Takes the rest mesh from another file. Its faces must be the same, unless the sequence has none.
void set_rest_mesh(Sequence& sequence, const fs::path& path) {
  Mesh rest = read_one(path, {}).sequence.rest;
  const std::string name = path.string();
  if (rest.vertex_count() != sequence.vertex_count())
    refuse(
        fmt::format("{}: {} vertices, {} has {}", name, rest.vertex_count(), sequence.name, sequence.vertex_count()));
  if (sequence.rest.face_count() > 0 &&
      (rest.face_sizes != sequence.rest.face_sizes || rest.corners != sequence.rest.corners))
    refuse(fmt::format("{}: its faces are not those of {}", name, sequence.name));
  sequence.rest = std::move(rest);
}

void keep_all_frames(ReadOptions& options) {
  options.first_frame = 0;
  options.last_frame = std::numeric_limits<std::size_t>::max();
  options.frame_step = 1;
}

// --- Writing.

void write_single_obj(const fs::path& path, const Sequence& sequence, const Progress&) {
  if (sequence.frame_count() != 1)
    throw Error(ErrorKind::usage, fmt::format("{}: an OBJ file holds one frame, there are {}; name a folder instead",
                                              path.string(), sequence.frame_count()));
  Mesh mesh = sequence.rest;
  if (mesh.positions != sequence.frames[0]) {
    mesh.positions = sequence.frames[0];
    mesh.normals = {};
  }
  write_obj(path, mesh);
}

void write_bvh_file(const fs::path& path, const Rig& rig, const WriteOptions&) {
  write_bvh(path, rig);
}

bool has_two_layer_extension(const fs::path& path) {
  return read_gltf_extension(path, kTwoLayerExtension).has_value();
}

void write_glb_file(const fs::path& path, const Rig& rig, const WriteOptions& options) {
  std::vector<GltfExtension> extensions;
  if (rig.two_layer) extensions.push_back(two_layer_extension(rig, options.pack));
  write_glb(path, rig, options, extensions);
}

void write_usd_file(const fs::path& path, const Rig& rig, const WriteOptions&) {
  write_usd_rig(path, rig);
}

/// The rest mesh goes first: a cache is never there without its mesh.
template <auto write_cache>
void write_cache_and_rest(const fs::path& path, const Sequence& sequence, const Progress& progress) {
  OutputFile rest(fs::path(path).replace_extension(".obj"));
  rest.write(format_obj(sequence.rest));
  write_cache(path, sequence.frames, continuous_times(sequence), progress);
  rest.commit();
}

}  // namespace

std::vector<std::string> extensions_for(FileUse use) {
  std::vector<std::string> out;
  for (const Format& format : kFormats)
    if (can(format, use)) out.emplace_back(format.extension);
  return out;
}

std::string lower_extension(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

bool usable_for(FileUse use, const fs::path& path) {
  return can(format_of(path), use);
}

Sequence read_sequence(const std::vector<fs::path>& paths, const ReadOptions& options) {
  if (options.frame_step == 0) throw Error(ErrorKind::usage, "a frame step of 0, at least 1 is needed");
  const std::optional<std::size_t> rest_frame = rest_frame_number(options.rest);
  const bool reader_sets_rest = paths.size() == 1 && !is_folder(paths[0]) && format_of(paths[0]).selects_frames;
  const bool set_rest_here = rest_frame && !reader_sets_rest;
  ReadOptions loading = options;
  if (set_rest_here) keep_all_frames(loading);  // the rest pose may be a frame that is left out
  auto [sequence, selected] = read_paths(paths, loading);
  if (set_rest_here) set_rest_frame(sequence, *rest_frame, options.warn);
  if (!rest_frame && !options.rest.empty()) set_rest_mesh(sequence, options.rest);
  const bool all = options.first_frame == 0 && options.last_frame >= sequence.frame_count() && options.frame_step == 1;
  if (!all && (set_rest_here || !selected))
    sequence = select_frames(sequence, options.first_frame, options.last_frame, options.frame_step);
  sequence.check();
  return std::move(sequence);
}

Rig read_rig(const fs::path& path, const ReadOptions& options) {
  if (!is_there(path)) refuse(fmt::format("{}: no such file", path.string()));
  const Format& format = format_of(path);
  if (format.read_rig == nullptr)
    refuse(fmt::format("{}: not a format that a rig can be read from; expected {}", path.string(),
                       list_for(FileUse::read_rig)));
  return format.read_rig(path, options);
}

void write_rig(const fs::path& path, const Rig& rig, const WriteOptions& options) {
  const Format& format = format_of(path);
  if (format.write_rig == nullptr)
    throw Error(ErrorKind::usage, fmt::format("{}: not a format that a rig can be written to; expected {}",
                                              path.string(), list_for(FileUse::write_rig)));
  format.write_rig(path, rig, options);
}

void write_sequence(const fs::path& path, const Sequence& sequence, const Progress& progress) {
  if (path.extension().empty() || is_folder(path)) return write_obj_folder(path, sequence, progress);
  const Format& format = format_of(path);
  if (format.write_sequence == nullptr)
    throw Error(ErrorKind::usage, fmt::format("{}: not a format that frames can be written to; expected {} or a folder",
                                              path.string(), list_for(FileUse::write_sequence)));
  format.write_sequence(path, sequence, progress);
}

bool has_two_layers(const fs::path& path) {
  const Format& format = format_of(path);
  return format.has_two_layers != nullptr && !is_folder(path) && is_there(path) && format.has_two_layers(path);
}

std::vector<fs::path> files_read(const fs::path& path) {
  std::vector<fs::path> out{path};
  if (is_folder(path)) {
    std::error_code unreadable;
    for (const auto& entry : fs::directory_iterator(path, unreadable)) {
      const bool cache = entry.path().stem() == "frames" && usable_for(FileUse::read_positions, entry.path());
      if (cache || format_of(entry.path()).parse_frame != nullptr) out.push_back(entry.path());
    }
  } else if (usable_for(FileUse::read_positions, path)) {
    out.push_back(fs::path(path).replace_extension(".obj"));
  }
  return out;
}

std::vector<fs::path> files_written(const fs::path& path) {
  if (format_of(path).read_cache == nullptr) return {path};
  return {path, fs::path(path).replace_extension(".obj")};
}

bool same_file(const fs::path& a, const fs::path& b) {
  if (a.empty() || b.empty()) return false;  // no file, and no path can be made absolute from it
  std::error_code failure;
  const bool same = fs::equivalent(a, b, failure);
  if (!failure) return same;
  // At least one of them does not exist yet: compare where they would be.
  const fs::path whole_a = fs::weakly_canonical(fs::absolute(a), failure);
  const fs::path whole_b = fs::weakly_canonical(fs::absolute(b), failure);
  return !failure && whole_a == whole_b;
}

}  // namespace sinew
