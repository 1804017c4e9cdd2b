// One text, compiled once per instruction set [Highway]. A palette entry is a 4×4 column-major matrix, so a blended
// matrix lives in one 64-byte register, two of 32 or four of 16; blending is a product and a sum per register and
// influence, and no gather is needed: the index only picks the cache line to load.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/simd.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "runtime/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace sinew::runtime::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

const Kernels* table() {
  return &scalar_kernels();
}

#else

namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag4 = hn::FixedTag<float, 4>;
using Float4 = hn::Vec<Tag4>;

constexpr unsigned char kZero = 0x80;  // in a byte shuffle: this byte becomes 0
constexpr std::size_t kPointBytes = 3 * sizeof(float);

// Byte shuffles of (x, y, z, ?), one line per column of four floats: broadcasts of x, of y, of z, and zeros.
#define SINEW_LANE(i) 4 * (i), 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3
#define SINEW_BROADCAST(i) SINEW_LANE(i), SINEW_LANE(i), SINEW_LANE(i), SINEW_LANE(i)
[[maybe_unused]] alignas(64) constexpr unsigned char kSpread[64] = {SINEW_BROADCAST(0),
                                                                    SINEW_BROADCAST(1),
                                                                    SINEW_BROADCAST(2),
                                                                    kZero,
                                                                    kZero,
                                                                    kZero,
                                                                    kZero,
                                                                    kZero,
                                                                    kZero,
                                                                    kZero,
                                                                    kZero,
                                                                    kZero,
                                                                    kZero,
                                                                    kZero,
                                                                    kZero,
                                                                    kZero,
                                                                    kZero,
                                                                    kZero,
                                                                    kZero};
// The same for normals, whose fourth lane becomes 0 whatever the palette holds there.
#define SINEW_ZERO kZero, kZero, kZero, kZero
#define SINEW_BROADCAST3(i) SINEW_LANE(i), SINEW_LANE(i), SINEW_LANE(i), SINEW_ZERO
[[maybe_unused]] alignas(64) constexpr unsigned char kSpread3[64] = {
    SINEW_BROADCAST3(0), SINEW_BROADCAST3(1), SINEW_BROADCAST3(2), SINEW_ZERO, SINEW_ZERO, SINEW_ZERO, SINEW_ZERO};
alignas(16) constexpr unsigned char kYzx0[16] = {SINEW_LANE(1), SINEW_LANE(2), SINEW_LANE(0), kZero,
                                                 kZero,         kZero,         kZero};
[[maybe_unused]] alignas(64) constexpr float kFourthColumn[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1};

/// a·b + c in two roundings: a fused one would give other bits where a set has it than where it has not. That costs
/// about a tenth of the time.
template <class V>
HWY_INLINE V multiply_add(V a, V b, V c) {
  return hn::Add(hn::Mul(a, b), c);
}

/// (y, z, x, 0).
HWY_INLINE Float4 yzx(Float4 a) {
  const hn::Repartition<std::uint8_t, Tag4> bytes;
  return hn::BitCast(Tag4(), hn::TableLookupBytes(hn::BitCast(bytes, a), hn::Load(bytes, kYzx0)));
}

#if HWY_MAX_BYTES >= 64

using TagM = hn::FixedTag<float, 16>;
struct Matrix {
  hn::Vec<TagM> all;
};

HWY_INLINE Matrix zero_matrix() {
  return {hn::Zero(TagM())};
}
HWY_INLINE Matrix load_matrix(const float* m) {
  return {hn::LoadU(TagM(), m)};
}
HWY_INLINE void store_matrix(const Matrix& m, float* out) {
  hn::StoreU(m.all, TagM(), out);
}
HWY_INLINE Matrix scaled(const float* m, float w) {
  return {hn::Mul(hn::Set(TagM(), w), hn::LoadU(TagM(), m))};
}
HWY_INLINE void accumulate(Matrix& sum, const Matrix& m, float w) {
  sum.all = multiply_add(hn::Set(TagM(), w), m.all, sum.all);
}
HWY_INLINE void accumulate(Matrix& sum, const float* m, float w) {
  accumulate(sum, load_matrix(m), w);
}
HWY_INLINE void add(Matrix& sum, const Matrix& m) {
  sum.all = hn::Add(sum.all, m.all);
}
/// The columns of m, each times its coordinate of a point or 1. `p` points to 16 readable bytes, xyz first.
HWY_INLINE hn::Vec<TagM> point_columns(const Matrix& m, const float* p) {
  const TagM d;
  const hn::Repartition<std::uint8_t, TagM> bytes;
  const auto spread = hn::TableLookupBytes(hn::BitCast(bytes, hn::LoadDup128(d, p)), hn::Load(bytes, kSpread));
  return hn::Mul(m.all, hn::Or(hn::BitCast(d, spread), hn::Load(d, kFourthColumn)));
}
/// The same for a normal, whose fourth coordinate is 0.
HWY_INLINE hn::Vec<TagM> normal_columns(const Matrix& m, const float* p) {
  const TagM d;
  const hn::Repartition<std::uint8_t, TagM> bytes;
  const auto spread = hn::TableLookupBytes(hn::BitCast(bytes, hn::LoadDup128(d, p)), hn::Load(bytes, kSpread3));
  return hn::Mul(m.all, hn::BitCast(d, spread));
}
/// (x + z) + (y + t) of the columns of four vertices, side by side. Alone such a sum takes longer than blending; four
/// share their shuffles.
HWY_INLINE hn::Vec<TagM> sums_of_columns(hn::Vec<TagM> a, hn::Vec<TagM> b, hn::Vec<TagM> c, hn::Vec<TagM> e) {
  const TagM d;
  const auto ac = hn::Add(hn::ConcatLowerLower(d, c, a), hn::ConcatUpperUpper(d, c, a));  // a: x+z, y+t, c: x+z, y+t
  const auto be = hn::Add(hn::ConcatLowerLower(d, e, b), hn::ConcatUpperUpper(d, e, b));
  const auto even = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(be), ac);
  const auto odd = hn::OddEvenBlocks(be, hn::SwapAdjacentBlocks(ac));
  return hn::Add(even, odd);
}
HWY_INLINE Float4 sum_of_columns(hn::Vec<TagM> columns) {
  const hn::FixedTag<float, 8> half;
  const auto sum = hn::Add(hn::LowerHalf(half, columns), hn::UpperHalf(half, columns));
  return hn::Add(hn::LowerHalf(Tag4(), sum), hn::UpperHalf(Tag4(), sum));
}
HWY_INLINE Float4 transform_point(const Matrix& m, const float* p) {
  return sum_of_columns(point_columns(m, p));
}
HWY_INLINE Float4 turned_linearly(const Matrix& m, const float* p) {
  return sum_of_columns(normal_columns(m, p));
}
HWY_INLINE void linear_columns(const Matrix& m, Float4& x, Float4& y, Float4& z) {
  const hn::FixedTag<float, 8> half;
  const auto xy = hn::LowerHalf(half, m.all);
  x = hn::LowerHalf(Tag4(), xy);
  y = hn::UpperHalf(Tag4(), xy);
  z = hn::LowerHalf(Tag4(), hn::UpperHalf(half, m.all));
}

#elif HWY_MAX_BYTES >= 32

using TagM = hn::FixedTag<float, 8>;
struct Matrix {
  hn::Vec<TagM> xy, zt;
};

HWY_INLINE Matrix zero_matrix() {
  return {hn::Zero(TagM()), hn::Zero(TagM())};
}
HWY_INLINE Matrix load_matrix(const float* m) {
  return {hn::LoadU(TagM(), m), hn::LoadU(TagM(), m + 8)};
}
HWY_INLINE void store_matrix(const Matrix& m, float* out) {
  hn::StoreU(m.xy, TagM(), out);
  hn::StoreU(m.zt, TagM(), out + 8);
}
HWY_INLINE Matrix scaled(const float* m, float w) {
  const auto weight = hn::Set(TagM(), w);
  return {hn::Mul(weight, hn::LoadU(TagM(), m)), hn::Mul(weight, hn::LoadU(TagM(), m + 8))};
}
HWY_INLINE void accumulate(Matrix& sum, const Matrix& m, float w) {
  const auto weight = hn::Set(TagM(), w);
  sum.xy = multiply_add(weight, m.xy, sum.xy);
  sum.zt = multiply_add(weight, m.zt, sum.zt);
}
HWY_INLINE void accumulate(Matrix& sum, const float* m, float w) {
  accumulate(sum, load_matrix(m), w);
}
HWY_INLINE void add(Matrix& sum, const Matrix& m) {
  sum.xy = hn::Add(sum.xy, m.xy);
  sum.zt = hn::Add(sum.zt, m.zt);
}
/// `p` points to 16 readable bytes, xyz first.
HWY_INLINE Float4 transform_point(const Matrix& m, const float* p) {
  const TagM d;
  const hn::Repartition<std::uint8_t, TagM> bytes;
  const auto point = hn::BitCast(bytes, hn::LoadDup128(d, p));
  const auto xy = hn::BitCast(d, hn::TableLookupBytes(point, hn::Load(bytes, kSpread)));
  const auto z1 = hn::Or(hn::BitCast(d, hn::TableLookupBytes(point, hn::Load(bytes, kSpread + 32))),
                         hn::Load(d, kFourthColumn + 8));
  const auto sum = multiply_add(m.zt, z1, hn::Mul(m.xy, xy));
  return hn::Add(hn::LowerHalf(Tag4(), sum), hn::UpperHalf(Tag4(), sum));
}
/// The linear part times a normal, in two halves that are still to be added.
HWY_INLINE hn::Vec<TagM> turned_halves(const Matrix& m, const float* p) {
  const TagM d;
  const hn::Repartition<std::uint8_t, TagM> bytes;
  const auto normal = hn::BitCast(bytes, hn::LoadDup128(d, p));
  const auto xy = hn::BitCast(d, hn::TableLookupBytes(normal, hn::Load(bytes, kSpread3)));
  const auto z0 = hn::BitCast(d, hn::TableLookupBytes(normal, hn::Load(bytes, kSpread3 + 32)));
  return multiply_add(m.zt, z0, hn::Mul(m.xy, xy));
}
HWY_INLINE Float4 turned_linearly(const Matrix& m, const float* p) {
  const auto sum = turned_halves(m, p);
  return hn::Add(hn::LowerHalf(Tag4(), sum), hn::UpperHalf(Tag4(), sum));
}
HWY_INLINE void linear_columns(const Matrix& m, Float4& x, Float4& y, Float4& z) {
  x = hn::LowerHalf(Tag4(), m.xy);
  y = hn::UpperHalf(Tag4(), m.xy);
  z = hn::LowerHalf(Tag4(), m.zt);
}

#else

struct Matrix {
  Float4 x, y, z, t;
};

HWY_INLINE Matrix zero_matrix() {
  return {hn::Zero(Tag4()), hn::Zero(Tag4()), hn::Zero(Tag4()), hn::Zero(Tag4())};
}
HWY_INLINE Matrix load_matrix(const float* m) {
  return {hn::LoadU(Tag4(), m), hn::LoadU(Tag4(), m + 4), hn::LoadU(Tag4(), m + 8), hn::LoadU(Tag4(), m + 12)};
}
HWY_INLINE void store_matrix(const Matrix& m, float* out) {
  hn::StoreU(m.x, Tag4(), out);
  hn::StoreU(m.y, Tag4(), out + 4);
  hn::StoreU(m.z, Tag4(), out + 8);
  hn::StoreU(m.t, Tag4(), out + 12);
}
HWY_INLINE void accumulate(Matrix& sum, const Matrix& m, float w) {
  const auto weight = hn::Set(Tag4(), w);
  sum.x = multiply_add(weight, m.x, sum.x);
  sum.y = multiply_add(weight, m.y, sum.y);
  sum.z = multiply_add(weight, m.z, sum.z);
  sum.t = multiply_add(weight, m.t, sum.t);
}
HWY_INLINE void accumulate(Matrix& sum, const float* m, float w) {
  accumulate(sum, load_matrix(m), w);
}
HWY_INLINE void add(Matrix& sum, const Matrix& m) {
  sum.x = hn::Add(sum.x, m.x);
  sum.y = hn::Add(sum.y, m.y);
  sum.z = hn::Add(sum.z, m.z);
  sum.t = hn::Add(sum.t, m.t);
}
HWY_INLINE Matrix scaled(const float* m, float w) {
  const auto weight = hn::Set(Tag4(), w);
  const Matrix in = load_matrix(m);
  return {hn::Mul(weight, in.x), hn::Mul(weight, in.y), hn::Mul(weight, in.z), hn::Mul(weight, in.t)};
}
/// `p` points to 16 readable bytes, xyz first.
HWY_INLINE Float4 transform_point(const Matrix& m, const float* p) {
  const Float4 point = hn::LoadU(Tag4(), p);
  const Float4 x_z = multiply_add(m.z, hn::Broadcast<2>(point), hn::Mul(m.x, hn::Broadcast<0>(point)));
  return hn::Add(x_z, multiply_add(m.y, hn::Broadcast<1>(point), m.t));
}
/// The linear part times a normal; the translation, times nothing, is there for the order of operations.
HWY_INLINE Float4 turned_linearly(const Matrix& m, const float* p) {
  const Float4 n = hn::LoadU(Tag4(), p);
  const Float4 x_z = multiply_add(m.z, hn::Broadcast<2>(n), hn::Mul(m.x, hn::Broadcast<0>(n)));
  const Float4 sum = hn::Add(x_z, multiply_add(m.y, hn::Broadcast<1>(n), hn::Mul(m.t, hn::Zero(Tag4()))));
  return hn::IfThenElseZero(hn::FirstN(Tag4(), 3), sum);
}
HWY_INLINE void linear_columns(const Matrix& m, Float4& x, Float4& y, Float4& z) {
  x = m.x;
  y = m.y;
  z = m.z;
}

#endif

/// Cofactors times the normal. Each cross product a×b is (a·b.yzx - a.yzx·b).yzx; the last shuffle is
/// shared by the three.
HWY_INLINE Float4 turned_by_cofactors(const Matrix& m, const float* p) {
  Float4 x, y, z;
  linear_columns(m, x, y, z);
  const Float4 n = hn::LoadU(Tag4(), p);
  const Float4 xs = yzx(x), ys = yzx(y), zs = yzx(z);
  const Float4 y_z = hn::Sub(hn::Mul(y, zs), hn::Mul(ys, z));
  const Float4 z_x = hn::Sub(hn::Mul(z, xs), hn::Mul(zs, x));
  const Float4 x_y = hn::Sub(hn::Mul(x, ys), hn::Mul(xs, y));
  const Float4 shuffled =
      multiply_add(x_y, hn::Broadcast<2>(n), multiply_add(z_x, hn::Broadcast<1>(n), hn::Mul(y_z, hn::Broadcast<0>(n))));
  return yzx(shuffled);
}

/// Squared lengths of each group of four lanes, of which the last is 0, in all four.
template <class D>
HWY_INLINE hn::Vec<D> squared_lengths(D /*d*/, hn::Vec<D> r) {
  const auto squares = hn::Mul(r, r);
  const auto pairs = hn::Add(squares, hn::Shuffle2301(squares));
  return hn::Add(pairs, hn::Shuffle1032(pairs));
}
template <class D>
HWY_INLINE hn::Vec<D> inverse_root(D d, hn::Vec<D> squared) {
  return hn::IfThenElseZero(hn::Gt(squared, hn::Zero(d)), hn::Div(hn::Set(d, 1.0F), hn::Sqrt(squared)));
}
template <class D>
HWY_INLINE hn::Vec<D> unit_length(D d, hn::Vec<D> r) {
  return hn::Mul(r, inverse_root(d, squared_lengths(d, r)));
}

/// Four registers of normals at unit length. A root and a division cost the same for one lane as for all, so the
/// lengths of the four are brought into the lanes of one register first.
template <class D>
HWY_INLINE void unit_lengths(D d, hn::Vec<D>& a, hn::Vec<D>& b, hn::Vec<D>& c, hn::Vec<D>& e) {
  const hn::Repartition<std::uint64_t, D> wide;
  const auto ab = hn::OddEven(squared_lengths(d, b), squared_lengths(d, a));
  const auto ce = hn::OddEven(squared_lengths(d, e), squared_lengths(d, c));
  const auto all = hn::BitCast(d, hn::OddEven(hn::BitCast(wide, ce), hn::BitCast(wide, ab)));
  const auto inverse = inverse_root(d, all);
  a = hn::Mul(a, hn::Broadcast<0>(inverse));
  b = hn::Mul(b, hn::Broadcast<1>(inverse));
  c = hn::Mul(c, hn::Broadcast<2>(inverse));
  e = hn::Mul(e, hn::Broadcast<3>(inverse));
}

/// Which normals a kernel computes.
enum class Normals { none, linear, cofactors };

template <Normals kNormals>
HWY_INLINE Float4 transform_normal(const Matrix& m, const float* p) {
  if constexpr (kNormals == Normals::linear) return unit_length(Tag4(), turned_linearly(m, p));
  return unit_length(Tag4(), turned_by_cofactors(m, p));
}

/// Positions, and normals not yet of unit length, of as many vertices side by side as a register holds. `at(i)` is
/// where vertex i of them is read.
#if HWY_MAX_BYTES >= 64
constexpr std::size_t kGroup = 4;
using TagN = TagM;
template <class At>
HWY_INLINE hn::Vec<TagN> transformed_group(const Matrix m[kGroup], const At& at) {
  return sums_of_columns(point_columns(m[0], at(0)), point_columns(m[1], at(1)), point_columns(m[2], at(2)),
                         point_columns(m[3], at(3)));
}
template <Normals kNormals, class At>
HWY_INLINE hn::Vec<TagN> turned_group(const Matrix m[kGroup], const At& at) {
  if constexpr (kNormals == Normals::linear)
    return sums_of_columns(normal_columns(m[0], at(0)), normal_columns(m[1], at(1)), normal_columns(m[2], at(2)),
                           normal_columns(m[3], at(3)));
  const hn::FixedTag<float, 8> half;
  return hn::Combine(TagN(), hn::Combine(half, turned_by_cofactors(m[3], at(3)), turned_by_cofactors(m[2], at(2))),
                     hn::Combine(half, turned_by_cofactors(m[1], at(1)), turned_by_cofactors(m[0], at(0))));
}
#elif HWY_MAX_BYTES >= 32
constexpr std::size_t kGroup = 2;
using TagN = TagM;
template <Normals kNormals, class At>
HWY_INLINE hn::Vec<TagN> turned_group(const Matrix m[kGroup], const At& at) {
  if constexpr (kNormals == Normals::linear) {
    const auto one = turned_halves(m[0], at(0));
    const auto two = turned_halves(m[1], at(1));
    return hn::Add(hn::ConcatLowerLower(TagN(), two, one), hn::ConcatUpperUpper(TagN(), two, one));
  }
  return hn::Combine(TagN(), turned_by_cofactors(m[1], at(1)), turned_by_cofactors(m[0], at(0)));
}
#else
constexpr std::size_t kGroup = 1;
using TagN = Tag4;
template <Normals kNormals, class At>
HWY_INLINE hn::Vec<TagN> turned_group(const Matrix m[kGroup], const At& at) {
  if constexpr (kNormals == Normals::linear) return turned_linearly(m[0], at(0));
  return turned_by_cofactors(m[0], at(0));
}
#endif

/// Where vertices are read and written: whole registers, except for the last vertex of a run and for results that lie
/// between other data of the caller.
struct Cursor {
  const unsigned char* in;
  std::size_t in_stride;
  unsigned char* out;
  std::size_t out_stride;

  Cursor(const sinew_input& from, const sinew_output& to)
      : in(static_cast<const unsigned char*>(from.data)),
        in_stride(from.stride),
        out(static_cast<unsigned char*>(to.data)),
        out_stride(to.stride) {}

  HWY_INLINE const float* point(std::size_t v) const { return reinterpret_cast<const float*>(in + v * in_stride); }
};

/// Writes 16 bytes: the fourth float goes where the next vertex will be.
struct StoreTight {
  static HWY_INLINE void store(Float4 value, unsigned char* to) {
    hn::StoreU(value, Tag4(), reinterpret_cast<float*>(to));
  }
};

struct StoreExact {
  static HWY_INLINE void store(Float4 value, unsigned char* to) {
    const hn::FixedTag<float, 2> two;
    hn::StoreU(hn::LowerHalf(two, value), two, reinterpret_cast<float*>(to));
    const float z = hn::GetLane(hn::Broadcast<2>(value));
    std::memcpy(to + 8, &z, sizeof z);
  }
};

/// K influences per vertex; K = 0: as many as the job says.
template <int K, class Index>
struct SparseRows {
  const Index* indices;
  const float* values;
  const float* palette;
  std::size_t slots;

  HWY_INLINE Matrix operator()(std::size_t v) const {
    const std::size_t count = K != 0 ? static_cast<std::size_t>(K) : slots;
    const Index* index = indices + v * count;
    const float* w = values + v * count;
    Matrix m = scaled(palette + kMatrixFloats * index[0], w[0]);
    std::size_t k = 1;
    if constexpr (K == 0) {  // long rows, as in dictionaries: a second sum hides the latency of the first
      Matrix other = zero_matrix();
      for (; k + 2 <= count; k += 2) {
        accumulate(other, palette + kMatrixFloats * index[k], w[k]);
        accumulate(m, palette + kMatrixFloats * index[k + 1], w[k + 1]);
      }
      add(m, other);
    }
    for (; k < count; ++k) accumulate(m, palette + kMatrixFloats * index[k], w[k]);
    return m;
  }
};

template <class Store>
HWY_INLINE void store_group(hn::Vec<TagN> group, const Cursor& to, std::size_t v) {
#if HWY_MAX_BYTES >= 64
  const hn::FixedTag<float, 8> half;
  const auto first = hn::LowerHalf(half, group);
  const auto second = hn::UpperHalf(half, group);
  Store::store(hn::LowerHalf(Tag4(), first), to.out + v * to.out_stride);
  Store::store(hn::UpperHalf(Tag4(), first), to.out + (v + 1) * to.out_stride);
  Store::store(hn::LowerHalf(Tag4(), second), to.out + (v + 2) * to.out_stride);
  Store::store(hn::UpperHalf(Tag4(), second), to.out + (v + 3) * to.out_stride);
#elif HWY_MAX_BYTES >= 32
  Store::store(hn::LowerHalf(Tag4(), group), to.out + v * to.out_stride);
  Store::store(hn::UpperHalf(Tag4(), group), to.out + (v + 1) * to.out_stride);
#else
  Store::store(group, to.out + v * to.out_stride);
#endif
}

/// Skins the positions of a group of vertices; leaves their matrices.
template <class Store, class Rows>
HWY_INLINE void skin_positions(const Rows& rows, const Cursor& positions, std::size_t v, Matrix m[kGroup]) {
#if HWY_MAX_BYTES >= 64
  for (std::size_t i = 0; i < kGroup; ++i) m[i] = rows(v + i);
  const auto at = [&](std::size_t i) HWY_ATTR { return positions.point(v + i); };
  store_group<Store>(transformed_group(m, at), positions, v);
#else
  for (std::size_t i = 0; i < kGroup; ++i) {
    m[i] = rows(v + i);
    Store::store(transform_point(m[i], positions.point(v + i)), positions.out + (v + i) * positions.out_stride);
  }
#endif
}

/// Skins the positions of a group of vertices; returns their normals, not yet of unit length.
template <Normals kNormals, class Store, class Rows>
HWY_INLINE hn::Vec<TagN> skin_group(const Rows& rows, const Cursor& positions, const Cursor& normals, std::size_t v) {
  Matrix m[kGroup];
  skin_positions<Store>(rows, positions, v, m);
  return turned_group<kNormals>(m, [&](std::size_t i) HWY_ATTR { return normals.point(v + i); });
}

template <Normals kNormals, class Store, class Rows>
HWY_INLINE void skin_run(const Rows& rows, const Cursor& positions, const Cursor& normals, std::size_t first,
                         std::size_t last) {
  std::size_t v = first;
  if constexpr (kNormals != Normals::none) {
    for (; v + 4 * kGroup <= last; v += 4 * kGroup) {
      auto a = skin_group<kNormals, Store>(rows, positions, normals, v);
      auto b = skin_group<kNormals, Store>(rows, positions, normals, v + kGroup);
      auto c = skin_group<kNormals, Store>(rows, positions, normals, v + 2 * kGroup);
      auto e = skin_group<kNormals, Store>(rows, positions, normals, v + 3 * kGroup);
      unit_lengths(TagN(), a, b, c, e);
      store_group<Store>(a, normals, v);
      store_group<Store>(b, normals, v + kGroup);
      store_group<Store>(c, normals, v + 2 * kGroup);
      store_group<Store>(e, normals, v + 3 * kGroup);
    }
    for (; v + kGroup <= last; v += kGroup)
      store_group<Store>(unit_length(TagN(), skin_group<kNormals, Store>(rows, positions, normals, v)), normals, v);
  } else if constexpr (kGroup > 2) {  // only there they share work
    for (; v + kGroup <= last; v += kGroup) {
      Matrix m[kGroup];
      skin_positions<Store>(rows, positions, v, m);
    }
  }
  for (; v < last; ++v) {
    const Matrix m = rows(v);
    Store::store(transform_point(m, positions.point(v)), positions.out + v * positions.out_stride);
    if constexpr (kNormals != Normals::none)
      Store::store(transform_normal<kNormals>(m, normals.point(v)), normals.out + v * normals.out_stride);
  }
}

/// The last vertex of a run, by way of the stack: neither a read nor a write leaves its 12 bytes.
template <Normals kNormals>
HWY_INLINE void skin_last(const Matrix& m, const Cursor& positions, const Cursor& normals, std::size_t v) {
  float p[4] = {0, 0, 0, 0};
  std::memcpy(p, positions.in + v * positions.in_stride, kPointBytes);
  StoreExact::store(transform_point(m, p), positions.out + v * positions.out_stride);
  if constexpr (kNormals != Normals::none) {
    std::memcpy(p, normals.in + v * normals.in_stride, kPointBytes);
    StoreExact::store(transform_normal<kNormals>(m, p), normals.out + v * normals.out_stride);
  }
}

template <Normals kNormals, class Rows>
HWY_INLINE void skin_rows(const SkinJob& job, const Rows& rows) {
  const Cursor positions(job.positions, job.positions_out);
  const Cursor normals(job.normals, job.normals_out);
  const std::size_t last = job.vertices - 1;
  const bool tight =
      positions.out_stride == kPointBytes && (kNormals == Normals::none || normals.out_stride == kPointBytes);
  if (tight)
    skin_run<kNormals, StoreTight>(rows, positions, normals, 0, last);
  else
    skin_run<kNormals, StoreExact>(rows, positions, normals, 0, last);
  skin_last<kNormals>(rows(last), positions, normals, last);
}

/// Calls `run` with the kind of normals that a job wants, as a constant.
template <class Run>
HWY_INLINE void with_normals_of(const SkinJob& job, const Run& run) {
  if (job.normals_out.data == nullptr) return run(std::integral_constant<Normals, Normals::none>());
  if (job.rule == sinew_normals_linear) return run(std::integral_constant<Normals, Normals::linear>());
  return run(std::integral_constant<Normals, Normals::cofactors>());
}

template <int K, class Index>
void skin_sparse(const SkinJob& job, const Index* indices) {
  const SparseRows<K, Index> rows{indices, job.weights.values, job.palette,
                                  static_cast<std::size_t>(job.weights.influences)};
  with_normals_of(job, [&](auto normals) HWY_ATTR { skin_rows<normals>(job, rows); });
}

template <class Index>
void skin_indexed(const SkinJob& job, const Index* indices) {
  switch (job.weights.influences) {
    case 1:
      return skin_sparse<1>(job, indices);
    case 2:
      return skin_sparse<2>(job, indices);
    case 3:
      return skin_sparse<3>(job, indices);
    case 4:
      return skin_sparse<4>(job, indices);
    case 5:
      return skin_sparse<5>(job, indices);
    case 6:
      return skin_sparse<6>(job, indices);
    case 7:
      return skin_sparse<7>(job, indices);
    case 8:
      return skin_sparse<8>(job, indices);
    default:
      return skin_sparse<0>(job, indices);
  }
}

/// Four dense rows at a time: every matrix is loaded once for four vertices, and four sums run side by side.
constexpr std::size_t kDenseRows = 4;

HWY_INLINE void blend_dense(const float* values, std::size_t bones, const float* palette, Matrix out[kDenseRows]) {
  Matrix a = scaled(palette, values[0]);
  Matrix b = scaled(palette, values[bones]);
  Matrix c = scaled(palette, values[2 * bones]);
  Matrix d = scaled(palette, values[3 * bones]);
  for (std::size_t i = 1; i < bones; ++i) {
    const Matrix m = load_matrix(palette + kMatrixFloats * i);
    accumulate(a, m, values[i]);
    accumulate(b, m, values[bones + i]);
    accumulate(c, m, values[2 * bones + i]);
    accumulate(d, m, values[3 * bones + i]);
  }
  out[0] = a;
  out[1] = b;
  out[2] = c;
  out[3] = d;
}

HWY_INLINE Matrix blend_dense_row(const float* values, std::size_t bones, const float* palette) {
  Matrix m = scaled(palette, values[0]);
  for (std::size_t i = 1; i < bones; ++i) accumulate(m, palette + kMatrixFloats * i, values[i]);
  return m;
}

template <Normals kNormals>
void skin_dense(const SkinJob& job) {
  const Cursor positions(job.positions, job.positions_out);
  const Cursor normals(job.normals, job.normals_out);
  std::size_t v = 0;
  for (; v + kDenseRows < job.vertices; v += kDenseRows) {
    Matrix rows[kDenseRows];
    blend_dense(job.weights.values + v * job.bones, job.bones, job.palette, rows);
    const auto row = [&rows, v](std::size_t i) HWY_ATTR { return rows[i - v]; };
    skin_run<kNormals, StoreExact>(row, positions, normals, v, v + kDenseRows);
  }
  for (; v < job.vertices; ++v)
    skin_last<kNormals>(blend_dense_row(job.weights.values + v * job.bones, job.bones, job.palette), positions, normals,
                        v);
}

void skin(const SkinJob& job) {
  if (job.vertices == 0) return;
  if (job.weights.influences == 0)
    return with_normals_of(job, [&](auto normals) HWY_ATTR { skin_dense<normals>(job); });
  if (job.weights.indices16 != nullptr) return skin_indexed(job, job.weights.indices16);
  return skin_indexed(job, job.weights.indices32);
}

void blend(const BlendJob& job) {
  std::size_t row = 0;
  if (job.weights.influences == 0) {
    for (; row + kDenseRows <= job.rows; row += kDenseRows) {
      Matrix rows[kDenseRows];
      blend_dense(job.weights.values + row * job.bones, job.bones, job.palette, rows);
      for (std::size_t i = 0; i < kDenseRows; ++i) store_matrix(rows[i], job.out + kMatrixFloats * (row + i));
    }
    for (; row < job.rows; ++row)
      store_matrix(blend_dense_row(job.weights.values + row * job.bones, job.bones, job.palette),
                   job.out + kMatrixFloats * row);
    return;
  }
  const auto slots = static_cast<std::size_t>(job.weights.influences);
  const SparseRows<0, std::uint16_t> narrow{job.weights.indices16, job.weights.values, job.palette, slots};
  const SparseRows<0, std::uint32_t> wide{job.weights.indices32, job.weights.values, job.palette, slots};
  for (; row < job.rows; ++row)
    store_matrix(job.weights.indices16 != nullptr ? narrow(row) : wide(row), job.out + kMatrixFloats * row);
}

void add_scaled(float* HWY_RESTRICT out, const float* HWY_RESTRICT in, float factor, std::size_t floats) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + lanes <= floats; i += lanes)
    hn::StoreU(multiply_add(scale, hn::LoadU(d, in + i), hn::LoadU(d, out + i)), d, out + i);
  for (; i < floats; ++i) out[i] += factor * in[i];
}

}  // namespace

const Kernels* table() {
  static const Kernels kKernels{hwy::TargetName(HWY_TARGET), skin, blend, add_scaled};
  return &kKernels;
}

#endif

}  // namespace sinew::runtime::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinew::runtime {

HWY_EXPORT(table);

const Kernels& best_kernels() {
  static const Kernels* const best = HWY_DYNAMIC_DISPATCH(table)();
  return *best;
}

std::vector<const Kernels*> all_simd_kernels() {
  std::vector<const Kernels*> all;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::GetChosenTarget().Update(target);
    all.push_back(HWY_DYNAMIC_DISPATCH(table)());
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return all;
}

}  // namespace sinew::runtime
#endif
