#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sinew/core/types.h"

namespace sinew {

/// Values that belong to face corners, stored once per distinct value: corner c has values[N * indices[c] .. + N).
/// Invariant: indices is empty (no such attribute) or holds one entry per corner, each < values.size() / N.
template <int N>
struct CornerAttribute {
  static constexpr int kComponents = N;
  std::string name;
  std::vector<float> values;   // n×N
  std::vector<Index> indices;  // one per corner

  bool empty() const { return indices.empty(); }
};

/// An image that a material refers to: its encoded bytes, untouched.
struct Image {
  std::string name;
  std::string mime_type;            // "image/png", "image/jpeg", ...
  std::vector<std::uint8_t> bytes;  // encoded; empty when only `uri` is known
  std::string uri;                  // as the source had it; may be empty
};

/// A material, carried through untouched. `gltf` is the source's glTF material object as JSON text (empty when the
/// source had only a name, e.g. OBJ usemtl); texture references in it index Appearance::gltf_textures.
struct Material {
  std::string name;
  std::string gltf;
};

/// Everything about the look of a mesh; solvers do not touch it.
struct Appearance {
  std::vector<Material> materials;
  std::string gltf_textures;  // JSON array text of glTF texture objects, whose sources index `images`
  std::string gltf_samplers;  // JSON array text of glTF sampler objects
  std::vector<Image> images;
  std::vector<std::string> required;  // glTF extensions without which textures or materials cannot be shown
};

/// A named displacement of the rest pose that no frame uses, e.g. a slider of a face; carried through untouched.
struct Shape {
  std::string name;
  Points offsets;         // 3×V
  Points normal_offsets;  // 3×V, or empty
};

/// A named part of a mesh: a contiguous range of vertices and of faces. Pieces share one solve.
struct Piece {
  std::string name;
  Index first_vertex = 0;
  Index vertices = 0;
  Index first_face = 0;
  Index faces = 0;
};

/// A polygon mesh over control points: no vertex is repeated for the sake of a seam.
///
/// Invariants, tested by check(): the face sizes add up to corners.size(), every corner < vertex count, every face has
/// at least 3 corners, positions are finite, corner attributes satisfy theirs, face_materials is empty or holds one
/// entry per face that is -1 or < materials, pieces are empty or partition vertices and faces in order, shapes have a
/// finite offset per vertex.
struct Mesh {
  Points positions;                            // 3×V
  std::vector<Index> face_sizes;               // one per face, >= 3
  std::vector<Index> corners;                  // vertex per corner, face by face, counter-clockwise seen from outside
  std::vector<CornerAttribute<2>> uv_sets;     // v as in glTF: 0 at the top of the image
  CornerAttribute<3> normals;                  // unit length
  bool flat = false;                           // without normals: drawn with those of its triangles, else smooth ones
  std::vector<CornerAttribute<4>> color_sets;  // linear RGBA
  std::vector<int> face_materials;             // -1: none
  Appearance appearance;
  std::vector<Piece> pieces;
  std::vector<Shape> shapes;

  std::size_t vertex_count() const { return static_cast<std::size_t>(positions.cols()); }
  std::size_t face_count() const { return face_sizes.size(); }

  /// Throws Error{input} with a sentence that names the first violation; `name` stands for the mesh in it.
  void check(const std::string& name = "mesh") const;
};

/// Corner numbers of a triangulation, three per triangle. Planar convex or not, each polygon is cut by ear clipping in
/// the plane of its area vector; triangles and convex quads keep their order.
std::vector<Index> triangulate_corners(const Mesh& mesh);

/// Vertex numbers of the same triangulation, three per triangle.
std::vector<Index> triangles_of(const Mesh& mesh);

}  // namespace sinew
