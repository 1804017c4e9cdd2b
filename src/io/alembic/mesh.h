#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "io/alembic/scene.h"
#include "sinew/core/mesh.h"
#include "sinew/io/io.h"

/// PolyMesh and SubD objects: their points, faces and what belongs to the faces.
namespace sinew::alembic {

/// A mesh object of an archive with its properties opened.
struct MeshSource {
  const Node* node = nullptr;
  int index = 0;                       // of the node
  std::vector<const Node*> face_sets;  // its children of that type
  Properties geometry;
  Samples points;
  Samples face_sizes;
  Samples corners;
  std::size_t first_vertex = 0;  // in the sequence
  std::size_t vertices = 0;
  bool at_reference = false;  // its rest pose is the one stored as such (Pref), not that of a moment
};

/// Opens a mesh. Throws Error{input} when points or faces are missing or have an unexpected type.
MeshSource open_mesh(const Archive& archive, const std::vector<Node>& nodes, int index);

/// The moment at which a mesh is read.
struct Moment {
  double time = 0;
  double tolerance = 0;

  /// The sample of a property that holds at this moment, not blended.
  std::size_t sample(const Archive& archive, const Property& property) const {
    return locate(archive.samplings()[property.sampling], property.samples, time, tolerance).sample;
  }
};

/// Reads the rest pose that a mesh stores beside its motion (Pref) into `points`, in the mesh's own space; false when
/// there is none.
bool read_reference_pose(const Archive& archive, const MeshSource& source, const Moment& rest, std::span<float> points);

/// Appends the faces of a mesh to `out`, whose positions already hold its vertices: corners turned to our winding, UVs,
/// colours, normals in world space, face sets as materials, and a piece. Throws Error{input} naming what does not fit.
void append_mesh(const Archive& archive, const MeshSource& source, const Moment& rest, const Eigen::Matrix4d& world,
                 const Warnings& warn, Mesh& out);

/// Throws Error{input} naming the object, the sample and both counts unless the faces are those at rest.
void check_same_faces(const Archive& archive, const MeshSource& source, const Moment& rest, const Moment& now);

}  // namespace sinew::alembic
