#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <span>

#include "sinew/core/error.h"

/// What the fuzz targets share: bytes may be refused with Error{input} and in no other way.
namespace sinew::fuzz {

/// Ends the process, as the fuzzer expects of a finding.
inline void require(bool truth, const char* sentence) {
  if (truth) return;
  std::cerr << "not true: " << sentence << "\n";
  std::abort();
}

/// Runs `read` on the bytes.
template <class Read>
int try_bytes(const std::uint8_t* data, std::size_t size, const Read& read) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    read(bytes);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::input, "bytes are refused as bad input");
  }
  return 0;
}

}  // namespace sinew::fuzz
