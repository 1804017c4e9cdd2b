#include "solve/sma/cores.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "math/parallel.h"
#include "solve/sma/bones.h"

// Near-rigid cores [JamesTwigg2005 §4.2].
//
//   z_j  rotations of triangle j over the frames, a point of 9F numbers
//   h    9Fε, the paper's bandwidth in the 1-norm

namespace sinew::sma {

namespace {

constexpr double kKernel = 0.95;     // radius of the kernel in h; see docs/algorithms/sma.md, "The window"
constexpr double kPartShare = 0.05;  // of all triangles that a part needs to become a bone of its own

/// The connected parts of a core, by falling area. Triangles that share a vertex are connected.
std::vector<std::vector<std::size_t>> connected_parts(const Triangles& triangles,
                                                      const std::vector<std::size_t>& core) {
  std::map<Index, std::size_t> root_of;  // vertex → position in `parent`
  std::vector<std::size_t> parent(core.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto find = [&](std::size_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (std::size_t i = 0; i < core.size(); ++i) {
    for (const Index v : triangles.corners[core[i]]) {
      const auto [at, fresh] = root_of.try_emplace(v, i);
      if (!fresh) parent[std::max(find(i), find(at->second))] = std::min(find(i), find(at->second));
    }
  }
  std::map<std::size_t, std::pair<double, std::vector<std::size_t>>> groups;
  for (std::size_t i = 0; i < core.size(); ++i) {
    auto& [area, group] = groups[find(i)];
    area -= triangles.areas[core[i]];
    group.push_back(core[i]);
  }
  std::vector<std::pair<double, std::vector<std::size_t>>> sorted;
  for (auto& [root, group] : groups) sorted.push_back(std::move(group));
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::vector<std::size_t>> out;
  for (auto& [area, group] : sorted) out.push_back(std::move(group));
  return out;
}

/// Mean squared distance of a part's centroids from where the rigid motion of a core puts them.
double misfit(const Sequence& sequence, const Triangles& triangles, const std::vector<Affine>& rigid,
              const std::vector<std::size_t>& part) {
  double sum = 0;
  double area = 0;
  for (std::size_t f = 0; f < rigid.size(); ++f) {
    for (const std::size_t j : part) {
      const Eigen::Vector3d rest = centroid(sequence.rest.positions, triangles.corners[j]);
      const Eigen::Vector3d posed = centroid(sequence.frames[f], triangles.corners[j]);
      const Eigen::Vector3d predicted = rigid[f].leftCols<3>().cast<double>() * rest + rigid[f].col(3).cast<double>();
      sum += triangles.areas[j] * (posed - predicted).squaredNorm();
      area += triangles.areas[j];
    }
  }
  return sum / area;
}

/// Cores that one rotation cluster falls into.
struct Parts {
  std::vector<std::vector<std::size_t>> cores;
};

/// Triangles that turn alike need not move alike. The largest connected part takes in the others that its rigid motion
/// carries along within the tolerance; of what is left the next largest does the same, as long as it is significant.
Parts split_core(const Sequence& sequence, const Triangles& triangles, const std::vector<std::size_t>& core,
                 double epsilon) {
  Parts out;
  std::vector<std::vector<std::size_t>> parts = connected_parts(triangles, core);
  const double significant = kPartShare * static_cast<double>(triangles.corners.size());
  while (!parts.empty()) {
    std::vector<std::size_t> main = parts.front();
    if (!out.cores.empty() && static_cast<double>(main.size()) < significant) break;
    std::vector<Affine> rigid;
    for (std::size_t f = 0; f < sequence.frame_count(); ++f)
      rigid.push_back(core_transform(sequence, triangles, main, f, Transforms::rigid));
    Eigen::AlignedBox3d box;
    for (const std::size_t j : main) box.extend(centroid(sequence.rest.positions, triangles.corners[j]));
    const double tolerance = epsilon * box.diagonal().norm();
    std::vector<std::vector<std::size_t>> left;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (misfit(sequence, triangles, rigid, parts[i]) <= tolerance * tolerance) {
        main.insert(main.end(), parts[i].begin(), parts[i].end());
      } else {
        left.push_back(std::move(parts[i]));
      }
    }
    std::sort(main.begin(), main.end());
    out.cores.push_back(std::move(main));
    parts = std::move(left);
  }
  return out;
}

}  // namespace

std::size_t significant_size(std::size_t triangles) {
  const auto n = static_cast<double>(triangles);
  return static_cast<std::size_t>(std::ceil(std::max(0.0024 * n, std::min(40.0, 0.02 * n))));
}

Cores find_cores(const Triangles& triangles, double epsilon, int threads, const Progress& progress) {
  const double h = epsilon * static_cast<double>(triangles.rotations.cols());
  MeanShiftOptions shift;
  shift.bandwidth = kKernel * h;
  shift.period = 9;
  shift.threads = threads;
  const MeanShift shifted = mean_shift(triangles.rotations, shift, progress);
  ModeOptions modes;
  modes.bandwidth = h;
  modes.min_points = significant_size(triangles.corners.size());
  const Modes found = find_modes(shifted, modes);

  Cores cores;
  cores.epsilon = epsilon;
  cores.bone_of = found.mode_of;
  cores.steps = shifted.steps;
  cores.near_rigid_fraction =
      static_cast<double>(std::count_if(found.mode_of.begin(), found.mode_of.end(), [](int b) { return b >= 0; })) /
      static_cast<double>(std::max<std::size_t>(1, found.mode_of.size()));
  cores.sizes.assign(found.ends.size(), 0);
  for (const int b : cores.bone_of) {
    if (b >= 0) ++cores.sizes[static_cast<std::size_t>(b)];
  }
  return cores;
}

Cores separate_parts(const Sequence& sequence, const Triangles& triangles, const Cores& cores, int threads) {
  std::vector<Parts> parts(cores.bones());
  parallel_for(cores.bones(), 1, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      parts[b] = split_core(sequence, triangles, core_of(cores, b), cores.epsilon);
  });
  Cores out = cores;
  out.sizes.clear();
  std::fill(out.bone_of.begin(), out.bone_of.end(), -1);
  for (const Parts& part : parts) {
    for (const std::vector<std::size_t>& core : part.cores) {
      for (const std::size_t j : core) out.bone_of[j] = static_cast<int>(out.sizes.size());
      out.sizes.push_back(core.size());
    }
  }
  return out;
}

std::vector<std::size_t> core_of(const Cores& cores, std::size_t b) {
  std::vector<std::size_t> core;
  for (std::size_t j = 0; j < cores.bone_of.size(); ++j) {
    if (cores.bone_of[j] == static_cast<int>(b)) core.push_back(j);
  }
  return core;
}

}  // namespace sinew::sma
