#pragma once

#include <cstddef>
#include <vector>

namespace sinew::flats {

/// Numbers per vertex in blocks of vertices: block-major, then column, then the vertices of the block. The last block
/// is padded with zeros, so that all kernels run over whole blocks.
template <class T>
class VertexBlocks {
 public:
  static constexpr std::size_t kBlock = 512;

  VertexBlocks() = default;
  VertexBlocks(std::size_t vertices, int columns)
      : vertices_(vertices),
        columns_(static_cast<std::size_t>(columns)),
        data_(block_count_of(vertices) * kBlock * static_cast<std::size_t>(columns), T(0)) {}

  static std::size_t block_count_of(std::size_t vertices) { return (vertices + kBlock - 1) / kBlock; }

  std::size_t vertex_count() const { return vertices_; }
  std::size_t block_count() const { return block_count_of(vertices_); }
  int columns() const { return static_cast<int>(columns_); }
  T* block(std::size_t block) { return data_.data() + block * kBlock * columns_; }
  const T* block(std::size_t block) const { return data_.data() + block * kBlock * columns_; }
  T& operator()(std::size_t v, std::size_t column) {
    return data_[(v / kBlock * columns_ + column) * kBlock + v % kBlock];
  }
  T operator()(std::size_t v, std::size_t column) const {
    return data_[(v / kBlock * columns_ + column) * kBlock + v % kBlock];
  }

 private:
  std::size_t vertices_ = 0;
  std::size_t columns_ = 0;
  std::vector<T> data_;
};

}  // namespace sinew::flats
