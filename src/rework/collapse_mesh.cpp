#include "rework/collapse_mesh.h"

#include <algorithm>
#include <map>

namespace sinew {
namespace {

/// What makes a corner look as it does: numbers of its values. Equal values with different numbers are taken as equal.
template <int N>
void add_values(const CornerAttribute<N>& attribute, std::size_t corner, std::vector<float>& key) {
  if (attribute.empty()) return;
  const auto first = attribute.values.begin() + N * static_cast<std::ptrdiff_t>(attribute.indices[corner]);
  key.insert(key.end(), first, first + N);
}

}  // namespace

CollapseMesh::CollapseMesh(const Mesh& mesh) : around_(mesh.vertex_count()) {
  const std::vector<Index> corners = triangulate_corners(mesh);
  std::map<std::pair<Index, std::vector<float>>, Index> wedges;
  std::vector<Index> wedge_of(mesh.corners.size());
  for (std::size_t c = 0; c < mesh.corners.size(); ++c) {
    std::vector<float> key;
    add_values(mesh.normals, c, key);
    for (const auto& set : mesh.uv_sets) add_values(set, c, key);
    for (const auto& set : mesh.color_sets) add_values(set, c, key);
    const auto [entry, fresh] =
        wedges.try_emplace({mesh.corners[c], std::move(key)}, static_cast<Index>(corner_of_wedge_.size()));
    if (fresh) corner_of_wedge_.push_back(static_cast<Index>(c));
    wedge_of[c] = entry->second;
  }
  std::size_t t = 0;
  for (std::size_t face = 0; face < mesh.face_count(); ++face)
    for (Index i = 2; i < mesh.face_sizes[face]; ++i, t += 3) {
      Triangle triangle;
      for (std::size_t k = 0; k < 3; ++k) {
        triangle.vertex[k] = mesh.corners[corners[t + k]];
        triangle.wedge[k] = wedge_of[corners[t + k]];
      }
      triangle.group = mesh.face_materials.empty() ? 0 : static_cast<Index>(mesh.face_materials[face] + 1);
      const auto& v = triangle.vertex;
      if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
      for (const Index corner : v) around_[corner].push_back(static_cast<Index>(triangles_.size()));
      face_.push_back(static_cast<Index>(face));
      triangles_.push_back(triangle);
    }
  alive_ = triangles_.size();
}

Index CollapseMesh::wedge_at(Index triangle, Index v) const {
  const Triangle& t = triangles_[triangle];
  return t.wedge[t.vertex[0] == v ? 0 : t.vertex[1] == v ? 1 : 2];
}

CollapseMesh::Edge CollapseMesh::edge(Index a, Index b) const {
  Edge out;
  for (const Index t : around_[a]) {
    const auto& v = triangles_[t].vertex;
    if (v[0] != b && v[1] != b && v[2] != b) continue;
    if (out.triangles < 2) out.triangle[static_cast<std::size_t>(out.triangles)] = t;
    ++out.triangles;
  }
  return out;
}

bool CollapseMesh::line(const Edge& edge, Index a, Index b) const {
  if (edge.triangles != 2) return true;
  const auto [s, t] = edge.triangle;
  return triangles_[s].group != triangles_[t].group || wedge_at(s, a) != wedge_at(t, a) ||
         wedge_at(s, b) != wedge_at(t, b);
}

bool CollapseMesh::on_line(Index a, Index b) const {
  return line(edge(a, b), a, b);
}

std::vector<Index> CollapseMesh::neighbours(Index v) const {
  std::vector<Index> out;
  for (const Index t : around_[v])
    for (const Index u : triangles_[t].vertex)
      if (u != v) out.push_back(u);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

CollapseMesh::Kind CollapseMesh::kind(Index v) const {
  const std::vector<Index> near = neighbours(v);
  int lines = 0;
  int borders = 0;
  for (const Index u : near) {
    const Edge e = edge(v, u);
    if (e.triangles > 2) return Kind::fixed;
    borders += e.triangles == 1 ? 1 : 0;
    lines += line(e, v, u) ? 1 : 0;
  }
  // One fan of triangles: as many as neighbours, or one fewer where it is open.
  if (around_[v].size() + (borders > 0 ? 1 : 0) != near.size()) return Kind::fixed;
  return lines == 0 ? Kind::free : lines == 2 && (borders == 0 || borders == 2) ? Kind::line : Kind::fixed;
}

std::optional<CollapseMesh::Collapse> CollapseMesh::collapse_of(Index a, Index b) const {
  Kind one = kind(a);
  Kind other = kind(b);
  if (one > other || (one == other && a < b)) {
    std::swap(a, b);
    std::swap(one, other);
  }
  if (one == Kind::fixed) return std::nullopt;
  const Edge e = edge(a, b);
  if (e.triangles < 1 || e.triangles > 2) return std::nullopt;
  const bool along = line(e, a, b);
  if (one == Kind::line && !along) return std::nullopt;
  if (one == Kind::free && along) return std::nullopt;  // cannot be: a line passes through both its ends
  // The triangles of the edge are all that the neighbours of its ends share: else the surface would close on itself.
  const std::vector<Index> near_a = neighbours(a);
  const std::vector<Index> near_b = neighbours(b);
  std::vector<Index> shared;
  std::set_intersection(near_a.begin(), near_a.end(), near_b.begin(), near_b.end(), std::back_inserter(shared));
  if (shared.size() != static_cast<std::size_t>(e.triangles)) return std::nullopt;

  Collapse out{a, b, one == other, {}};
  for (int i = 0; i < e.triangles; ++i) {
    const Index t = e.triangle[static_cast<std::size_t>(i)];
    const std::array<Index, 2> pair{wedge_at(t, a), wedge_at(t, b)};
    if (std::find(out.wedges.begin(), out.wedges.end(), pair) == out.wedges.end()) out.wedges.push_back(pair);
  }
  // Every wedge of the vertex that goes has one of the other to become.
  for (const Index t : around_[a]) {
    const auto matches = std::count_if(out.wedges.begin(), out.wedges.end(),
                                       [&](const auto& pair) { return pair[0] == wedge_at(t, a); });
    if (matches != 1) return std::nullopt;
  }
  return out;
}

void CollapseMesh::apply(const Collapse& collapse) {
  const auto [gone, kept] = std::pair{collapse.gone, collapse.kept};
  for (const Index t : std::vector<Index>(around_[gone])) {
    Triangle& triangle = triangles_[t];
    if (std::find(triangle.vertex.begin(), triangle.vertex.end(), kept) != triangle.vertex.end()) {
      triangle.alive = false;
      --alive_;
      for (const Index v : triangle.vertex) std::erase(around_[v], t);
      continue;
    }
    for (std::size_t k = 0; k < 3; ++k) {
      if (triangle.vertex[k] != gone) continue;
      triangle.vertex[k] = kept;
      for (const auto& [from, to] : collapse.wedges)
        if (triangle.wedge[k] == from) {
          triangle.wedge[k] = to;
          break;
        }
    }
    around_[kept].push_back(t);
  }
  around_[gone].clear();
}

}  // namespace sinew
