#include "sinew/math/mean_shift.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sinew/core/error.h"
#include "sinew/math/parallel.h"

// Mean shift in the 1-norm [GeorgescuEtAl2003], arranged in rounds: every live trajectory takes one step, then those
// that came closer than coalesce·h to each other go on as one.
//
//   z_j   data points after coalescing, with multiplicity m_j
//   x     a live trajectory
//   cell  a centre, a radius <= h/2 and the points assigned to it, sorted by their distance to the centre

namespace sinew {
namespace {

constexpr std::size_t kBlock = 64;         // coordinates between two tests of a growing distance
constexpr std::size_t kRowsPerChunk = 16;  // of a parallel round
constexpr int kDenseRounds = 8;            // trajectories meet mostly in the first rounds; later every so many
constexpr float kCellRadius = 0.5F;        // in bandwidths
constexpr float kDistrictRadius = 4;       // in bandwidths

/// Rows of floats whose length is a multiple of kBlock, padded with zeros: the padding adds nothing to a distance.
class Rows {
 public:
  Rows(std::size_t count, std::size_t stride) : stride_(stride), data_(count * stride) {}

  std::size_t count() const { return stride_ == 0 ? 0 : data_.size() / stride_; }
  std::size_t stride() const { return stride_; }
  float* operator[](std::size_t i) { return data_.data() + i * stride_; }
  const float* operator[](std::size_t i) const { return data_.data() + i * stride_; }
  void truncate(std::size_t count) { data_.resize(count * stride_); }

 private:
  std::size_t stride_;
  std::vector<float> data_;
};

/// 1-norm distance if it is < limit, else some number >= limit.
float distance_below(const float* a, const float* b, std::size_t stride, float limit) {
  float total = 0;
  for (std::size_t start = 0; start < stride; start += kBlock) {
    using Block = Eigen::Array<float, static_cast<int>(kBlock), 1>;
    total += (Eigen::Map<const Block>(a + start) - Eigen::Map<const Block>(b + start)).abs().sum();
    if (total >= limit) return total;
  }
  return total;
}

/// Points near a centre.
struct Cell {
  std::size_t center = 0;        // row that founded the cell
  float radius = 0;              // largest distance of a member
  std::vector<Index> members;    // rows
  std::vector<float> distances;  // of the members to the centre, ascending after sort()

  void sort() {
    std::vector<Index> order(members.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return distances[a] < distances[b]; });
    const std::vector<Index> old_members = members;
    const std::vector<float> old_distances = distances;
    for (std::size_t i = 0; i < order.size(); ++i) {
      members[i] = old_members[order[i]];
      distances[i] = old_distances[order[i]];
    }
    radius = distances.empty() ? 0 : distances.back();
  }
};

/// Cells whose centres are closer than kDistrictRadius·h to a common centre.
struct District {
  std::size_t center = 0;
  float reach = 0;  // no point of its cells is farther than this from the centre
  std::vector<Index> cells;
};

/// Rows sorted into cells, cells into districts.
struct CellIndex {
  std::vector<Cell> cells;
  std::vector<District> districts;
};

/// Puts every row into the first cell whose centre is closer than kCellRadius·h, founding cells and districts as
/// needed. The cell of the row before is tried first: neighbours on a mesh are mostly neighbours here.
class CellBuilder {
 public:
  CellBuilder(const Rows& rows, float bandwidth)
      : rows_(rows), cell_radius_(kCellRadius * bandwidth), district_radius_(kDistrictRadius * bandwidth) {}

  CellIndex build() {
    for (std::size_t row = 0; row < rows_.count(); ++row) insert(row);
    for (Cell& cell : index_.cells) cell.sort();
    for (District& district : index_.districts) {
      for (const Index c : district.cells) {
        const Cell& cell = index_.cells[c];
        district.reach = std::max(district.reach, distance(district.center, cell.center, kFar) + cell.radius);
      }
    }
    return std::move(index_);
  }

 private:
  static constexpr float kFar = std::numeric_limits<float>::max();

  float distance(std::size_t a, std::size_t b, float limit) const {
    return distance_below(rows_[a], rows_[b], rows_.stride(), limit);
  }

  bool join(std::size_t row, std::size_t c) {
    const float d = distance(row, index_.cells[c].center, cell_radius_);
    if (d >= cell_radius_) return false;
    index_.cells[c].members.push_back(static_cast<Index>(row));
    index_.cells[c].distances.push_back(d);
    last_ = c;
    return true;
  }

  void insert(std::size_t row) {
    if (!index_.cells.empty() && join(row, last_)) return;
    std::size_t home = index_.districts.size();  // the first district that may hold a new cell here
    for (std::size_t i = 0; i < index_.districts.size(); ++i) {
      const float d = distance(row, index_.districts[i].center, district_radius_ + cell_radius_);
      if (d >= district_radius_ + cell_radius_) continue;
      for (const Index c : index_.districts[i].cells) {
        if (join(row, c)) return;
      }
      if (d < district_radius_ && home == index_.districts.size()) home = i;
    }
    if (home == index_.districts.size()) index_.districts.push_back({row, 0, {}});
    last_ = index_.cells.size();
    index_.districts[home].cells.push_back(static_cast<Index>(last_));
    index_.cells.push_back({row, 0, {static_cast<Index>(row)}, {0.0F}});
  }

  const Rows& rows_;
  float cell_radius_;
  float district_radius_;
  CellIndex index_;
  std::size_t last_ = 0;
};

/// For every row the one that stands for it: itself, or a leader closer than `radius` in its cell.
std::vector<Index> find_leaders(const Rows& rows, const std::vector<Cell>& cells, float radius, int threads) {
  std::vector<Index> leader(rows.count());
  std::iota(leader.begin(), leader.end(), Index{0});
  if (radius <= 0) return leader;
  parallel_for(cells.size(), 1, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      const Cell& cell = cells[c];
      std::vector<std::size_t> leaders;  // positions in the cell, by ascending distance to its centre
      std::size_t first = 0;
      for (std::size_t i = 0; i < cell.members.size(); ++i) {
        // |d(x, centre) − d(y, centre)| <= d(x, y): leaders too far inside cannot be within the radius.
        while (first < leaders.size() && cell.distances[leaders[first]] <= cell.distances[i] - radius) ++first;
        for (std::size_t l = leaders.size(); l > first; --l) {
          const Index other = cell.members[leaders[l - 1]];
          if (distance_below(rows[cell.members[i]], rows[other], rows.stride(), radius) < radius) {
            leader[cell.members[i]] = other;
            break;
          }
        }
        if (leader[cell.members[i]] == cell.members[i]) leaders.push_back(i);
      }
    }
  });
  return leader;
}

/// The data of a mean shift: coalesced points with their multiplicities, in cells.
struct Data {
  Rows points;
  std::vector<float> multiplicity;
  CellIndex index;
};

/// One shift of a trajectory; returns the kernel sum. `sum` is scratch of the row length.
class Shifter {
 public:
  Shifter(const Data& data, float bandwidth)
      : data_(data), h_(bandwidth), part_(data.points.stride()), sum_(data.points.stride()) {}

  double shift(const float* x, float* out) {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    double total = 0;
    for (const District& district : data_.index.districts) {
      const float reach = h_ + district.reach;
      if (distance_below(x, data_.points[district.center], data_.points.stride(), reach) >= reach) continue;
      for (const Index c : district.cells) total += add_cell(data_.index.cells[c], x);
    }
    // A data point lies within h of any weighted mean of points within h of the trajectory's last place only as long
    // as the kernel overlaps; an empty window means the trajectory stays where it is.
    for (std::size_t i = 0; i < sum_.size(); ++i) out[i] = total > 0 ? static_cast<float>(sum_[i] / total) : x[i];
    return total;
  }

 private:
  double add_cell(const Cell& cell, const float* x) {
    const std::size_t stride = data_.points.stride();
    const float reach = h_ + cell.radius;
    const float to_center = distance_below(x, data_.points[cell.center], stride, reach);
    if (to_center >= reach) return 0;
    const auto begin = std::upper_bound(cell.distances.begin(), cell.distances.end(), to_center - h_);
    const auto end = std::lower_bound(begin, cell.distances.end(), to_center + h_);
    double total = 0;
    bool used = false;
    for (auto d = begin; d != end; ++d) {
      const Index j = cell.members[static_cast<std::size_t>(d - cell.distances.begin())];
      const float* z = data_.points[j];
      const float distance = distance_below(x, z, stride, h_);
      if (distance >= h_) continue;
      const float u = 1 - distance / h_;
      const float w = u * u * data_.multiplicity[j];
      if (!used) std::fill(part_.begin(), part_.end(), 0.0F);
      used = true;
      total += w;
      for (std::size_t i = 0; i < stride; ++i) part_[i] += w * z[i];
    }
    // Sums of a cell in float, sums over cells in double: thousands of neighbours cost no accuracy.
    if (used) {
      for (std::size_t i = 0; i < stride; ++i) sum_[i] += static_cast<double>(part_[i]);
    }
    return total;
  }

  const Data& data_;
  float h_;
  std::vector<float> part_;
  std::vector<double> sum_;
};

/// Coordinates in order of falling mean absolute deviation.
std::vector<Eigen::Index> order_by_spread(const Eigen::Ref<const PointRows>& points) {
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(points.cols());
  for (Eigen::Index j = 0; j < points.rows(); ++j) mean += points.row(j).transpose().cast<double>();
  mean /= static_cast<double>(points.rows());
  Eigen::VectorXd spread = Eigen::VectorXd::Zero(points.cols());
  for (Eigen::Index j = 0; j < points.rows(); ++j)
    spread += (points.row(j).transpose().cast<double>() - mean).cwiseAbs();
  std::vector<Eigen::Index> order(static_cast<std::size_t>(points.cols()));
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Eigen::Index a, Eigen::Index b) { return spread[a] > spread[b]; });
  return order;
}

void check(const Eigen::Ref<const PointRows>& points, const MeanShiftOptions& options) {
  if (!(options.bandwidth > 0) || !std::isfinite(options.bandwidth))
    throw Error(ErrorKind::usage, fmt::format("mean shift: bandwidth {}, expected > 0", options.bandwidth));
  if (!(options.coalesce >= 0 && options.coalesce < 0.5))
    throw Error(ErrorKind::usage, fmt::format("mean shift: coalesce {}, expected 0..0.5", options.coalesce));
  if (!points.allFinite()) throw Error(ErrorKind::input, "mean shift: a point holds a number that is not finite");
}

/// Replaces groups of rows that share a leader by their weighted mean; returns the new row of every old one.
std::vector<Index> merge_rows(Rows& rows, std::vector<float>& multiplicity, const std::vector<Index>& leader) {
  std::vector<Index> new_row(rows.count());
  std::size_t kept = 0;
  for (std::size_t j = 0; j < rows.count(); ++j) {
    if (leader[j] == j) new_row[j] = static_cast<Index>(kept++);
  }
  for (std::size_t j = 0; j < rows.count(); ++j) new_row[j] = new_row[leader[j]];
  Rows merged(kept, rows.stride());
  std::vector<float> total(kept, 0);
  for (std::size_t j = 0; j < rows.count(); ++j) {
    float* out = merged[new_row[j]];
    const float* in = rows[j];
    const float before = total[new_row[j]];
    const float share = multiplicity[j] / (before + multiplicity[j]);
    if (before == 0) {
      std::copy_n(in, rows.stride(), out);
    } else {
      for (std::size_t i = 0; i < rows.stride(); ++i) out[i] += share * (in[i] - out[i]);
    }
    total[new_row[j]] = before + multiplicity[j];
  }
  rows = std::move(merged);
  multiplicity = std::move(total);
  return new_row;
}

/// The live trajectories: places, which of them have arrived, and the trajectory that every data point follows.
struct Trajectories {
  Rows places;
  std::vector<char> arrived;
  std::vector<double> density;
  std::vector<Index> of_point;  // n
};

std::size_t take_steps(const Data& data, const MeanShiftOptions& options, Trajectories& t) {
  const auto h = static_cast<float>(options.bandwidth);
  const auto still = static_cast<float>(options.tolerance * options.bandwidth);
  std::vector<Index> live;
  for (std::size_t i = 0; i < t.places.count(); ++i) {
    if (t.arrived[i] == 0) live.push_back(static_cast<Index>(i));
  }
  parallel_for(live.size(), kRowsPerChunk, options.threads, [&](std::size_t begin, std::size_t end) {
    Shifter shifter(data, h);
    std::vector<float> next(t.places.stride());
    for (std::size_t l = begin; l < end; ++l) {
      float* place = t.places[live[l]];
      t.density[live[l]] = shifter.shift(place, next.data());
      t.arrived[live[l]] = distance_below(place, next.data(), next.size(), still) <= still ? 1 : 0;
      std::copy(next.begin(), next.end(), place);
    }
  });
  return live.size();
}

/// Trajectories that met go on as one; one that has arrived takes the others in without moving.
void coalesce(const MeanShiftOptions& options, Trajectories& t) {
  if (options.coalesce <= 0) return;
  const auto h = static_cast<float>(options.bandwidth);
  const CellIndex index = CellBuilder(t.places, h).build();
  const std::vector<Index> leader =
      find_leaders(t.places, index.cells, static_cast<float>(options.coalesce) * h, options.threads);
  std::vector<Index> new_row(leader.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < leader.size(); ++i) {
    if (leader[i] != i) continue;
    std::copy_n(t.places[i], t.places.stride(), t.places[kept]);
    t.arrived[kept] = t.arrived[i];
    t.density[kept] = t.density[i];
    new_row[i] = static_cast<Index>(kept++);
  }
  for (std::size_t i = 0; i < leader.size(); ++i) new_row[i] = new_row[leader[i]];
  t.places.truncate(kept);
  t.arrived.resize(kept);
  t.density.resize(kept);
  for (Index& trajectory : t.of_point) trajectory = new_row[trajectory];
}

/// The points with their coordinates in `order`, in padded rows.
Rows padded_rows(const Eigen::Ref<const PointRows>& points, const std::vector<Eigen::Index>& order) {
  Rows rows(static_cast<std::size_t>(points.rows()), (order.size() + kBlock - 1) / kBlock * kBlock);
  for (std::size_t j = 0; j < rows.count(); ++j) {
    for (std::size_t i = 0; i < order.size(); ++i) rows[j][i] = points(static_cast<Eigen::Index>(j), order[i]);
  }
  return rows;
}

/// Ends at full length in the order of their first point, with the coordinates back in place.
MeanShift collect(const Trajectories& t, const std::vector<Eigen::Index>& order) {
  MeanShift result;
  constexpr Index kNone = ~Index{0};
  std::vector<Index> number(t.places.count(), kNone);
  std::vector<Index> used;
  result.end_of.reserve(t.of_point.size());
  for (const Index trajectory : t.of_point) {
    if (number[trajectory] == kNone) {
      number[trajectory] = static_cast<Index>(used.size());
      used.push_back(trajectory);
    }
    result.end_of.push_back(number[trajectory]);
    if (t.arrived[trajectory] == 0) ++result.unfinished;
  }
  result.ends.resize(static_cast<Eigen::Index>(used.size()), static_cast<Eigen::Index>(order.size()));
  for (std::size_t e = 0; e < used.size(); ++e) {
    for (std::size_t i = 0; i < order.size(); ++i)
      result.ends(static_cast<Eigen::Index>(e), order[i]) = t.places[used[e]][i];
    result.density.push_back(t.density[used[e]]);
  }
  return result;
}

}  // namespace

MeanShift mean_shift(const Eigen::Ref<const PointRows>& points, const MeanShiftOptions& options,
                     const Progress& progress) {
  check(points, options);
  if (points.rows() == 0) return {};
  const auto h = static_cast<float>(options.bandwidth);
  const std::vector<Eigen::Index> order = order_by_spread(points);

  Data data{padded_rows(points, order), std::vector<float>(static_cast<std::size_t>(points.rows()), 1.0F), {}};
  data.index = CellBuilder(data.points, h).build();
  const std::vector<Index> leader =
      find_leaders(data.points, data.index.cells, static_cast<float>(options.coalesce) * h, options.threads);
  Trajectories trajectories{Rows(0, data.points.stride()), {}, {}, merge_rows(data.points, data.multiplicity, leader)};
  data.index = CellBuilder(data.points, h).build();
  trajectories.places = data.points;
  trajectories.arrived.assign(data.points.count(), 0);
  trajectories.density.assign(data.points.count(), 0);

  std::size_t steps = 0;
  std::size_t rounds = 0;
  for (int round = 0; round < options.max_iterations; ++round) {
    const std::size_t moved = take_steps(data, options, trajectories);
    if (moved == 0) break;
    steps += moved;
    ++rounds;
    if (round < kDenseRounds || round % kDenseRounds == 0) coalesce(options, trajectories);
    if (!report(progress, "mean shift", static_cast<double>(round) / options.max_iterations))
      throw Error(ErrorKind::interrupted, "mean shift: stopped on request");
  }
  MeanShift result = collect(trajectories, order);
  result.iterations = rounds;
  result.steps = steps;
  return result;
}

Modes find_modes(const MeanShift& shifted, const ModeOptions& options) {
  const std::size_t count = shifted.density.size();
  std::vector<std::size_t> points_of(count, 0);
  for (const Index e : shifted.end_of) ++points_of[e];
  const auto distance = [&](std::size_t a, std::size_t b) {
    const auto row_a = shifted.ends.row(static_cast<Eigen::Index>(a));
    return static_cast<double>((row_a - shifted.ends.row(static_cast<Eigen::Index>(b))).lpNorm<1>());
  };

  // Densest first, so that the result does not depend on the order of the points.
  std::vector<Index> by_density(count);
  std::iota(by_density.begin(), by_density.end(), Index{0});
  std::stable_sort(by_density.begin(), by_density.end(),
                   [&](Index a, Index b) { return shifted.density[a] > shifted.density[b]; });
  std::vector<Index> modes;
  std::vector<std::size_t> sizes;
  for (const Index e : by_density) {
    std::size_t nearest = modes.size();
    double nearest_distance = options.join * options.bandwidth;
    for (std::size_t m = 0; m < modes.size(); ++m) {
      const double d = distance(e, modes[m]);
      if (d < nearest_distance) {
        nearest_distance = d;
        nearest = m;
      }
    }
    if (nearest == modes.size()) {
      modes.push_back(e);
      sizes.push_back(0);
    }
    sizes[nearest] += points_of[e];
  }

  std::vector<std::size_t> by_size(modes.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  Modes result;
  for (const std::size_t m : by_size) {
    if (!result.ends.empty() && sizes[m] < options.min_points) break;
    result.ends.push_back(modes[m]);
    result.sizes.push_back(sizes[m]);
  }

  std::vector<int> mode_of_end(count, -1);
  for (std::size_t e = 0; e < count; ++e) {
    double nearest_distance = options.associate * options.bandwidth;
    for (std::size_t m = 0; m < result.ends.size(); ++m) {
      const double d = distance(e, result.ends[m]);
      if (d < nearest_distance) {
        nearest_distance = d;
        mode_of_end[e] = static_cast<int>(m);
      }
    }
  }
  for (const Index e : shifted.end_of) result.mode_of.push_back(mode_of_end[e]);
  return result;
}

}  // namespace sinew
