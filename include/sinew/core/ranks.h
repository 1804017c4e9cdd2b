#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sinew {

/// Some of the vertices: first, first + 1, …, last - 1.
struct VertexRange {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t count() const { return last - first; }
};

/// Vertices per part. Sums over all vertices are those of the parts, added in order: their number, which depends on V
/// alone, belongs to the result's bits. A multiple of kPartStep.
inline constexpr std::size_t kPartStep = 128;
std::size_t part_size(std::size_t vertices);

/// The processes that share a solve, for instance one per machine. All run the same program and come to the same
/// decisions; each reads the frames of vertices of its own, a range of whole parts, and goes over those alone. What is
/// small is everywhere: weights, rest pose, bones, sums.
///
/// Calls are made by all ranks, in the same order, each by one thread. This class itself is the one rank of a process
/// that is alone: nothing is sent, and nothing is copied.
class Ranks {
 public:
  Ranks() = default;
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int count() const { return count_; }
  bool alone() const { return count_ == 1; }
  int on_this_machine() const { return on_this_machine_; }

  /// The vertices that a rank goes over; none where there are more ranks than parts.
  VertexRange vertices_of(int rank, std::size_t vertices) const;
  VertexRange own(std::size_t vertices) const { return vertices_of(rank_, vertices); }
  /// The own vertices and those beside them, up to multiples of `step`.
  VertexRange held(std::size_t vertices, std::size_t step) const;

  /// A sum goes from rank to rank: each takes what those before it left (the first keeps its zeros), adds its parts one
  /// by one and hands it on. So the order of additions, and with it every bit, is that of one rank.
  void take(std::span<double> sum);
  void hand_on(std::span<const double> sum);
  /// What the last one arrived at.
  void total(std::span<double> sum);

  /// Every rank has the entries of its own vertices, `width` numbers each, and gets those of the others.
  template <class T>
  void share(T* values, std::size_t width, std::size_t vertices) {
    for (int r = 0; r < count_ && !alone(); ++r) {
      const VertexRange range = vertices_of(r, vertices);
      share_from(r, std::as_writable_bytes(std::span(values + range.first * width, range.count() * width)));
    }
  }
  /// The same for any cut of an array: these bytes are those of one rank.
  void share_from(int rank, std::span<std::byte> bytes);

  /// What the first rank has, e.g. where clocks decide.
  void from_first(std::span<std::byte> bytes);
  template <class T>
  T of_first(T value) {
    from_first(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  /// Whether any rank says so.
  bool any(bool mine);

  /// Bytes that this rank got from others: of sums and of entries of vertices.
  struct Traffic {
    std::uint64_t sums = 0;
    std::uint64_t vertices = 0;
  };
  const Traffic& traffic() const { return traffic_; }

 protected:
  Ranks(int rank, int count, int on_this_machine) : rank_(rank), count_(count), on_this_machine_(on_this_machine) {}

 private:
  virtual void send(int /*to*/, std::span<const std::byte> /*bytes*/) {}
  virtual void receive(int /*from*/, std::span<std::byte> /*bytes*/) {}
  virtual void broadcast(int /*from*/, std::span<std::byte> /*bytes*/) {}
  virtual bool agree(bool mine) { return mine; }

  int rank_ = 0;
  int count_ = 1;
  int on_this_machine_ = 1;
  Traffic traffic_;
};

/// The rank of a process that shares its work with no other.
Ranks& alone();

}  // namespace sinew
