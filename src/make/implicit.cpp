#include "make/implicit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/index.h"
#include "math/parallel.h"

namespace sinew::make {
namespace {

constexpr int kBlock = 8;         // grid cells per side that are skipped together when far from the surface
constexpr int kRelaxations = 12;  // rounds of smoothing along the surface
constexpr int kSearchRounds = 4;  // cell sizes tried for a wanted vertex count
constexpr double kCloseEnough = 0.02;

/// Field values on a grid; far from the surface only their sign means something.
struct Grid {
  Eigen::Vector3d origin = Eigen::Vector3d::Zero();
  double cell = 0;
  std::array<std::size_t, 3> nodes{};
  std::vector<float> values;

  std::size_t at(std::size_t x, std::size_t y, std::size_t z) const { return (z * nodes[1] + y) * nodes[0] + x; }
  Eigen::Vector3d point(std::size_t x, std::size_t y, std::size_t z) const {
    return origin + cell * Eigen::Vector3d(static_cast<double>(x), static_cast<double>(y), static_cast<double>(z));
  }
};

Grid sample(const Field& field, double cell, int threads) {
  Eigen::Vector3d low = Eigen::Vector3d::Constant(std::numeric_limits<double>::infinity());
  Eigen::Vector3d high = -low;
  for (const RoundCone& cone : field.cones) {
    low = low.cwiseMin((cone.a.array() - cone.radius_a).matrix()).cwiseMin((cone.b.array() - cone.radius_b).matrix());
    high = high.cwiseMax((cone.a.array() + cone.radius_a).matrix()).cwiseMax((cone.b.array() + cone.radius_b).matrix());
  }
  const double margin = 2 * cell + field.blend * std::log(static_cast<double>(field.cones.size()) + 1);
  Grid grid;
  grid.cell = cell;
  grid.origin = low.array() - margin;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto i = index(axis);
    grid.nodes[axis] = static_cast<std::size_t>(std::ceil((high[i] - low[i] + 2 * margin) / cell)) + 1;
  }
  grid.values.resize(grid.nodes[0] * grid.nodes[1] * grid.nodes[2]);
  const auto blocks = [&](std::size_t axis) { return (grid.nodes[axis] + kBlock - 1) / kBlock; };
  // |f| bounds the distance to the surface from below, so a block whose centre is farther than its corners is uncut.
  const double reach = std::sqrt(3.0) / 2 * (kBlock + 1) * cell;
  parallel_for(blocks(2), 1, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t bz = begin * kBlock; bz < std::min(grid.nodes[2], end * kBlock); bz += kBlock)
      for (std::size_t by = 0; by < grid.nodes[1]; by += kBlock)
        for (std::size_t bx = 0; bx < grid.nodes[0]; bx += kBlock) {
          const double center = field(grid.point(bx, by, bz) + Eigen::Vector3d::Constant(0.5 * kBlock * cell));
          const bool near = std::abs(center) <= reach;
          for (std::size_t z = bz; z < std::min(bz + kBlock, grid.nodes[2]); ++z)
            for (std::size_t y = by; y < std::min(by + kBlock, grid.nodes[1]); ++y)
              for (std::size_t x = bx; x < std::min(bx + kBlock, grid.nodes[0]); ++x)
                grid.values[grid.at(x, y, z)] = static_cast<float>(near ? field(grid.point(x, y, z)) : center);
        }
  });
  return grid;
}

// --- Surface nets with one vertex for every sheet of the surface in a cell, so that sheets never share an edge.
// Corner c of a cell is at (c & 1, c >> 1 & 1, c >> 2); edge 4·axis + i + 2·j runs along its axis from the corner that
// has i on the next axis and j on the one after.

constexpr std::uint8_t kUncut = 255;

/// The sheet that each cut edge of a cell belongs to, and how many there are, for one pattern of inside corners.
struct Sheets {
  std::array<std::uint8_t, 12> of{};
  std::uint8_t count = 0;
};

unsigned corner_of(unsigned axis, unsigned along, unsigned i, unsigned j) {
  return along << axis | i << (axis + 1) % 3 | j << (axis + 2) % 3;
}

/// Edges that follow each other around a sheet are those joined on a face of the cell. Where all four edges of a face
/// are cut, each inside corner is cut off by itself: both cells at the face see the same.
Sheets sheets_of(unsigned inside) {
  const auto is_inside = [&](unsigned corner) { return (inside >> corner & 1U) != 0; };
  Sheets out;
  for (unsigned e = 0; e < 12; ++e) {
    const unsigned axis = e / 4;
    const bool cut =
        is_inside(corner_of(axis, 0, e & 1U, e >> 1U & 1U)) != is_inside(corner_of(axis, 1, e & 1U, e >> 1U & 1U));
    out.of[e] = cut ? static_cast<std::uint8_t>(e) : kUncut;
  }
  const auto join = [&](unsigned a, unsigned b) {
    const std::uint8_t from = out.of[b];
    const std::uint8_t to = out.of[a];
    for (std::uint8_t& sheet : out.of)
      if (sheet == from) sheet = to;
  };
  for (unsigned axis = 0; axis < 3; ++axis)
    for (unsigned side = 0; side < 2; ++side) {
      // The face's edges along u (at w = 0, 1) and along w (at u = 0, 1).
      const unsigned u = (axis + 1) % 3;
      const unsigned w = (axis + 2) % 3;
      const std::array<unsigned, 2> along_u{4 * u + 2 * side, 4 * u + 2 * side + 1};
      const std::array<unsigned, 2> along_w{4 * w + side, 4 * w + side + 2};
      std::vector<unsigned> cut;
      for (const unsigned e : {along_u[0], along_u[1], along_w[0], along_w[1]})
        if (out.of[e] != kUncut) cut.push_back(e);
      if (cut.size() == 2) join(cut[0], cut[1]);
      if (cut.size() != 4) continue;
      for (unsigned i = 0; i < 2; ++i)
        for (unsigned j = 0; j < 2; ++j)
          if (is_inside(side << axis | i << u | j << w)) join(along_u[j], along_w[i]);
    }
  std::array<std::uint8_t, 12> number{};
  number.fill(kUncut);
  for (std::uint8_t& sheet : out.of) {
    if (sheet == kUncut) continue;
    if (number[sheet] == kUncut) number[sheet] = out.count++;
    sheet = number[sheet];
  }
  return out;
}

std::vector<Sheets> all_sheets() {
  std::vector<Sheets> out;
  for (unsigned inside = 0; inside < 256; ++inside) out.push_back(sheets_of(inside));
  return out;
}

struct Net {
  std::vector<Sheets> sheets = all_sheets();
  std::vector<Index> first_vertex;   // per cell
  std::vector<std::uint8_t> inside;  // per cell: pattern of inside corners
  std::vector<Eigen::Vector3d> points;
};

/// A vertex for every sheet in every cell, in the middle of the cuts of its edges.
Net place_vertices(const Grid& grid) {
  Net net;
  net.first_vertex.resize(grid.values.size());
  net.inside.resize(grid.values.size());
  for (std::size_t z = 0; z + 1 < grid.nodes[2]; ++z)
    for (std::size_t y = 0; y + 1 < grid.nodes[1]; ++y)
      for (std::size_t x = 0; x + 1 < grid.nodes[0]; ++x) {
        std::array<double, 8> f{};
        unsigned inside = 0;
        for (unsigned c = 0; c < 8; ++c) {
          f[c] = grid.values[grid.at(x + (c & 1U), y + (c >> 1U & 1U), z + (c >> 2U))];
          inside |= (f[c] < 0 ? 1U : 0U) << c;
        }
        if (inside == 0 || inside == 255) continue;
        const Sheets& sheets = net.sheets[inside];
        net.inside[grid.at(x, y, z)] = static_cast<std::uint8_t>(inside);
        net.first_vertex[grid.at(x, y, z)] = static_cast<Index>(net.points.size());
        for (std::uint8_t sheet = 0; sheet < sheets.count; ++sheet) {
          Eigen::Vector3d sum = Eigen::Vector3d::Zero();
          int cuts = 0;
          for (unsigned e = 0; e < 12; ++e) {
            if (sheets.of[e] != sheet) continue;
            const unsigned c = corner_of(e / 4, 0, e & 1U, e >> 1U & 1U);
            const unsigned d = corner_of(e / 4, 1, e & 1U, e >> 1U & 1U);
            Eigen::Vector3d at(c & 1U, c >> 1U & 1U, c >> 2U);
            at[e / 4] += f[c] / (f[c] - f[d]);
            sum += at;
            ++cuts;
          }
          net.points.push_back(grid.point(x, y, z) + grid.cell / cuts * sum);
        }
      }
  return net;
}

/// One quad for every grid edge that the surface cuts, between the four cells around it.
std::vector<Index> connect(const Grid& grid, const Net& net) {
  std::vector<Index> quads;
  const std::array<std::size_t, 3> step{1, grid.nodes[0], grid.nodes[0] * grid.nodes[1]};
  for (std::size_t z = 1; z + 1 < grid.nodes[2]; ++z)
    for (std::size_t y = 1; y + 1 < grid.nodes[1]; ++y)
      for (std::size_t x = 1; x + 1 < grid.nodes[0]; ++x) {
        const std::size_t here = grid.at(x, y, z);
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const bool inside = grid.values[here] < 0;
          if (inside == (grid.values[here + step[axis]] < 0)) continue;
          const std::size_t u = step[(axis + 1) % 3];
          const std::size_t w = step[(axis + 2) % 3];
          const auto vertex = [&](std::size_t cell, std::size_t i, std::size_t j) {
            return net.first_vertex[cell] + net.sheets[net.inside[cell]].of[4 * axis + i + 2 * j];
          };
          std::array<Index, 4> quad{vertex(here - u - w, 1, 1), vertex(here - w, 0, 1), vertex(here, 0, 0),
                                    vertex(here - u, 1, 0)};
          if (!inside) std::swap(quad[1], quad[3]);
          quads.insert(quads.end(), quad.begin(), quad.end());
        }
      }
  return quads;
}

/// Two Newton steps towards the zero set.
Eigen::Vector3d project(const Field& field, Eigen::Vector3d p) {
  for (int i = 0; i < 2; ++i) {
    const Eigen::Vector3d g = field.gradient(p);
    p -= field(p) / std::max(1e-6, g.squaredNorm()) * g;
  }
  return p;
}

void relax(const Field& field, QuadMesh& mesh, int threads) {
  const Adjacency neighbours = quad_neighbours(mesh);
  for (int round = 0; round < kRelaxations; ++round) {
    const Eigen::Matrix3Xd before = mesh.positions;
    parallel_for(neighbours.vertex_count(), 256, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) {
        Eigen::Vector3d mean = Eigen::Vector3d::Zero();
        for (const Index n : neighbours[v]) mean += before.col(n);
        mean /= static_cast<double>(neighbours[v].size());
        const auto column = index(v);
        mesh.positions.col(column) = project(field, 0.5 * (before.col(column) + mean));
      }
    });
  }
}

}  // namespace

double distance_to(const RoundCone& cone, const Eigen::Vector3d& p) {
  const Eigen::Vector3d axis = cone.b - cone.a;
  const double length = axis.norm();
  const double slope = length > 0 ? (cone.radius_a - cone.radius_b) / length : 2;
  if (std::abs(slope) >= 1)  // one ball inside the other
    return std::min((p - cone.a).norm() - cone.radius_a, (p - cone.b).norm() - cone.radius_b);
  // In the plane of the axis: along it and away from it. The side of the cone touches both balls.
  const double along = (p - cone.a).dot(axis) / length;
  const double away = std::sqrt(std::max(0.0, (p - cone.a).squaredNorm() - along * along));
  const double cosine = std::sqrt(1 - slope * slope);
  const double foot = along * cosine - away * slope;
  if (foot < 0) return std::hypot(along, away) - cone.radius_a;
  if (foot > cosine * length) return std::hypot(along - length, away) - cone.radius_b;
  return along * slope + away * cosine - cone.radius_a;
}

double Field::operator()(const Eigen::Vector3d& p) const {
  double nearest = std::numeric_limits<double>::infinity();
  std::array<double, 128> d{};
  const std::size_t count = std::min(cones.size(), d.size());
  for (std::size_t i = 0; i < count; ++i) {
    d[i] = distance_to(cones[i], p);
    nearest = std::min(nearest, d[i]);
  }
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (d[i] - nearest < 40 * blend) sum += std::exp((nearest - d[i]) / blend);
  return nearest - blend * std::log(sum);
}

Eigen::Vector3d Field::gradient(const Eigen::Vector3d& p) const {
  constexpr double kStep = 1e-5;
  Eigen::Vector3d g;
  for (Eigen::Index axis = 0; axis < 3; ++axis) {
    const Eigen::Vector3d step = kStep * Eigen::Vector3d::Unit(axis);
    g[axis] = ((*this)(p + step) - (*this)(p - step)) / (2 * kStep);
  }
  return g;
}

Adjacency quad_neighbours(const QuadMesh& mesh) {
  Mesh plain;
  plain.positions = mesh.positions.cast<float>();
  plain.face_sizes.assign(mesh.quads.size() / 4, 4);
  plain.corners = mesh.quads;
  return mesh_adjacency(plain);
}

QuadMesh polygonise(const Field& field, double cell, int threads) {
  const Grid grid = sample(field, cell, threads);
  const Net net = place_vertices(grid);
  QuadMesh mesh;
  mesh.positions.resize(3, index(net.points.size()));
  for (std::size_t v = 0; v < net.points.size(); ++v) mesh.positions.col(index(v)) = net.points[v];
  mesh.quads = connect(grid, net);
  relax(field, mesh, threads);
  return mesh;
}

QuadMesh polygonise_to_count(const Field& field, std::size_t vertices, int threads) {
  double cell = 0.1;
  const auto count_at = [&](double size) {
    return static_cast<double>(place_vertices(sample(field, size, threads)).points.size());
  };
  const auto target = static_cast<double>(vertices);
  for (int round = 0; round < kSearchRounds; ++round) {
    const double count = count_at(cell);
    if (std::abs(count - target) <= kCloseEnough * target) break;
    cell *= std::sqrt(count / target);  // the number of cut cells goes with the area in cells
  }
  return polygonise(field, cell, threads);
}

}  // namespace sinew::make
