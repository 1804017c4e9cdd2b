#pragma once

#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "io/arrays/zip.h"

namespace sinew {

/// Arrays of an .npz file while it is put together. Values are not copied: they must outlive the write.
class NpzMembers {
 public:
  /// `type` is NumPy's descr, e.g. "<f4".
  template <class T>
  void add(const std::string& name, const std::string& type, const std::vector<std::size_t>& shape,
           std::span<const T> values) {
    add_bytes(name, type, shape, std::as_bytes(values));
  }
  void write(const std::filesystem::path& path, const Progress& progress = {}) const {
    write_zip(path, members_, 1, progress);
  }

 private:
  void add_bytes(const std::string& name, const std::string& type, const std::vector<std::size_t>& shape,
                 std::span<const std::byte> values);

  std::deque<std::string> headers_;  // the members keep views of them
  std::vector<ZipMember> members_;
};

}  // namespace sinew
