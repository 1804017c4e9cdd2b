#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sinew::fbx {

/// Ticks of the format's clock in a second.
inline constexpr std::int64_t kTicksPerSecond = 46186158000;

/// One property of a record. Arrays are deflated where that is worth it; bytes stay as they are.
using Value = std::variant<bool, std::int32_t, std::int64_t, double, std::string, std::span<const std::int32_t>,
                           std::span<const std::int64_t>, std::span<const float>, std::span<const double>,
                           std::span<const std::uint8_t>>;

/// "NAME::CLASS" as binary files spell it.
std::string object_name(std::string_view name, std::string_view type);

/// Writes the records of a binary file of version 7400 one after another. The same calls give the same bytes.
class Writer {
 public:
  Writer();

  /// A record that holds others until close().
  void open(std::string_view name, std::initializer_list<Value> values = {});
  void close();
  void leaf(std::string_view name, std::initializer_list<Value> values);

  /// A record P of Properties70: name, type, label and flags, then its values.
  void property(std::string_view name, std::string_view type, std::string_view label, std::string_view flags,
                std::initializer_list<Value> values = {});

  /// The records that tell the file from others and name the program that wrote it.
  void identify(std::string_view generator);

  /// The complete file. Throws Error{output} when it is larger than the format can say (4 GiB).
  std::vector<std::byte> finish();

 private:
  struct Open {
    std::size_t start = 0;  // of the record
    bool has_values = false;
    bool has_children = false;
    bool ends_with_null = false;
  };

  void begin(std::string_view name, std::span<const Value> values);
  void put(const Value& value);
  template <class T>
  void put_array(char code, std::span<const T> values);
  template <class T>
  void put_raw(T value);
  void put_text(std::string_view text);

  std::vector<std::byte> out_;
  std::vector<Open> open_;
};

}  // namespace sinew::fbx
