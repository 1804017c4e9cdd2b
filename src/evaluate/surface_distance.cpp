#include "sinew/evaluate/surface_distance.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/index.h"
#include "math/parallel.h"
#include "math/surface_tree.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"

namespace sinew {
namespace {

constexpr double kSurfaceSamples = 10000;  // at least about as many per surface
constexpr int kMostCuts = 16;              // of an edge

/// A surface, and how finely each of its triangles is sampled.
struct Surface {
  std::vector<Index> triangles;
  std::vector<int> cuts;  // per triangle: it is seen as cuts² equal ones
};

Surface make_surface(const Mesh& mesh) {
  Surface out{triangles_of(mesh), {}};
  std::vector<double> area;
  double total = 0;
  for (std::size_t t = 0; t + 2 < out.triangles.size(); t += 3) {
    const Vector3 a = mesh.positions.col(out.triangles[t]);
    const Vector3 u = mesh.positions.col(out.triangles[t + 1]) - a;
    const Vector3 v = mesh.positions.col(out.triangles[t + 2]) - a;
    area.push_back(static_cast<double>(u.cross(v).norm()));
    total += area.back();
  }
  for (const double a : area)
    out.cuts.push_back(std::clamp(static_cast<int>(std::ceil(std::sqrt(a * kSurfaceSamples / std::max(total, 1e-300)))),
                                  1, kMostCuts));
  return out;
}

struct Sums {
  double weighted = 0;
  double area = 0;
  double most = 0;
};

Sums distances(const Eigen::Matrix3Xd& from, const Surface& surface, const SurfaceTree& to) {
  Sums out;
  for (std::size_t t = 0; t < surface.cuts.size(); ++t) {
    const Eigen::Vector3d a = from.col(surface.triangles[3 * t]);
    const Eigen::Vector3d u = from.col(surface.triangles[3 * t + 1]) - a;
    const Eigen::Vector3d v = from.col(surface.triangles[3 * t + 2]) - a;
    const int n = surface.cuts[t];
    const double share = u.cross(v).norm() / (n * n);
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < 2 * (n - i) - 1; ++k) {  // upright and upside-down parts take turns
        const int cell = k / 2;
        const double centre = k % 2 == 0 ? 1.0 / 3 : 2.0 / 3;
        const double along = (cell + centre) / n;
        const double across = (i + centre) / n;
        const Eigen::Vector3d x = a + along * u + across * v;
        const double d = (to.nearest(x) - x).norm();
        out.weighted += share * d;
        out.area += share;
        out.most = std::max(out.most, d);
      }
  }
  std::vector<bool> met(static_cast<std::size_t>(from.cols()), false);
  for (const Index v : surface.triangles) {
    if (met[v]) continue;
    met[v] = true;
    const Eigen::Vector3d x = from.col(v);
    out.most = std::max(out.most, (to.nearest(x) - x).norm());
  }
  return out;
}

Eigen::Matrix3Xd posed(const Rig& rig, std::size_t f) {
  if (rig.frame_count() == 0) return rig.rest.positions.cast<double>();
  Points out(3, rig.rest.positions.cols());
  pose(rig, f, out);
  return out.cast<double>();
}

}  // namespace

SurfaceDistance surface_distance(const Rig& first, const Rig& second, int threads, const Progress& progress) {
  if (first.frame_count() != second.frame_count())
    throw Error(ErrorKind::input, fmt::format("surfaces with {} and {} frames cannot be compared", first.frame_count(),
                                              second.frame_count()));
  const Surface a = make_surface(first.rest);
  const Surface b = make_surface(second.rest);
  if (a.cuts.empty() || b.cuts.empty()) throw Error(ErrorKind::input, "a mesh without triangles has no surface");
  const std::size_t frames = std::max<std::size_t>(1, first.frame_count());
  std::vector<std::pair<Sums, Sums>> parts(frames);
  std::mutex telling;
  std::size_t done = 0;
  bool stopped = false;
  const auto go_on = [&](std::size_t more) {
    const std::lock_guard lock(telling);
    done += more;
    stopped = stopped || !tell(progress, "measuring", static_cast<double>(done) / static_cast<double>(frames));
    return !stopped;
  };
  parallel_for(frames, 1, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t f = begin; f < end && go_on(0); ++f) {
      const Eigen::Matrix3Xd x = posed(first, f);
      const Eigen::Matrix3Xd y = posed(second, f);
      parts[f] = {distances(x, a, SurfaceTree(y, b.triangles)), distances(y, b, SurfaceTree(x, a.triangles))};
      go_on(1);
    }
  });
  if (stopped) throw Error(ErrorKind::interrupted, "the distance of the surfaces was not measured to its end");
  const double unit = 100 / std::max(bounding_box_diagonal(first.rest.positions), 1e-300);
  SurfaceDistance out;
  for (std::size_t f = 0; f < frames; ++f) {
    const auto& [forward, backward] = parts[f];
    out.forward_mean += unit * forward.weighted / std::max(forward.area, 1e-300) / static_cast<double>(frames);
    out.backward_mean += unit * backward.weighted / std::max(backward.area, 1e-300) / static_cast<double>(frames);
    if (unit * std::max(forward.most, backward.most) > out.max()) out.worst_frame = f;
    out.forward_max = std::max(out.forward_max, unit * forward.most);
    out.backward_max = std::max(out.backward_max, unit * backward.most);
  }
  return out;
}

}  // namespace sinew
