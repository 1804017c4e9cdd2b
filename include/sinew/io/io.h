#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "sinew/core/progress.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"

/// Files in and out. Which function you want:
///   read_sequence   any supported input as a Sequence (by extension or folder contents)
///   read_rig        a skinned GLB/glTF, FBX or USD file as a Rig
///   write_rig       a Rig as GLB, FBX, USD or, its skeleton alone, BVH
///   write_sequence  posed frames as .pc2, .mdd, .npz, .abc, .usda, .usdz or a folder of OBJ files
///   files_read, files_written, same_file
///                   before writing: would an output take the place of an input?
///   extensions_for  which files can be read or written at all
/// The functions of one format are in the header of that format (sinew/io/obj.h, ply.h, pc2.h, mdd.h, npz.h,
/// gltf.h, fbx.h, usd.h, bvh.h, alembic.h).
namespace sinew {

/// What a file can be used for.
enum class FileUse {
  read_sequence,   // alone
  read_positions,  // as a sequence, with a rest mesh beside it
  read_rig,
  write_sequence,
  write_rig,
  write_and_read_rig,  // what is written can be read back
  write_shear,         // as a rig whose bones shear, as they are
  bake_shear,          // such a rig with WriteOptions::bake_shear
};

/// The extensions that can be used so, in lower case and with their dot.
std::vector<std::string> extensions_for(FileUse use);

/// The extension of a path in lower case, with its dot: what its format is chosen by.
std::string lower_extension(const std::filesystem::path& path);

/// Whether a file of this name can be used so.
bool usable_for(FileUse use, const std::filesystem::path& path);

/// Receives sentences about things that a reader repaired (e.g. weights that had to be renormalised).
using Warnings = std::function<void(std::string_view sentence)>;

struct ReadOptions {
  std::string clip;  // glTF, USD: name or number of the animation to bake; empty: all of them
  std::string mesh;  // glob over mesh names; empty: all
  /// glTF, USD: sampling rate. 0: USD at all samples there are; glTF at the keys when all tracks share them, else at
  /// 30; where keys are further apart than 1/20 s, also between them, since what moves there is seen when it is played.
  double frames_per_second = 0;
  bool halfway = false;  // glTF: half-way between those frames instead, posed as players interpolate
  std::string rest;      // frame number or file to use as the rest pose; empty: the input's own
  /// Frames to keep: first, first + step, ... < last, counted from 0. read_sequence leaves out the others whatever the
  /// format; formats that can, do not load them.
  std::size_t first_frame = 0;
  std::size_t last_frame = std::numeric_limits<std::size_t>::max();
  std::size_t frame_step = 1;
  /// Positions that would take more bytes are refused before anything is allocated: a file can ask for more frames than
  /// it has bytes (Alembic shares equal samples, glTF is sampled).
  std::size_t max_bytes = std::numeric_limits<std::size_t>::max() / 2 >>
                          (sizeof(std::size_t) > 4 ? 29 : 0);  // 16 or 2 GB
  Paging paging;  // positions that are kept in a file: in a PC2 where they are, else in a scratch file
  Warnings warn;
};

/// Reads a sequence from one path (.glb, .gltf, .usda, .usdz, .abc, a folder of OBJ frames, a folder with rest.obj and
/// frames.pc2 or frames.mdd, .npz, a .pc2 or .mdd with NAME.obj beside it, a single OBJ as one frame) or from two
/// (REST.obj CACHE.pc2|mdd). The result satisfies Sequence::check(). Throws Error{input}.
Sequence read_sequence(const std::vector<std::filesystem::path>& paths, const ReadOptions& options = {});

/// Reads a skinned model: weights, bones and their motion at the animation's keys. The result satisfies Rig::check().
Rig read_rig(const std::filesystem::path& path, const ReadOptions& options = {});

struct WriteOptions {
  std::string generator = "sinew";  // the program that the file names as its maker
  bool bake_shear = false;  // bones that shear become pairs of nodes where the format has no shear; else refused
  bool pack = false;        // two layers: 16 bits per number, compressed
  bool safe_names = false;  // glTF: letters, digits, '_' and '-' only, each name once: some engines change others
};

/// Writes a rig in the format that the extension names: to a temporary file beside the target, renamed when complete.
/// Throws Error{output}.
void write_rig(const std::filesystem::path& path, const Rig& rig, const WriteOptions& options = {});

/// Writes the posed frames in the format that the extension names (.pc2, .mdd, .npz, .abc, .usda, .usdz; a path without
/// extension: OBJ folder). PC2 and MDD hold positions only: the rest mesh goes beside them as NAME.obj. Throws
/// Error{output}, and Error{interrupted} when `progress` says so: what was there before is there still.
void write_sequence(const std::filesystem::path& path, const Sequence& sequence, const Progress& progress = {});

/// Whether a file holds a two-layer model, which then poses its vertices instead of the skin that stands in for it.
bool has_two_layers(const std::filesystem::path& path);

/// The files that read_sequence looks at for this path: itself, for positions only the mesh beside it, for a folder its
/// frames and rest mesh. A folder comes with them; one that is not there is left to the reader to complain about.
std::vector<std::filesystem::path> files_read(const std::filesystem::path& path);

/// The files that write_sequence makes for this path: itself and, for positions only, the mesh beside it.
std::vector<std::filesystem::path> files_written(const std::filesystem::path& path);

/// True when both paths name the same file or folder, whether it exists yet or not.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace sinew
