#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "sinew/core/progress.h"
#include "sinew/core/sequence.h"
#include "sinew/io/io.h"

/// Alembic archives (.abc) in the Ogawa container. What is read, ignored and written, and the conventions for axes,
/// units, winding and time: docs/formats.md.
namespace sinew {

/// Reads the visible PolyMesh and SubD objects whose name (or, where the pattern has a slash, whose path) matches
/// options.mesh, in world space, one piece each. Frames are the sample times of all of them inside the range that they
/// share; only those asked for are loaded, each straight to its place. The rest mesh is the first frame of the archive,
/// the one that options.rest numbers, or the pose that the meshes store as their reference (Pref). The result satisfies
/// Sequence::check().
///
/// Throws Error{input} naming the object for everything that the format does not allow and for meshes whose topology
/// changes, and Error{usage} when no frame is left. Memory: the frames kept, and less than 64 MB beside them.
Sequence read_alembic(const std::filesystem::path& path, const ReadOptions& options = {});

/// The same from bytes in memory; `name` stands for them in sentences.
Sequence parse_alembic(std::span<const std::byte> bytes, const std::string& name, const ReadOptions& options = {});

/// Writes every piece as a PolyMesh below an Xform of its name: points of every frame, equal samples stored once, UVs,
/// normals that follow the motion, materials as face sets, and the rest pose (Pref, Nref) where it is not the first
/// frame. Times are stored as a constant rate where they are within 1e-3 of a frame of one; clips lie one after
/// another. The same sequence gives the same bytes. Throws Error{output}; nothing is left behind then.
void write_alembic(const std::filesystem::path& path, const Sequence& sequence, const Progress& progress = {});

/// One object of an archive.
struct AlembicObject {
  std::string name;
  std::string path;         // "/grp/mesh"
  std::string type;         // Xform, PolyMesh, SubD, FaceSet, Camera, ...; empty when it has none
  std::string instance_of;  // path of what it repeats; empty for an object of its own
  int depth = 0;            // 0 below the root
  std::size_t vertices = 0;
  std::size_t faces = 0;
  std::size_t samples = 0;  // of its points, or of its transform
  double first_time = 0;    // seconds, of the first and the last sample; 0 when there is none
  double last_time = 0;
  bool is_mesh = false;
  bool visible = true;            // at some time, its parents taken into account
  bool varying_topology = false;  // so that it cannot be read as a sequence
};

/// What an archive holds, without reading its frames.
struct AlembicInfo {
  std::string application;             // that wrote it; empty when the archive does not say
  std::string library;                 // "1.8.8"
  std::vector<AlembicObject> objects;  // depth first, parents before children
};

AlembicInfo describe_alembic(const std::filesystem::path& path);

}  // namespace sinew
