#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sinew/core/mesh.h"

namespace sinew {

/// Triangles whose edges can collapse. Corners of one vertex that look alike are one wedge; where they do not, the edge
/// between is a seam.
///
/// A vertex is free where its triangles close around it without a seam, on a line where one border or seam passes
/// through it, and fixed everywhere else.
class CollapseMesh {
 public:
  struct Triangle {
    std::array<Index, 3> vertex{};
    std::array<Index, 3> wedge{};
    Index group = 0;  // triangles of one material and piece
    bool alive = true;
  };

  enum class Kind { free, line, fixed };

  /// An edge that may collapse: `gone` ends up at `kept`. Where `slides`, the place of what remains is open.
  struct Collapse {
    Index gone = 0, kept = 0;
    bool slides = false;
    std::vector<std::array<Index, 2>> wedges;  // of gone, of kept
  };

  explicit CollapseMesh(const Mesh& mesh);

  std::size_t alive() const { return alive_; }
  const std::vector<Triangle>& triangles() const { return triangles_; }
  const std::vector<Index>& around(Index v) const { return around_[v]; }
  std::size_t wedge_count() const { return corner_of_wedge_.size(); }
  /// A corner of the mesh that looks like this wedge.
  Index corner_of(Index wedge) const { return corner_of_wedge_[wedge]; }
  /// The face each triangle was cut from.
  Index face_of(std::size_t triangle) const { return face_[triangle]; }

  Kind kind(Index v) const;
  /// Vertices that share an edge with v, ascending.
  std::vector<Index> neighbours(Index v) const;
  /// Whether the edge ab is a border, a seam, or where groups meet.
  bool on_line(Index a, Index b) const;
  /// How the edge may collapse, if it may.
  std::optional<Collapse> collapse_of(Index a, Index b) const;
  void apply(const Collapse& collapse);

 private:
  struct Edge {
    std::array<Index, 2> triangle{};
    int triangles = 0;
  };
  Edge edge(Index a, Index b) const;
  Index wedge_at(Index triangle, Index v) const;
  bool line(const Edge& edge, Index a, Index b) const;

  std::vector<Triangle> triangles_;
  std::vector<Index> face_;
  std::vector<std::vector<Index>> around_;  // living triangles of each vertex
  std::vector<Index> corner_of_wedge_;
  std::size_t alive_ = 0;
};

}  // namespace sinew
