#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "solve/device/bone_kernels.h"
#include "solve/device/kernels.h"

/// Passes on a machine that has memory, matrix products and threads: the GPU (cuda_machine.cu), or, for tests, the
/// processor in its place (host_machine.h).
///
/// A pass is two products and one kernel: Q = Dᵀ Y; every vertex its weights and x_v from its column of Q; then
/// [C; S] = [Y; X] Xᵀ. Those long sums are made in kParts parts of equal length, which are added in their order.
namespace sinew::device {

constexpr std::size_t kParts = 64;
constexpr int kFrameLanes = 65;                          // more than 64: the lanes of a frame are a whole warp
constexpr std::size_t kSumItems = 1024;                  // that squares are summed by
constexpr std::size_t kChunk = std::size_t{1} << 18;     // vertices whose products are in memory together
constexpr std::size_t kUploaded = std::size_t{1} << 22;  // numbers that go up together

/// Memory of a machine that grows at need.
template <class Machine, class T>
class Buffer {
 public:
  explicit Buffer(Machine& machine) : machine_(machine) {}
  ~Buffer() { machine_.release(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* data() const { return static_cast<T*>(data_); }
  std::size_t size() const { return size_; }

  /// Room for `count`; what was there is lost where it grows. True when it grew.
  bool fit(std::size_t count) {
    if (count <= size_) return false;
    machine_.release(data_);
    data_ = nullptr;
    size_ = 0;
    data_ = machine_.allocate(count * sizeof(T));
    size_ = count;
    return true;
  }
  void up(const T* from, std::size_t count) {
    fit(count);
    machine_.up(data_, from, count * sizeof(T));
  }
  void down(T* to, std::size_t count) const { down(to, 0, count); }
  void down(T* to, std::size_t first, std::size_t count) const { machine_.down(to, data() + first, count * sizeof(T)); }
  void swap(Buffer& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

 private:
  Machine& machine_;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

template <class Machine>
class PassesOn : public Passes {
 public:
  template <class... Arguments>
  explicit PassesOn(const Vertices& vertices, Arguments&&... arguments)
      : machine_(std::forward<Arguments>(arguments)...),
        count_(vertices.count),
        rows_(vertices.rows),
        motion_rows_(vertices.motion_rows),
        reduced_(vertices.basis != nullptr) {
    part_ = (count_ + kParts - 1) / kParts;
    const std::size_t padded = part_ * kParts;
    rest_.up(vertices.rest, 3 * count_);
    energy_.up(vertices.energy, count_);
    if (reduced_) {
      basis_.fit(motion_rows_ * rows_);
      widen(vertices.basis, motion_rows_ * rows_, basis_.data());
    }
    common_.up(vertices.common, 4 * motion_rows_);
    trajectories_.fit(rows_ * padded);
    machine_.zero(trajectories_.data() + rows_ * count_, rows_ * (padded - count_) * sizeof(double));
    const std::size_t step = std::max<std::size_t>(1, kUploaded / std::max<std::size_t>(1, rows_));
    for (std::size_t first = 0; first < count_; first += step) {
      const std::size_t n = std::min(step, count_ - first);
      widen(vertices.trajectories(first, n), n * rows_, trajectories_.data() + first * rows_);
    }
    squares_.fit(count_);
    tries_.fit(count_);
    vertex_sums_.fit(2 * kSumItems);
  }

  std::string name() const override { return machine_.name(); }

  void set_weights(const WeightsIn& weights) override {
    const std::size_t slots = count_ * static_cast<std::size_t>(weights.capacity);
    now_.capacity = weights.capacity;
    now_.count.up(weights.count, count_);
    now_.bone.up(weights.bone, slots);
    now_.value.up(weights.value, slots);
    now_.residual.fit(count_);
  }

  void set_waits(const std::uint8_t* passes, const std::uint8_t* left) override {
    now_.wait_passes.up(passes, count_);
    now_.wait_left.up(left, count_);
  }

  void set_locked(const std::uint8_t* locked) override {
    has_locked_ = locked != nullptr;
    if (has_locked_) locked_.up(locked, count_);
  }

  void get_weights(const WeightsOut& weights) override {
    const std::size_t slots = count_ * static_cast<std::size_t>(now_.capacity);
    now_.count.down(weights.count, count_);
    now_.bone.down(weights.bone, slots);
    now_.value.down(weights.value, slots);
  }

  void get_waits(std::uint8_t* passes, std::uint8_t* left) override {
    now_.wait_passes.down(passes, count_);
    now_.wait_left.down(left, count_);
  }

  void get_residual(float* residual) override { now_.residual.down(residual, count_); }

  void solve(const Motions& motions, const PassPlan& plan, Sums& sums) override {
    motion_.up(motions.D, motion_rows_ * static_cast<std::size_t>(4 * motions.bones));
    const Bones bones = solve_vertices(motions.bones, plan);
    add_up(bones);
    bring_down(bones, sums);
  }

  void iterate(const Motions& start, const PassPlan& plan, const MovePlan& move, Moved& moved) override {
    const int B = start.bones;
    const std::size_t frames = motion_rows_ / 3;
    const auto columns = static_cast<std::size_t>(4 * B);
    motion_.up(start.D, motion_rows_ * columns);
    if (move.centers != nullptr) {
      centers_.up(move.centers, 3 * static_cast<std::size_t>(B));
      machine_.items(frames * static_cast<std::size_t>(B),
                     MakeRigid{common_.data(), centers_.data(), frames, motion_.data()});
    }
    const Bones bones = solve_vertices(B, plan);
    add_up(bones);
    moved_.fit(motion_rows_ * columns);
    blended_.fit(motion_rows_ * columns);
    objective_sums_.fit(kSumItems);
    const double* const S = next_.sums.data();
    const double* const C = S + columns * columns;
    machine_.vertices(
        frames, kFrameLanes, MoveBones::doubles(B), 0,
        MoveBones{S, C, common_.data(), frames, B, move.sweeps, move.nothing, motion_.data(), moved_.data()});
    machine_.product(false, false, motion_rows_, columns, columns, moved_.data(), motion_rows_, S, columns,
                     blended_.data(), motion_rows_);
    machine_.items(kSumItems, SumObjective{moved_.data(), blended_.data(), C, motion_rows_ * columns, kSumItems,
                                           objective_sums_.data()});
    moved_.down(moved.D, motion_rows_ * columns);
    next_.sums.down(moved.S, columns * columns);
    by_item_.resize(2 * kSumItems);
    objective_sums_.down(by_item_.data(), kSumItems);
    moved.change = 0;
    for (std::size_t i = 0; i < kSumItems; ++i) moved.change += by_item_[i];
    bring_down_squares(moved.squares, moved.exchanges);
  }

  void get_cross_sums(double* C) override { now_.sums.down(C, now_.s_entries, now_.c_entries); }

  void accept() override {
    std::swap(now_.capacity, next_.capacity);
    now_.count.swap(next_.count);
    now_.bone.swap(next_.bone);
    now_.value.swap(next_.value);
    now_.residual.swap(next_.residual);
    now_.wait_passes.swap(next_.wait_passes);
    now_.wait_left.swap(next_.wait_left);
    now_.sums.swap(next_.sums);
    now_.s_entries = next_.s_entries;
    now_.c_entries = next_.c_entries;
  }

  void assign(const Motions& motions, std::uint32_t* labels, float* residual, Sums& sums) override {
    motion_.up(motions.D, motion_rows_ * static_cast<std::size_t>(4 * motions.bones));
    const Bones bones = see(motions.bones);
    labels_.fit(count_);
    assigned_residual_.fit(count_);
    for_each_chunk(bones, [&](const Chunk& chunk, std::size_t n) {
      run(n, bones, 0,
          AssignVertex{bones, chunk, labels_.data(), assigned_residual_.data(), squares_.data(), tries_.data(),
                       blends_.data()});
    });
    add_up(bones);
    bring_down(bones, sums);
    labels_.down(labels, count_);
    assigned_residual_.down(residual, count_);
  }

  void removal_costs(const Motions& motions, double* costs, std::uint16_t* cost_bones) override {
    motion_.up(motions.D, motion_rows_ * static_cast<std::size_t>(4 * motions.bones));
    const Bones bones = see(motions.bones);
    const std::size_t entries = count_ * static_cast<std::size_t>(now_.capacity);
    costs_.fit(entries);
    cost_bones_.fit(entries);
    const int slots = slots_of(now_.capacity, bones);
    for_each_chunk(bones, [&](const Chunk& chunk, std::size_t n) {
      run(n, bones, slots, CostVertex{bones, chunk, slots, arrays(now_), costs_.data(), cost_bones_.data()});
    });
    costs_.down(costs, entries);
    cost_bones_.down(cost_bones, entries);
  }

 private:
  template <class T>
  using Memory = Buffer<Machine, T>;

  void widen(const float* from, std::size_t count, double* to) {
    uploaded_.up(from, count);
    machine_.items(count, Widen{uploaded_.data(), to});
    machine_.wait();  // before the buffer is written again
  }

  /// Weights and what goes with them, on the device.
  struct State {
    explicit State(Machine& m) : count(m), bone(m), value(m), wait_passes(m), wait_left(m), residual(m), sums(m) {}
    int capacity = 0;
    Memory<std::uint16_t> count, bone;
    Memory<float> value;
    Memory<std::uint8_t> wait_passes, wait_left;
    Memory<float> residual;
    Memory<double> sums;  // S, then C
    std::size_t s_entries = 0, c_entries = 0;
  };

  static StateArrays arrays(const State& state) {
    return {state.capacity,           state.count.data(),     state.bone.data(),    state.value.data(),
            state.wait_passes.data(), state.wait_left.data(), state.residual.data()};
  }

  void make_room(State& state, int capacity, bool patient) {
    const std::size_t slots = count_ * static_cast<std::size_t>(capacity);
    state.capacity = capacity;
    state.count.fit(count_);
    state.bone.fit(slots);
    state.value.fit(slots);
    state.residual.fit(count_);
    if (patient) {
      state.wait_passes.fit(count_);
      state.wait_left.fit(count_);
    }
  }

  /// A support never has more bones than there are; one more is there while bones are exchanged.
  static int slots_of(int influences, const Bones& bones) { return std::min(influences, bones.count) + 1; }

  /// The bones as vertices see them: quadratic forms from DᵀD, and D (which is in motion_) in the rows of
  /// trajectories.
  Bones see(int B) {
    const int padded = (B + 7) / 8 * 8;
    const auto columns = static_cast<std::size_t>(4 * B);
    const auto side = static_cast<std::size_t>(padded);
    squared_.fit(columns * columns);
    machine_.product(true, false, columns, columns, motion_rows_, motion_.data(), motion_rows_, motion_.data(),
                     motion_rows_, squared_.data(), columns);
    coefficients_.fit(static_cast<std::size_t>(B) * kMonomials * side);
    diagonal_.fit(kMonomials * side);
    machine_.items(static_cast<std::size_t>(B) * side,
                   FormCoefficients{squared_.data(), B, padded, coefficients_.data(), diagonal_.data()});
    const double* in_rows = motion_.data();
    if (reduced_) {
      reduced_motion_.fit(rows_ * columns);
      machine_.product(true, false, rows_, columns, motion_rows_, basis_.data(), motion_rows_, motion_.data(),
                       motion_rows_, reduced_motion_.data(), rows_);
      in_rows = reduced_motion_.data();
    }
    sorted_.fit(rows_ * 4 * side);
    machine_.items(rows_ * 4 * side, SortComponents{in_rows, B, padded, static_cast<int>(rows_), sorted_.data()});
    const std::size_t padded_count = part_ * kParts;
    if (blends_.fit(columns * padded_count) || blend_columns_ != columns)
      machine_.zero(blends_.data() + columns * count_, columns * (padded_count - count_) * sizeof(double));
    blend_columns_ = columns;
    return {B, padded, coefficients_.data(), diagonal_.data()};
  }

  /// One K-sparse simplex problem per vertex for the motions on the device.
  Bones solve_vertices(int B, const PassPlan& plan) {
    const Bones bones = see(B);
    make_room(next_, now_.capacity, plan.patient);
    const int slots = slots_of(std::max(plan.influences, now_.capacity), bones);
    for_each_chunk(bones, [&](const Chunk& chunk, std::size_t n) {
      const SolveVertex body{bones,
                             chunk,
                             plan,
                             slots,
                             arrays(now_),
                             arrays(next_),
                             has_locked_ ? locked_.data() : nullptr,
                             squares_.data(),
                             tries_.data(),
                             blends_.data()};
      run(n, bones, slots, body);
    });
    return bones;
  }

  template <class Visit>
  void for_each_chunk(const Bones& bones, const Visit& visit) {
    const std::size_t columns = 4 * static_cast<std::size_t>(bones.padded);
    products_.fit(columns * std::min(kChunk, count_));
    for (std::size_t first = 0; first < count_; first += kChunk) {
      const std::size_t n = std::min(kChunk, count_ - first);
      machine_.product(true, false, columns, n, rows_, sorted_.data(), rows_, trajectories_.data() + first * rows_,
                       rows_, products_.data(), columns);
      visit(Chunk{first, rest_.data(), energy_.data(), products_.data()}, n);
    }
  }

  /// A body for n vertices, with memory for supports of so many slots.
  template <class Body>
  void run(std::size_t n, const Bones& bones, int slots, const Body& body) {
    const auto held = static_cast<std::size_t>(slots);
    const std::size_t doubles =
        slots == 0 ? 0 : VertexProblem<HoldingLane>::doubles(static_cast<std::size_t>(bones.padded), held);
    machine_.vertices(n, bones.padded, doubles, VertexProblem<HoldingLane>::integers(held), body);
  }

  /// S and C of the pass, which stay on the device.
  void add_up(const Bones& bones) {
    const auto columns = static_cast<std::size_t>(4 * bones.count);
    const std::size_t c_entries = rows_ * columns;
    const std::size_t s_entries = columns * columns;
    parts_.fit(kParts * std::max(c_entries, s_entries));
    next_.sums.fit(s_entries + motion_rows_ * columns);
    next_.s_entries = s_entries;
    next_.c_entries = motion_rows_ * columns;
    machine_.products_by_part(kParts, columns, columns, part_, blends_.data(), columns, blends_.data(), columns,
                              parts_.data());
    machine_.items(s_entries, JoinParts{parts_.data(), s_entries, kParts, next_.sums.data()});
    machine_.products_by_part(kParts, rows_, columns, part_, trajectories_.data(), rows_, blends_.data(), columns,
                              parts_.data());
    double* const C = next_.sums.data() + s_entries;
    if (reduced_) {
      joined_.fit(c_entries);
      machine_.items(c_entries, JoinParts{parts_.data(), c_entries, kParts, joined_.data()});
      machine_.product(false, false, motion_rows_, columns, rows_, basis_.data(), motion_rows_, joined_.data(), rows_,
                       C, motion_rows_);
    } else {
      machine_.items(c_entries, JoinParts{parts_.data(), c_entries, kParts, C});
    }
    machine_.items(kSumItems, SumVertices{squares_.data(), tries_.data(), count_, kSumItems, vertex_sums_.data()});
  }

  void bring_down(const Bones& bones, Sums& sums) {
    const auto columns = static_cast<std::size_t>(4 * bones.count);
    next_.sums.down(sums.S, columns * columns);
    next_.sums.down(sums.C, columns * columns, motion_rows_ * columns);
    bring_down_squares(sums.squares, sums.exchanges);
  }

  void bring_down_squares(double& squares, std::uint64_t& exchanges) {
    by_item_.resize(2 * kSumItems);
    vertex_sums_.down(by_item_.data(), by_item_.size());
    squares = 0;
    double tried = 0;
    for (std::size_t i = 0; i < kSumItems; ++i) {
      squares += by_item_[i];
      tried += by_item_[kSumItems + i];
    }
    exchanges = static_cast<std::uint64_t>(tried);
  }

  Machine machine_;
  std::size_t count_, rows_, motion_rows_;
  bool reduced_;
  std::size_t part_ = 0;  // vertices of a part; the last are filled up with zeros
  std::size_t blend_columns_ = 0;
  bool has_locked_ = false;
  Memory<double> rest_{machine_}, energy_{machine_}, basis_{machine_}, trajectories_{machine_};
  Memory<float> uploaded_{machine_};
  State now_{machine_}, next_{machine_};
  Memory<std::uint8_t> locked_{machine_}, tries_{machine_};
  Memory<double> motion_{machine_}, squared_{machine_}, coefficients_{machine_}, diagonal_{machine_};
  Memory<double> reduced_motion_{machine_}, sorted_{machine_}, products_{machine_}, blends_{machine_};
  Memory<double> squares_{machine_}, vertex_sums_{machine_}, parts_{machine_}, joined_{machine_};
  Memory<double> common_{machine_}, centers_{machine_}, moved_{machine_}, blended_{machine_}, objective_sums_{machine_};
  std::vector<double> by_item_;
  Memory<std::uint32_t> labels_{machine_};
  Memory<float> assigned_residual_{machine_};
  Memory<double> costs_{machine_};
  Memory<std::uint16_t> cost_bones_{machine_};
};

}  // namespace sinew::device
