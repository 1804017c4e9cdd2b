#include "math/mean_shift.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "math/gemm.h"
#include "math/parallel.h"
#include "math/point_cells.h"
#include "math/sketches.h"
#include "sinew/core/error.h"

// Mean shift in the 1-norm [GeorgescuEtAl2003], arranged in rounds: every live trajectory takes one step, then those
// that came closer than coalesce·h to each other go on as one.
//
//   z_j   data points after coalescing, with multiplicity m_j
//   x     a live trajectory
//   sketch  a short row that is no farther from another point's sketch than the points are from each other
//   tile  trajectories of one cell, stepped together: neighbours found once, means by one matrix product

namespace sinew {
namespace {

using points::byte_sketch;
using points::Cell;
using points::CellIndex;
using points::Code;
using points::distance_below;
using points::District;
using points::kSketch;
using points::plain_code;
using points::plain_sketch;
using points::Rows;
using points::short_code;
using points::Sketch;

constexpr std::size_t kTile = 64;  // trajectories
constexpr std::size_t kTilesPerChunk = 16;
constexpr std::size_t kGathered = 256;  // neighbours per matrix product
constexpr std::size_t kAlone = 2;       // tiles up to this size sum their neighbours one by one
constexpr float kCellRadius = 0.5F;     // in bandwidths
constexpr float kDistrictRadius = 4;    // in bandwidths
constexpr double kWidestSlack = 0.05;   // in bandwidths; where bytes need more, sketches are floats
constexpr double kCodeError = 2e-4;     // largest standard deviation of a distance between codes, in bandwidths

/// How points are seen by the search.
struct Small {
  using Sketch = std::uint8_t;
  using Code = std::int16_t;
};
struct Medium {
  using Sketch = std::uint8_t;
  using Code = float;
};
struct Plain {
  using Sketch = float;
  using Code = float;
};
template <class T>
using Coarse = typename T::Sketch;
template <class T>
using Fine = typename T::Code;

struct Codes {
  Code code;
  Sketch sketch;
};

/// The data: coalesced points with their multiplicities, in cells.
template <class T>
struct Data {
  Rows<Fine<T>> points;
  Rows<Coarse<T>> sketches;
  std::vector<float> multiplicity;
  CellIndex index;
  float h = 0;       // bandwidth, as the codes see it
  float window = 0;  // points whose sketches are farther apart are no neighbours
};

/// The live trajectories: places, which of them have arrived, and the trajectory that every data point follows.
template <class T>
struct Trajectories {
  Rows<float> places;
  Rows<Fine<T>> codes;
  Rows<Coarse<T>> sketches;
  std::vector<char> arrived;
  std::vector<double> density;
  std::vector<Index> of_point;  // n
  CellIndex index;
};

template <class S>
CellIndex build_cells(const Rows<S>& sketches, float h) {
  return points::CellBuilder<S>(sketches, kCellRadius * h, kDistrictRadius * h).build();
}

/// Live trajectories of one cell: positions [begin, end) among `rows` and their distances to the cell's centre.
struct Tile {
  Index center = 0;  // a trajectory
  std::vector<Index> rows;
  std::vector<float> distances;  // ascending
};

template <class T>
std::vector<Tile> tiles_of(const Trajectories<T>& t) {
  std::vector<Tile> tiles;
  for (const Cell& cell : t.index.cells) {
    bool open = false;
    for (std::size_t i = 0; i < cell.members.size(); ++i) {
      if (t.arrived[cell.members[i]] != 0) continue;
      if (!open || tiles.back().rows.size() == kTile) tiles.push_back({cell.center, {}, {}});
      open = true;
      tiles.back().rows.push_back(cell.members[i]);
      tiles.back().distances.push_back(cell.distances[i]);
    }
  }
  return tiles;
}

/// Shifts the trajectories of a tile: next ← Σ w_j z_j / Σ w_j.
template <class T>
class Shifter {
 public:
  Shifter(const Data<T>& data, const Code& code, const Trajectories<T>& t)
      : data_(data),
        code_(code),
        t_(t),
        d_(code.low.size()),
        gathered_(new float[kGathered * d_]),
        weights_(new float[kGathered * kTile]),
        next_(kTile, d_) {}

  /// The new places, row i that of tile.rows[i]; valid until the next call.
  const Rows<float>& shift(const Tile& tile) {
    const std::size_t size = tile.rows.size();
    total_.assign(size, 0);
    for (std::size_t i = 0; i < size; ++i) std::fill_n(next_[i], d_, 0.0F);
    filled_ = 0;
    find_candidates(tile);
    for (const auto& [j, distance] : candidates_) add(tile, j, distance);
    flush(size);
    for (std::size_t i = 0; i < size; ++i) {
      // Weighted means of points stay within reach of some of them; should rounding empty a window, nothing moves.
      const float* place = t_.places[tile.rows[i]];
      const auto factor = static_cast<float>(1 / (total_[i] * static_cast<double>(code_.scale)));
      for (std::size_t k = 0; k < d_; ++k) next_[i][k] = total_[i] > 0 ? next_[i][k] * factor + code_.low[k] : place[k];
    }
    return next_;
  }
  double density(std::size_t i) const { return total_[i]; }

 private:
  struct Candidate {
    Index point;
    float distance;  // to the tile's centre
  };

  /// Data points within h plus the tile's radius of its centre.
  void find_candidates(const Tile& tile) {
    candidates_.clear();
    const Coarse<T>* center = t_.sketches[tile.center];
    const std::size_t stride = data_.sketches.stride();
    const float reach = data_.window + tile.distances.back();
    for (const District& district : data_.index.districts) {
      const float far = reach + district.reach;
      if (distance_below(center, data_.sketches[district.center], stride, far) >= far) continue;
      for (const Index c : district.cells) {
        const Cell& cell = data_.index.cells[c];
        const float limit = reach + cell.radius;
        const float to_cell = distance_below(center, data_.sketches[cell.center], stride, limit);
        if (to_cell >= limit) continue;
        const auto begin = std::upper_bound(cell.distances.begin(), cell.distances.end(), to_cell - reach);
        const auto end = std::lower_bound(begin, cell.distances.end(), to_cell + reach);
        for (auto d = begin; d != end; ++d) {
          const Index j = cell.members[static_cast<std::size_t>(d - cell.distances.begin())];
          const float distance = distance_below(center, data_.sketches[j], stride, reach);
          if (distance < reach) candidates_.push_back({j, distance});
        }
      }
    }
  }

  /// Adds the point to the means of the tile's trajectories that have it in their window.
  void add(const Tile& tile, Index j, float to_center) {
    const float h = data_.h;
    const Fine<T>* z = data_.points[j];
    bool used = false;
    float* weights = weights_.get() + filled_ * kTile;
    for (std::size_t i = 0; i < tile.rows.size(); ++i) {
      weights[i] = 0;
      if (std::abs(tile.distances[i] - to_center) >= data_.window) continue;
      if (tile.distances[i] > 0 && distance_below(t_.sketches[tile.rows[i]], data_.sketches[j], data_.sketches.stride(),
                                                  data_.window) >= data_.window)
        continue;
      const float distance = distance_below(t_.codes[tile.rows[i]], z, data_.points.stride(), h);
      if (distance >= h) continue;
      const float u = 1 - distance / h;
      weights[i] = u * u * data_.multiplicity[j];
      total_[i] += static_cast<double>(weights[i]);
      used = true;
    }
    if (!used) return;
    if (tile.rows.size() > kAlone) {
      std::copy_n(z, d_, gathered_.get() + filled_ * d_);
      if (++filled_ == kGathered) flush(tile.rows.size());
      return;
    }
    for (std::size_t i = 0; i < tile.rows.size(); ++i) {
      const float w = weights[i];
      float* sum = next_[i];
      for (std::size_t k = 0; k < d_ && w > 0; ++k) sum[k] += w * static_cast<float>(z[k]);
    }
  }

  void flush(std::size_t size) {
    if (filled_ == 0) return;
    const auto d = static_cast<int>(d_);
    gemm_block(Op::none, Op::transpose, d, static_cast<int>(size), static_cast<int>(filled_), 1.0F, gathered_.get(), d,
               weights_.get(), static_cast<int>(kTile), 1.0F, next_[0], static_cast<int>(next_.stride()));
    filled_ = 0;
  }

  const Data<T>& data_;
  const Code& code_;
  const Trajectories<T>& t_;
  std::size_t d_;
  std::vector<Candidate> candidates_;
  std::unique_ptr<float[]> gathered_;  // kGathered×d: neighbours whose weights wait for the product
  std::unique_ptr<float[]> weights_;   // kGathered×kTile
  std::size_t filled_ = 0;
  Rows<float> next_;
  std::vector<double> total_;
};

/// Told often: of many points a round takes seconds, after which somebody who wants to stop is still there.
class Told {
 public:
  Told(const Progress& progress, int rounds) : progress_(progress), rounds_(rounds) {}

  void next_round() { ++round_; }

  void go_on() const {
    if (!tell(progress_, "mean shift", static_cast<double>(round_) / rounds_))
      throw Error(ErrorKind::interrupted, "interrupted during the mean shift");
  }

 private:
  const Progress& progress_;
  int rounds_;
  int round_ = 0;
};

template <class T>
std::size_t take_steps(const Data<T>& data, const Codes& codes, const MeanShiftOptions& options, Trajectories<T>& t,
                       const Told& told) {
  const auto still = static_cast<float>(options.tolerance * options.bandwidth);
  const std::vector<Tile> tiles = tiles_of(t);
  std::size_t moved = 0;
  for (const Tile& tile : tiles) moved += tile.rows.size();
  // Sketches change only after all tiles are done: a tile may be cut from a cell whose centre moves with another tile.
  Rows<Coarse<T>> sketches = t.sketches;
  const auto take = [&](std::size_t begin, std::size_t end) {
    Shifter<T> shifter(data, codes.code, t);
    for (std::size_t l = begin; l < end; ++l) {
      const Rows<float>& next = shifter.shift(tiles[l]);
      for (std::size_t i = 0; i < tiles[l].rows.size(); ++i) {
        const Index row = tiles[l].rows[i];
        t.density[row] = shifter.density(i);
        t.arrived[row] = distance_below(t.places[row], next[i], next.stride(), still) < still ? 1 : 0;
        std::copy_n(next[i], next.stride(), t.places[row]);
        codes.code.encode(next[i], t.codes[row]);
        codes.sketch.encode(next[i], sketches[row]);
      }
    }
  };
  const std::size_t between = 4 * kTilesPerChunk * static_cast<std::size_t>(resolve_threads(options.threads));
  for (std::size_t first = 0; first < tiles.size(); first += between) {
    const std::size_t count = std::min(between, tiles.size() - first);
    parallel_for(count, kTilesPerChunk, options.threads,
                 [&](std::size_t begin, std::size_t end) { take(first + begin, first + end); });
    told.go_on();
  }
  t.sketches = std::move(sketches);
  return moved;
}

/// For every row the leader closer than `radius`, or itself.
template <class T>
std::vector<Index> leaders_of(const Rows<Fine<T>>& rows, const Rows<Coarse<T>>& sketches, const CellIndex& index,
                              const Codes& codes, double radius, int threads) {
  const float sketched = static_cast<float>(radius) * codes.sketch.scale + codes.sketch.slack;
  const float coded = static_cast<float>(radius) * codes.code.scale;
  return points::find_leaders(sketches, index.cells, sketched, threads, [&](Index a, Index b) {
    return distance_below(rows[a], rows[b], rows.stride(), coded) < coded;
  });
}

/// Trajectories that met go on as one; one that has arrived takes the others in without moving.
template <class T>
void coalesce(const Codes& codes, const MeanShiftOptions& options, Trajectories<T>& t) {
  t.index = build_cells(t.sketches, static_cast<float>(options.bandwidth) * codes.sketch.scale);
  const std::vector<Index> leader =
      leaders_of<T>(t.codes, t.sketches, t.index, codes, options.coalesce * options.bandwidth, options.threads);
  std::vector<Index> kept;
  std::vector<Index> new_row(leader.size());
  for (std::size_t i = 0; i < leader.size(); ++i) {
    if (leader[i] != i) continue;
    new_row[i] = static_cast<Index>(kept.size());
    t.arrived[kept.size()] = t.arrived[i];
    t.density[kept.size()] = t.density[i];
    kept.push_back(static_cast<Index>(i));
  }
  for (std::size_t i = 0; i < leader.size(); ++i) new_row[i] = new_row[leader[i]];
  t.places.select(kept);
  t.codes.select(kept);
  t.sketches.select(kept);
  t.arrived.resize(kept.size());
  t.density.resize(kept.size());
  for (Index& trajectory : t.of_point) trajectory = new_row[trajectory];
  for (Cell& cell : t.index.cells) {
    cell.center = new_row[cell.center];
    std::size_t size = 0;
    for (std::size_t i = 0; i < cell.members.size(); ++i) {
      if (leader[cell.members[i]] != cell.members[i]) continue;
      cell.members[size] = new_row[cell.members[i]];
      cell.distances[size++] = cell.distances[i];
    }
    cell.members.resize(size);
    cell.distances.resize(size);
  }
}

/// Replaces groups of points that share a leader by their mean; returns the new row of every point.
std::vector<Index> merge_points(Rows<float>& points, std::vector<float>& multiplicity,
                                const std::vector<Index>& leader) {
  std::vector<Index> new_row(leader.size());
  std::size_t kept = 0;
  for (std::size_t j = 0; j < leader.size(); ++j) {
    if (leader[j] == j) new_row[j] = static_cast<Index>(kept++);
  }
  for (std::size_t j = 0; j < leader.size(); ++j) new_row[j] = new_row[leader[j]];
  Rows<float> merged(kept, points.stride());
  multiplicity.assign(kept, 0);
  for (std::size_t j = 0; j < leader.size(); ++j) {
    float* mean = merged[new_row[j]];
    const float* z = points[j];
    const float share = 1 / ++multiplicity[new_row[j]];
    for (std::size_t i = 0; i < merged.stride(); ++i) mean[i] += share * (z[i] - mean[i]);
  }
  points = std::move(merged);
  return new_row;
}

/// Ends in the order of their first point.
template <class T>
MeanShift collect(const Trajectories<T>& t, Eigen::Index d) {
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
  result.ends.resize(static_cast<Eigen::Index>(used.size()), d);
  for (std::size_t e = 0; e < used.size(); ++e) {
    std::copy_n(t.places[used[e]], d, result.ends.row(static_cast<Eigen::Index>(e)).data());
    result.density.push_back(t.density[used[e]]);
  }
  return result;
}

template <class C, class Encoder>
Rows<C> encode_all(const Rows<float>& rows, const Encoder& encoder, std::size_t length, int threads) {
  Rows<C> out(rows.count(), length);
  parallel_for(rows.count(), kGathered, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) encoder.encode(rows[i], out[i]);
  });
  return out;
}

/// Codes, sketches and cells of the points.
template <class T>
void arrange(const Rows<float>& points, const Codes& codes, const MeanShiftOptions& options, Data<T>& data) {
  data.points = encode_all<Fine<T>>(points, codes.code, codes.code.low.size(), options.threads);
  data.sketches = encode_all<Coarse<T>>(points, codes.sketch, codes.sketch.shift.size(), options.threads);
  data.index = build_cells(data.sketches, static_cast<float>(options.bandwidth) * codes.sketch.scale);
}

/// All rounds, with sketches of type T.
template <class T>
MeanShift run(Rows<float> points, const Codes& codes, const MeanShiftOptions& options, const Progress& progress) {
  Told told(progress, options.max_iterations);
  Data<T> data;
  data.h = static_cast<float>(options.bandwidth) * codes.code.scale;
  data.window = static_cast<float>(options.bandwidth) * codes.sketch.scale + codes.sketch.slack;
  Trajectories<T> t;
  arrange(points, codes, options, data);
  told.go_on();
  t.of_point = merge_points(
      points, data.multiplicity,
      leaders_of<T>(data.points, data.sketches, data.index, codes, options.merge * options.bandwidth, options.threads));
  told.go_on();
  arrange(points, codes, options, data);
  told.go_on();
  t.places = std::move(points);
  t.codes = data.points;
  t.sketches = data.sketches;
  t.index = data.index;
  t.arrived.assign(t.places.count(), 0);
  t.density.assign(t.places.count(), 0);
  std::size_t steps = 0;
  std::size_t rounds = 0;
  for (; rounds < static_cast<std::size_t>(options.max_iterations); ++rounds) {
    const std::size_t moved = take_steps(data, codes, options, t, told);
    if (moved == 0) break;
    steps += moved;
    coalesce(codes, options, t);
    told.go_on();
    told.next_round();
  }
  MeanShift result = collect(t, static_cast<Eigen::Index>(codes.code.low.size()));
  result.iterations = rounds;
  result.steps = steps;
  return result;
}

void check(const Eigen::Ref<const PointRows>& points, const MeanShiftOptions& options) {
  if (!(options.bandwidth > 0) || !std::isfinite(options.bandwidth))
    throw Error(ErrorKind::usage, fmt::format("mean shift: bandwidth {}, expected > 0", options.bandwidth));
  for (const double radius : {options.merge, options.coalesce}) {
    if (!(radius >= 0 && radius < 0.5))
      throw Error(ErrorKind::usage, fmt::format("mean shift: merge or coalesce {}, expected 0..0.5", radius));
  }
  if (options.period < 1 || options.period > kSketch)
    throw Error(ErrorKind::usage, fmt::format("mean shift: period {}, expected 1..{}", options.period, kSketch));
  if (!points.allFinite()) throw Error(ErrorKind::input, "mean shift: a point holds a number that is not finite");
}

}  // namespace

MeanShift mean_shift(const Eigen::Ref<const PointRows>& points, const MeanShiftOptions& given,
                     const Progress& progress) {
  check(points, given);
  if (points.rows() == 0) return {};
  MeanShiftOptions options = given;
  if (options.exact) options.merge = options.coalesce = 0;
  const auto d = static_cast<std::size_t>(points.cols());
  Rows<float> rows(static_cast<std::size_t>(points.rows()), d);
  for (std::size_t j = 0; j < rows.count(); ++j)
    std::copy_n(points.row(static_cast<Eigen::Index>(j)).data(), d, rows[j]);
  const double h = options.bandwidth;
  const Codes plain{plain_code(d), plain_sketch(d, options)};
  const Codes small{short_code(points), byte_sketch(plain.sketch, rows)};
  // A rounding error has a variance of at most 1/4.
  const double slack = static_cast<double>(small.sketch.slack / small.sketch.scale);
  const double deviation = 0.5 * std::sqrt(static_cast<double>(d)) / static_cast<double>(small.code.scale);
  if (options.exact || slack > kWidestSlack * h) return run<Plain>(std::move(rows), plain, options, progress);
  if (deviation > kCodeError * h) return run<Medium>(std::move(rows), {plain.code, small.sketch}, options, progress);
  return run<Small>(std::move(rows), small, options, progress);
}

}  // namespace sinew
