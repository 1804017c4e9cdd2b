#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sinew/core/progress.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"
#include "sinew/evaluate/errors.h"
#include "sinew/io/gltf.h"

/// Rigs as small files for engines: docs/shipping.md.
namespace sinew {

/// How near a packed rig stays to what it was packed from, where no error is given.
enum class PackQuality { low, medium, high };

struct PackOptions {
  PackQuality quality = PackQuality::medium;
  double max_error = 0;         // E_RMS of the decoded file; 0: by quality
  bool lossless = false;        // reorder and compress only: every float as it is
  bool strip_textures = false;  // leave images out, and what refers to them
  bool khronos = false;         // KHR_meshopt_compression instead of EXT_meshopt_compression
  bool safe_names = false;      // as in WriteOptions
  bool only_two_layer = false;  // rest mesh, looks and two-layer model alone, for sinew's own players
  int bones_per_mesh = 65536;   // meshes that follow more are cut, each part with a skin of its own; at least 64
  std::vector<GltfExtension> extensions;  // to write beside the rig; they may name bones: all stay, each as it is
  std::string generator = "sinew";
  int threads = 0;
};

/// Bytes of one part of the file, and what the played animation shows of its rounding alone.
struct PackedPart {
  std::string name;
  std::size_t before = 0;  // in the same rig written by write_glb
  std::size_t after = 0;
  double e_rms = 0;           // added: sqrt(E² with only this part rounded - E² fitted)
  double normal_degrees = 0;  // added, of the surfaces; of part "normals": of the file's own normals
  std::string precision;      // in words, e.g. "11.5 bits"; empty: as it was
};

struct PackReport {
  std::vector<PackedPart> parts;  // in the order of the file, the JSON last
  std::size_t bytes_before = 0;
  std::size_t bytes_after = 0;
  double allowed_e_rms = 0;        // what the decoded file may have
  double allowed_normals = 0;      // degrees, of the surfaces
  Errors before;                   // of the rig, against the frames it is held to
  Errors fitted;                   // with its rest pose fitted to those frames; parts add to this (not if lossless)
  Errors after;                    // of the file, read back, posed in every frame
  std::size_t dropped_bones = 0;   // that no vertex and no bone below them follows
  std::size_t dropped_points = 0;  // vertices of no face, in a mesh that has faces
  std::size_t skins = 0;           // more than one: a mesh was cut, see bones_per_mesh
  bool cancelled = false;          // by progress: there is no file
};

/// The rig as one GLB whose vertices, indices and keys are rounded, reordered and coded (KHR_mesh_quantization,
/// EXT_meshopt_compression). Bits are shared out between the parts so that E_RMS and the normals of what the file poses
/// stay within what the options allow, against `examples` (with the vertices and frames of the rig) or, without them,
/// against what the rig itself poses; measured on the bytes, read back. Throws Error{input} for rigs that have two
/// layers without `only_two_layer` and the other way round, Error{usage}, and as write_glb does. The same rig and
/// options give the same bytes for any number of threads.
std::vector<std::byte> pack_glb(const Rig& rig, const Sequence* examples, const PackOptions& options,
                                PackReport& report, const Progress& progress = {});

}  // namespace sinew
