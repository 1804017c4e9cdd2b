#include "io/gltf/two_layer_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "io/gltf/range_coder.h"
#include "sinew/core/error.h"

// Header: the four steps. Dictionary, then vertices, row by row: the column of the largest value; for each other slot
// its value and, where that is not 0, its column. Columns are places in a list that has those used last in front; a
// virtual bone that no vertex has used yet is number 0 there and needs no more, since they are in order of use. Motion
// bone by bone, each of its twelve numbers over the frames as what the frames before do not foretell.
namespace sinew::gltf {
namespace {

using range::Decoder;
using range::Encoder;
using range::Number;
using range::SignedNumber;

constexpr std::int32_t kLargest = 1 << 22;
constexpr std::size_t kNumbersPerByte = 1024;  // more than the code can reach
constexpr std::size_t kAffineNumbers = 12;

std::int32_t size_class(std::int32_t value) {
  return std::min(15, static_cast<std::int32_t>(std::bit_width(static_cast<std::uint32_t>(std::abs(value)))));
}

/// Numbers used last are in front.
class Recent {
 public:
  Recent() = default;
  explicit Recent(std::size_t count) {
    for (Index i = 0; i < count; ++i) list_.push_back(i);
    std::reverse(list_.begin(), list_.end());
  }

  std::size_t size() const { return list_.size(); }
  void add(Index number) { list_.push_back(number); }
  /// Places from the front; the number goes to the front.
  std::uint32_t place_of(Index number) {
    const auto found = std::find(list_.rbegin(), list_.rend(), number);
    const auto place = static_cast<std::uint32_t>(found - list_.rbegin());
    bring_forward(place);
    return place;
  }
  Index at(std::uint32_t place) {
    bring_forward(place);
    return list_.back();
  }

 private:
  void bring_forward(std::uint32_t place) {
    const auto from = list_.end() - 1 - static_cast<std::ptrdiff_t>(place);
    std::rotate(from, from + 1, list_.end());
  }

  std::vector<Index> list_;  // the front is at the end
};

/// Models of the columns and values of rows; those of later slots are alike.
struct RowModels {
  static constexpr std::size_t kSlots = 4;

  std::array<Number, kSlots> columns;
  std::array<std::array<SignedNumber, 16>, kSlots> values;  // by the size of the value before

  Number& column(std::size_t slot) { return columns[std::min(slot, kSlots - 1)]; }
  SignedNumber& value(std::size_t slot, std::int32_t before) {
    return values[std::min(slot, kSlots - 1)][static_cast<std::size_t>(size_class(before))];
  }
};

struct MotionModels {
  std::array<std::array<std::array<SignedNumber, 16>, 3>, 2> rest;  // linear or not, order, size before

  SignedNumber& model(std::size_t number, unsigned order, std::int32_t before) {
    return rest[number < 9 ? 0 : 1][order][static_cast<std::size_t>(size_class(before))];
  }
};

std::int32_t whole_number(double x) {
  if (!(std::abs(x) < kLargest)) throw Error(ErrorKind::output, "two-layer model: a number is too large for its step");
  return static_cast<std::int32_t>(std::lround(x));
}

double motion_unit(const TwoLayerSteps& steps, std::size_t number) {
  return std::ldexp(1.0, number < 9 ? -steps.linear_bits : steps.translation_step);
}

BlendRows round_rows(const BlendRows& rows, int bits) {
  const auto slots = static_cast<std::size_t>(rows.slots);
  const double one = std::ldexp(1.0, bits);
  BlendRows out = rows;
  std::vector<std::pair<std::int32_t, Index>> row(slots);
  for (std::size_t i = 0; i < rows.row_count(); ++i) {
    for (std::size_t k = 0; k < slots; ++k)
      row[k] = {whole_number(static_cast<double>(rows.values[i * slots + k]) * one), rows.columns[i * slots + k]};
    std::sort(row.begin(), row.end(), [](const auto& a, const auto& b) {
      if ((a.first == 0) != (b.first == 0)) return b.first == 0;
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::int32_t rest = static_cast<std::int32_t>(one);
    for (std::size_t k = 1; k < slots; ++k) rest -= row[k].first;
    row[0].first = rest;
    for (std::size_t k = 0; k < slots; ++k) {
      out.values[i * slots + k] = static_cast<float>(row[k].first / one);
      out.columns[i * slots + k] = k > 0 && row[k].first == 0 ? 0 : row[k].second;
    }
  }
  return out;
}

/// Rows whose columns are coded by `put_column(slot, column)`.
template <class PutColumn>
void put_rows(const BlendRows& rows, int bits, RowModels& models, PutColumn put_column, Encoder& to) {
  const auto slots = static_cast<std::size_t>(rows.slots);
  const double one = std::ldexp(1.0, bits);
  for (std::size_t i = 0; i < rows.row_count(); ++i) {
    std::int32_t before = 0;
    put_column(0, rows.columns[i * slots]);
    for (std::size_t k = 1; k < slots; ++k) {
      const std::int32_t value = whole_number(static_cast<double>(rows.values[i * slots + k]) * one);
      models.value(k, before).put(value, to);
      before = value;
      if (value != 0) put_column(k, rows.columns[i * slots + k]);
    }
  }
}

template <class TakeColumn>
BlendRows take_rows(std::size_t count, int slots, int bits, RowModels& models, TakeColumn take_column, Decoder& from) {
  const double one = std::ldexp(1.0, bits);
  BlendRows out{slots, {}, {}};
  const auto width = static_cast<std::size_t>(slots);
  out.columns.assign(count * width, 0);
  out.values.assign(count * width, 0);
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t before = 0;
    double rest = one;
    out.columns[i * width] = take_column(0);
    for (std::size_t k = 1; k < width; ++k) {
      const std::int32_t value = models.value(k, before).take(from);
      before = value;
      if (value == 0) continue;
      rest -= value;
      out.values[i * width + k] = static_cast<float>(value / one);
      out.columns[i * width + k] = take_column(k);
    }
    out.values[i * width] = static_cast<float>(rest / one);
  }
  return out;
}

/// What the frames before say about the next: nothing, the same, or the same change again.
std::int32_t foretold(unsigned order, std::int32_t last, std::int32_t before_last) {
  return order == 0 ? 0 : order == 1 ? last : 2 * last - before_last;
}

unsigned best_order(const std::vector<std::int32_t>& numbers) {
  unsigned best = 0;
  double least = 0;
  for (unsigned order = 0; order < 3; ++order) {
    double sum = 0;
    for (std::size_t f = 1; f < numbers.size(); ++f)
      sum +=
          std::log2(1.0 + std::abs(numbers[f] - foretold(order, numbers[f - 1], f > 1 ? numbers[f - 2] : numbers[0])));
    if (order > 0 && sum >= least) continue;
    least = sum;
    best = order;
  }
  return best;
}

void put_motion(const Motion& motion, const TwoLayerSteps& steps, Encoder& to) {
  MotionModels models;
  std::vector<std::int32_t> numbers(motion.frame_count());
  for (std::size_t b = 0; b < motion.bone_count(); ++b)
    for (std::size_t e = 0; e < kAffineNumbers; ++e) {
      for (std::size_t f = 0; f < numbers.size(); ++f)
        numbers[f] = whole_number(static_cast<double>(motion(f, b).data()[e]) / motion_unit(steps, e));
      const unsigned order = best_order(numbers);
      to.put_evenly(order, 2);
      std::int32_t before = 0;
      for (std::size_t f = 0; f < numbers.size(); ++f) {
        const std::int32_t last = f > 0 ? numbers[f - 1] : 0;
        const std::int32_t rest = numbers[f] - (f == 0 ? 0 : foretold(order, last, f > 1 ? numbers[f - 2] : last));
        models.model(e, f == 0 ? 0 : order, before).put(rest, to);
        before = f == 0 ? 0 : rest;
      }
    }
}

Motion take_motion(const PackedSizes& sizes, const TwoLayerSteps& steps, Decoder& from) {
  MotionModels models;
  Motion out(sizes.frames, sizes.bones);
  for (std::size_t b = 0; b < sizes.bones; ++b)
    for (std::size_t e = 0; e < kAffineNumbers; ++e) {
      const unsigned order = std::min(2U, from.take_evenly(2));
      const double unit = motion_unit(steps, e);
      std::int32_t last = 0;
      std::int32_t before_last = 0;
      std::int32_t before = 0;
      for (std::size_t f = 0; f < sizes.frames; ++f) {
        const std::int32_t rest = models.model(e, f == 0 ? 0 : order, before).take(from);
        // Hostile numbers may grow: they are kept where their sums can be counted.
        const std::int32_t number =
            std::clamp(rest + (f == 0 ? 0 : foretold(order, last, before_last)), -16 * kLargest, 16 * kLargest);
        before_last = f == 0 ? number : last;
        last = number;
        before = f == 0 ? 0 : rest;
        out(f, b).data()[e] = static_cast<float>(number * unit);
      }
    }
  return out;
}

}  // namespace

TwoLayer in_order_of_use(const TwoLayer& model) {
  constexpr Index kUnused = 0xFFFFFFFF;
  std::vector<Index> place(model.virtual_bone_count(), kUnused);
  const auto width = static_cast<std::size_t>(model.dictionary.slots);
  TwoLayer out{{model.dictionary.slots, {}, {}}, model.coefficients};
  for (std::size_t i = 0; i < out.coefficients.values.size(); ++i) {
    Index& column = out.coefficients.columns[i];
    const auto slots = static_cast<std::size_t>(out.coefficients.slots);
    if (out.coefficients.values[i] == 0 && i % slots != 0) {
      column = 0;
      continue;
    }
    if (place[column] == kUnused) {
      place[column] = static_cast<Index>(out.dictionary.columns.size() / width);
      for (std::size_t k = column * width; k < (column + 1) * width; ++k) {
        out.dictionary.columns.push_back(model.dictionary.columns[k]);
        out.dictionary.values.push_back(model.dictionary.values[k]);
      }
    }
    column = place[column];
  }
  return out;
}

TwoLayer rounded_to(const TwoLayerSteps& steps, const TwoLayer& model) {
  return {round_rows(model.dictionary, steps.dictionary_bits), round_rows(model.coefficients, steps.coefficient_bits)};
}

Motion rounded_to(const TwoLayerSteps& steps, const Motion& motion) {
  Motion out = motion;
  for (std::size_t f = 0; f < motion.frame_count(); ++f)
    for (std::size_t b = 0; b < motion.bone_count(); ++b)
      for (std::size_t e = 0; e < kAffineNumbers; ++e) {
        const double unit = motion_unit(steps, e);
        out(f, b).data()[e] =
            static_cast<float>(whole_number(static_cast<double>(motion(f, b).data()[e]) / unit) * unit);
      }
  return out;
}

std::vector<std::byte> code_two_layer(const TwoLayer& model, const Motion& motion, const TwoLayerSteps& steps) {
  Encoder to;
  to.put_evenly(static_cast<std::uint32_t>(steps.coefficient_bits), 5);
  to.put_evenly(static_cast<std::uint32_t>(steps.dictionary_bits), 5);
  to.put_evenly(static_cast<std::uint32_t>(steps.linear_bits), 5);
  to.put_evenly(static_cast<std::uint32_t>(steps.translation_step + 128), 8);
  Recent bones(motion.bone_count());
  RowModels rows;
  put_rows(
      model.dictionary, steps.dictionary_bits, rows,
      [&](std::size_t slot, Index bone) { rows.column(slot).put(bones.place_of(bone), to); }, to);
  Recent virtual_bones;
  RowModels vertices;
  put_rows(
      model.coefficients, steps.coefficient_bits, vertices,
      [&](std::size_t slot, Index bone) {
        if (bone < virtual_bones.size()) return vertices.column(slot).put(virtual_bones.place_of(bone) + 1, to);
        vertices.column(slot).put(0, to);
        virtual_bones.add(bone);
      },
      to);
  put_motion(motion, steps, to);
  return to.finish();
}

void decode_two_layer(std::span<const std::byte> bytes, const PackedSizes& sizes, const std::string& name,
                      TwoLayer& model, Motion& motion) {
  const auto refuse = [&](const char* what) {
    throw Error(ErrorKind::input, fmt::format("{}: coded two-layer model: {}", name, what));
  };
  const double numbers = static_cast<double>(sizes.virtual_bones) * sizes.masters_per_virtual +
                         static_cast<double>(sizes.vertices) * sizes.virtual_per_vertex +
                         static_cast<double>(sizes.frames) * static_cast<double>(sizes.bones) * kAffineNumbers;
  if (numbers > static_cast<double>(kNumbersPerByte * (bytes.size() + 16))) refuse("has too few bytes for its numbers");
  Decoder from(bytes);
  TwoLayerSteps steps;
  steps.coefficient_bits = static_cast<int>(from.take_evenly(5));
  steps.dictionary_bits = static_cast<int>(from.take_evenly(5));
  steps.linear_bits = static_cast<int>(from.take_evenly(5));
  steps.translation_step = static_cast<int>(from.take_evenly(8)) - 128;
  if (steps.coefficient_bits > 16 || steps.dictionary_bits > 16 || std::abs(steps.translation_step) > 100)
    refuse("has steps that are not of its kind");
  Recent bones(sizes.bones);
  RowModels rows;
  model.dictionary = take_rows(
      sizes.virtual_bones, sizes.masters_per_virtual, steps.dictionary_bits, rows,
      [&](std::size_t slot) {
        const std::uint32_t place = rows.column(slot).take(from);
        if (place >= bones.size()) refuse("refers to a bone that is not there");
        return bones.at(place);
      },
      from);
  Recent virtual_bones;
  RowModels vertices;
  model.coefficients = take_rows(
      sizes.vertices, sizes.virtual_per_vertex, steps.coefficient_bits, vertices,
      [&](std::size_t slot) {
        const std::uint32_t place = vertices.column(slot).take(from);
        if (place > virtual_bones.size()) refuse("refers to a virtual bone that is not there");
        if (place > 0) return virtual_bones.at(place - 1);
        if (virtual_bones.size() >= sizes.virtual_bones) refuse("has more virtual bones than it says");
        virtual_bones.add(static_cast<Index>(virtual_bones.size()));
        return static_cast<Index>(virtual_bones.size() - 1);
      },
      from);
  motion = take_motion(sizes, steps, from);
  if (!from.at_end()) refuse(from.beyond_end() ? "ends too soon" : "has bytes left over");
}

}  // namespace sinew::gltf
