#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <vector>

#include "math/parallel.h"
#include "sinew/core/types.h"

/// Neighbour search in the 1-norm: rows of floats or bytes, sorted into cells, cells into districts.
namespace sinew::points {

/// Rows are padded to a multiple of this.
template <class T>
inline constexpr std::size_t kBlock = sizeof(T) == 1 ? 128 : 32;

/// Codes of two bytes are at most this, so that 16 differences add up in two bytes.
inline constexpr int kLargestShort = 4095;

/// Rows whose length is a multiple of kBlock<T>, padded with zeros: the padding adds nothing to a distance.
template <class T>
class Rows {
 public:
  Rows() = default;
  Rows(std::size_t count, std::size_t length)
      : count_(count), stride_((length + kBlock<T> - 1) / kBlock<T> * kBlock<T>), data_(count * stride_) {}

  std::size_t count() const { return count_; }
  std::size_t stride() const { return stride_; }
  T* operator[](std::size_t i) { return data_.data() + i * stride_; }
  const T* operator[](std::size_t i) const { return data_.data() + i * stride_; }

  /// Keeps the rows `kept`, which ascend.
  void select(const std::vector<Index>& kept) {
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i] != i) std::copy_n((*this)[kept[i]], stride_, (*this)[i]);
    }
    count_ = kept.size();
    data_.resize(count_ * stride_);
  }

 private:
  std::size_t count_ = 0;
  std::size_t stride_ = 0;
  std::vector<T> data_;
};

/// 1-norm distance if it is < limit, else some number >= limit.
inline float distance_below(const std::uint8_t* a, const std::uint8_t* b, std::size_t stride, float limit) {
  constexpr std::size_t block = kBlock<std::uint8_t>;
  float total = 0;
  for (std::size_t start = 0; start < stride; start += block) {
    int sum = 0;  // compilers make this one sum of absolute differences per vector
    for (std::size_t i = start; i < start + block; ++i)
      sum += std::abs(static_cast<int>(a[i]) - static_cast<int>(b[i]));
    total += static_cast<float>(sum);
    if (total >= limit) break;
  }
  return total;
}

inline float distance_below(const std::int16_t* a, const std::int16_t* b, std::size_t stride, float limit) {
  constexpr std::size_t lanes = kBlock<std::int16_t>;
  float total = 0;
  for (std::size_t start = 0; start < stride; start += 16 * lanes) {
    std::array<std::uint16_t, lanes> sums{};
    const std::size_t end = std::min(stride, start + 16 * lanes);
    for (std::size_t i = start; i < end; i += lanes) {
      for (std::size_t k = 0; k < lanes; ++k) {
        const auto d = static_cast<std::int16_t>(a[i + k] - b[i + k]);
        sums[k] = static_cast<std::uint16_t>(sums[k] + (d < 0 ? -d : d));
      }
    }
    int sum = 0;
    for (const std::uint16_t s : sums) sum += s;
    total += static_cast<float>(sum);
    if (total >= limit) break;
  }
  return total;
}

inline float distance_below(const float* a, const float* b, std::size_t stride, float limit) {
  using Block = Eigen::Array<float, static_cast<int>(kBlock<float>), 1>;
  constexpr std::size_t kTested = 16 * kBlock<float>;
  float total = 0;
  for (std::size_t start = 0; start < stride; start += kTested) {
    Block sums = Block::Zero();  // several running sums hide the latency of an addition
    const std::size_t end = std::min(stride, start + kTested);
    for (std::size_t i = start; i < end; i += kBlock<float>)
      sums += (Eigen::Map<const Block>(a + i) - Eigen::Map<const Block>(b + i)).abs();
    total += sums.sum();
    if (total >= limit) break;
  }
  return total;
}

/// Rows near a centre.
struct Cell {
  Index center = 0;              // row that founded the cell; its first member
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

/// Cells whose centres are near a common centre.
struct District {
  Index center = 0;
  float reach = 0;  // no row of its cells is farther than this from the centre
  std::vector<Index> cells;
};

struct CellIndex {
  std::vector<Cell> cells;
  std::vector<District> districts;
};

/// Puts every row into the first cell whose centre is closer than cell_radius, founding cells and districts as needed.
/// The cell of the row before is tried first: neighbours on a mesh are mostly neighbours here.
template <class T>
class CellBuilder {
 public:
  CellBuilder(const Rows<T>& rows, float cell_radius, float district_radius)
      : rows_(rows), cell_radius_(cell_radius), district_radius_(district_radius) {}

  CellIndex build() {
    for (std::size_t row = 0; row < rows_.count(); ++row) insert(static_cast<Index>(row));
    for (Cell& cell : index_.cells) cell.sort();
    for (District& district : index_.districts) {
      for (const Index c : district.cells) {
        const Cell& cell = index_.cells[c];
        const float d = distance(district.center, cell.center, std::numeric_limits<float>::max());
        district.reach = std::max(district.reach, d + cell.radius);
      }
    }
    return std::move(index_);
  }

 private:
  float distance(Index a, Index b, float limit) const {
    return distance_below(rows_[a], rows_[b], rows_.stride(), limit);
  }

  bool join(Index row, std::size_t c) {
    const float d = distance(row, index_.cells[c].center, cell_radius_);
    if (d >= cell_radius_) return false;
    index_.cells[c].members.push_back(row);
    index_.cells[c].distances.push_back(d);
    last_ = c;
    return true;
  }

  void insert(Index row) {
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
    index_.cells.push_back({row, 0, {row}, {0.0F}});
  }

  const Rows<T>& rows_;
  float cell_radius_;
  float district_radius_;
  CellIndex index_;
  std::size_t last_ = 0;
};

/// For every row the one that stands for it: itself, or a leader of its cell that is `near`. Rows that are near are
/// closer than `radius` as the cells measure it. Centres of cells lead.
template <class T, class Near>
std::vector<Index> find_leaders(const Rows<T>& rows, const std::vector<Cell>& cells, float radius, int threads,
                                const Near& near) {
  std::vector<Index> leader(rows.count());
  std::iota(leader.begin(), leader.end(), Index{0});
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
          if (distance_below(rows[cell.members[i]], rows[other], rows.stride(), radius) < radius &&
              near(cell.members[i], other)) {
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

}  // namespace sinew::points
