#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "sinew/core/progress.h"
#include "sinew/core/sequence.h"

/// NumPy arrays: single ones (.npy) and a sequence as a stored zip of them (.npz, as np.savez writes and np.load
/// reads). Arrays of a sequence: `frames` F×V×3; and, each optional, `rest` V×3 (else frame 0), `times` F in seconds
/// (else uniform), faces as `face_sizes` and `corners`, or as `faces` n×k where all have k corners.
namespace sinew {

/// An array of any rank, row-major whatever the file's order.
template <class T>
struct NpyArray {
  std::vector<std::size_t> shape;
  std::vector<T> values;
};

/// Reads little-endian floats (4 or 8 bytes) and integers (1 to 8 bytes) as T = float, double or std::int64_t; floats
/// are not read as integers. `name` stands for the bytes in error sentences. Throws Error{input} when the header is not
/// understood or its shape is not exactly what the bytes hold.
template <class T>
NpyArray<T> parse_npy(std::span<const std::byte> bytes, const std::string& name);
template <class T>
NpyArray<T> read_npy(const std::filesystem::path& path);

/// The result satisfies Sequence::check(). Throws Error{input}; compressed members are refused.
Sequence parse_npz(std::span<const std::byte> bytes, const std::string& name);
Sequence read_npz(const std::filesystem::path& path, const Paging& paging = {});

/// Writes frames, rest, times, face_sizes and corners; clips are laid one after another. Throws Error{output}, also
/// when the file would exceed the 4 GiB of a plain zip.
void write_npz(const std::filesystem::path& path, const Sequence& sequence, const Progress& progress = {});

}  // namespace sinew
