#include <fmt/format.h>

#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "io/arrays/npy_stream.h"
#include "sinew/core/error.h"
#include "sinew/io/npz.h"

namespace sinew {
namespace {

/// The arrays of an archive, read when they are asked for.
class NpzArchive {
 public:
  NpzArchive(const ByteSource& source, const std::string& name)
      : source_(source), name_(name), entries_(list_zip(source, name)) {}

  /// The array, or nothing where the archive has none of that name.
  template <class T>
  std::optional<NpyArray<T>> find(const std::string& array) const {
    return find_with(array, [](Stretch& contents, const std::string& label) { return parse_npy<T>(contents, label); });
  }

  /// Positions, which may be kept in a file.
  std::optional<Frames> find_frames(const std::string& array, const Paging& paging) const {
    return find_with(
        array, [&](Stretch& contents, const std::string& label) { return parse_npy_frames(contents, label, paging); });
  }

  [[noreturn]] void refuse(const std::string& array, const std::string& what) const {
    throw Error(ErrorKind::input, fmt::format("{}: {}", label_of(array), what));
  }

  template <class T>
  void check_shape(const std::string& array, const NpyArray<T>& found, const std::vector<std::size_t>& expected) const {
    if (found.shape != expected)
      refuse(array, fmt::format("shape ({}), expected ({})", fmt::join(found.shape, ", "), fmt::join(expected, ", ")));
  }

 private:
  template <class Parse>
  auto find_with(const std::string& array, const Parse& parse) const
      -> std::optional<std::invoke_result_t<Parse, Stretch&, const std::string&>> {
    const auto entry = entries_.find(array + ".npy");
    if (entry == entries_.end()) return std::nullopt;
    const std::string label = label_of(array);
    Stretch contents(source_, find_zip_contents(source_, entry->second, label), entry->second.size);
    auto found = parse(contents, label);
    if (contents.crc() != entry->second.crc)
      refuse(array, "its contents do not have the checksum that the archive states");
    return found;
  }
  std::string label_of(const std::string& array) const { return fmt::format("{}: array '{}'", name_, array); }

  const ByteSource& source_;
  std::string name_;
  std::map<std::string, ZipEntry> entries_;
};

std::vector<Index> to_indices(const NpzArchive& archive, const std::string& array,
                              const std::vector<std::int64_t>& values) {
  std::vector<Index> out(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= std::numeric_limits<Index>::max())
      archive.refuse(array, fmt::format("value {} at {} is not an index", values[i], i));
    out[i] = static_cast<Index>(values[i]);
  }
  return out;
}

void read_faces(const NpzArchive& archive, Mesh& mesh) {
  const auto sizes = archive.find<std::int64_t>("face_sizes");
  const auto corners = archive.find<std::int64_t>("corners");
  const auto faces = archive.find<std::int64_t>("faces");
  if (sizes.has_value() != corners.has_value())
    archive.refuse(sizes ? "corners" : "face_sizes", "missing, though the other half of the faces is there");
  if (sizes) {
    archive.check_shape("face_sizes", *sizes, {sizes->values.size()});
    archive.check_shape("corners", *corners, {corners->values.size()});
    mesh.face_sizes = to_indices(archive, "face_sizes", sizes->values);
    mesh.corners = to_indices(archive, "corners", corners->values);
  } else if (faces) {
    if (faces->shape.size() != 2) archive.refuse("faces", "not a matrix with one row per face");
    const auto size = static_cast<Index>(faces->values.empty() ? 0 : faces->shape[1]);
    mesh.corners = to_indices(archive, "faces", faces->values);
    if (size > 0) mesh.face_sizes.assign(faces->shape[0], size);
  }
}

Sequence parse_archive(const ByteSource& source, const std::string& name, const Paging& paging) {
  const NpzArchive archive(source, name);
  auto frames = archive.find_frames("frames", paging);
  if (!frames) archive.refuse("frames", "missing; expected frames × vertices × 3 positions");
  Sequence sequence;
  sequence.name = name;
  sequence.frames = std::move(*frames);
  const std::size_t vertices = sequence.frames.vertex_count();
  if (const auto rest = archive.find<float>("rest")) {
    archive.check_shape("rest", *rest, {vertices, 3});
    sequence.rest.positions = ConstPointsMap(rest->values.data(), 3, static_cast<Eigen::Index>(vertices));
  } else {
    sequence.rest.positions = std::as_const(sequence.frames)[0];
  }
  if (auto times = archive.find<double>("times")) {
    archive.check_shape("times", *times, {sequence.frame_count()});
    sequence.times = std::move(times->values);
  } else {
    sequence.times = uniform_times(sequence.frame_count());
  }
  read_faces(archive, sequence.rest);
  sequence.check();
  return sequence;
}

}  // namespace

Sequence parse_npz(std::span<const std::byte> bytes, const std::string& name) {
  return parse_archive(ByteSource(bytes), name, {});
}

Sequence read_npz(const std::filesystem::path& path, const Paging& paging) {
  Sequence sequence = parse_archive(ByteSource(path), path.string(), paging);
  sequence.name = path.stem().string();
  return sequence;
}

}  // namespace sinew
