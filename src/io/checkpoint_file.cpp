// A checkpoint file: "SINEWCK1", the size of the header (u64), the header (JSON: whose it is, phase, step, names and
// shapes), the arrays (double, column-major, in the order of the header), and a digest of everything before it.
#include "sinew/io/checkpoint_file.h"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "io/alembic/murmur3.h"
#include "io/json_text.h"
#include "sinew/core/error.h"
#include "sinew/core/fit_report.h"
#include "sinew/io/output_file.h"

namespace sinew {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kMagic = "SINEWCK1";
constexpr std::size_t kHead = 16;  // magic and size of the header

template <class T>
void append(std::vector<std::byte>& bytes, const T* values, std::size_t count) {
  const auto* const from = reinterpret_cast<const std::byte*>(values);
  bytes.insert(bytes.end(), from, from + count * sizeof(T));
}

std::string text_of(const Digest& digest) {
  return fmt::format("{:016x}{:016x}", digest.high, digest.low);
}

/// One digest of several arrays; numbers that pass from one to the next change it.
class DigestOfParts {
 public:
  template <class Values>
  void add(const Values& values) {
    const Digest digest = murmur3(std::as_bytes(std::span(values)));
    append(parts_, &digest, 1);
  }
  std::string text() const { return text_of(murmur3(parts_)); }

 private:
  std::vector<std::byte> parts_;
};

void describe(const SavedArrays& arrays, bool finished, Json& list) {
  for (const auto& [name, array] : arrays)
    list.push_back({{"name", name}, {"rows", array.rows()}, {"columns", array.cols()}, {"finished", finished}});
}

/// Bytes that are used up from the front.
struct Reader {
  std::span<const std::byte> left;
  const std::string& name;

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::input, fmt::format("{}: {}", name, why));
  }
  std::span<const std::byte> take(std::uint64_t count) {
    if (count > left.size()) refuse("the checkpoint is cut short");
    const auto part = left.first(static_cast<std::size_t>(count));
    left = left.subspan(part.size());
    return part;
  }
  [[noreturn]] void refuse_header() const { refuse("the header of the checkpoint makes no sense"); }
  /// A whole number >= 0; the JSON library would take 1e84 as well, at its peril.
  std::uint64_t count(const Json& object, const char* key) const {
    const Json& value = object.at(key);
    if (!value.is_number_unsigned()) refuse_header();
    return value.get<std::uint64_t>();
  }
  Eigen::MatrixXd array(const Json& shape) {
    const std::uint64_t rows = count(shape, "rows");
    const std::uint64_t columns = count(shape, "columns");
    const std::uint64_t most = left.size() / sizeof(double);
    if (rows > most || columns > most || (rows > 0 && columns > most / rows)) refuse("the checkpoint is cut short");
    Eigen::MatrixXd out(static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns));
    const auto bytes = take(rows * columns * sizeof(double));
    if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }
};

}  // namespace

std::string digest_of(const Sequence& sequence) {
  DigestOfParts parts;
  const Mesh& mesh = sequence.rest;
  parts.add(std::span(mesh.positions.data(), static_cast<std::size_t>(mesh.positions.size())));
  parts.add(mesh.face_sizes);
  parts.add(mesh.corners);
  for (std::size_t f = 0; f < sequence.frame_count(); ++f) {
    const ConstPointsMap frame = sequence.frames[f];
    parts.add(std::span(frame.data(), static_cast<std::size_t>(frame.size())));
  }
  parts.add(sequence.times);
  std::vector<std::size_t> clips;
  for (const Clip& clip : sequence.clips) clips.insert(clips.end(), {clip.first_frame, clip.frames});
  parts.add(clips);
  return parts.text();
}

std::string digest_of(const Rig& rig) {
  DigestOfParts parts;
  std::vector<int> parents;
  std::vector<float> numbers;
  for (const Bone& bone : rig.bones) {
    parents.push_back(bone.parent);
    for (const Vector3& end : {bone.head, bone.tail}) numbers.insert(numbers.end(), end.begin(), end.end());
  }
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b)
      numbers.insert(numbers.end(), rig.motion(f, b).reshaped().begin(), rig.motion(f, b).reshaped().end());
  parts.add(parents);
  parts.add(numbers);
  parts.add(rig.weights.bones);
  parts.add(rig.weights.values);
  return parts.text();
}

std::vector<std::byte> format_checkpoint(const SolveState& state, const SolveIdentity& identity) {
  Json list = Json::array();
  describe(state.arrays, false, list);
  describe(state.finished, true, list);
  const std::string header = json_text({{"options", identity.options},
                                        {"input", identity.input},
                                        {"phase", state.phase},
                                        {"step", state.step},
                                        {"arrays", std::move(list)}});
  std::vector<std::byte> bytes;
  const std::uint64_t size = header.size();
  append(bytes, kMagic.data(), kMagic.size());
  append(bytes, &size, 1);
  append(bytes, header.data(), header.size());
  for (const SavedArrays* arrays : {&state.arrays, &state.finished})
    for (const auto& [name, array] : *arrays) append(bytes, array.data(), static_cast<std::size_t>(array.size()));
  const Digest digest = murmur3(bytes);
  append(bytes, &digest, 1);
  return bytes;
}

ParsedCheckpoint parse_checkpoint(std::span<const std::byte> bytes, const std::string& name) {
  Reader reader{bytes, name};
  if (bytes.size() < kHead + sizeof(Digest) || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    reader.refuse("not a checkpoint");
  Digest stored;
  std::memcpy(&stored, bytes.last(sizeof stored).data(), sizeof stored);
  if (murmur3(bytes.first(bytes.size() - sizeof stored)) != stored) reader.refuse("the checkpoint is damaged");
  reader.left = bytes.first(bytes.size() - sizeof stored);
  std::uint64_t size = 0;
  std::memcpy(&size, reader.take(kHead).data() + kMagic.size(), sizeof size);
  const auto text = reader.take(size);
  const auto* const first = reinterpret_cast<const char*>(text.data());
  ParsedCheckpoint out;
  try {
    const Json header = parse_json({first, text.size()});
    out.identity = {header.at("options").get<std::string>(), header.at("input").get<std::string>()};
    out.state.phase = header.at("phase").get<std::string>();
    const std::uint64_t step = reader.count(header, "step");
    if (step > std::uint64_t{1} << 30) reader.refuse_header();
    out.state.step = static_cast<std::int64_t>(step);
    for (const Json& shape : header.at("arrays")) {
      SavedArrays& arrays = shape.at("finished").get<bool>() ? out.state.finished : out.state.arrays;
      arrays[shape.at("name").get<std::string>()] = reader.array(shape);
    }
  } catch (const Json::exception&) {
    reader.refuse_header();
  }
  if (!reader.left.empty()) reader.refuse_header();
  return out;
}

CheckpointFile::CheckpointFile(std::filesystem::path path, SolveIdentity identity, CheckpointFileOptions options)
    : path_(std::move(path)), identity_(std::move(identity)), options_(std::move(options)), last_(now_seconds()) {
  if (!std::filesystem::exists(path_)) return;
  ParsedCheckpoint parsed = parse_checkpoint(read_file(path_), path_.string());
  if (parsed.identity.input != identity_.input)
    throw Error(ErrorKind::input, fmt::format("{}: is the checkpoint of a solve of another input", path_.string()));
  if (parsed.identity.options != identity_.options)
    throw Error(ErrorKind::input, fmt::format("{}: is the checkpoint of a solve with other options: '{}', not '{}'",
                                              path_.string(), parsed.identity.options, identity_.options));
  finished = parsed.state.finished;
  earlier = std::move(parsed.state);
  resumed_ = true;
}

bool CheckpointFile::due() {
  if (now_seconds() - last_ >= options_.seconds) return true;
  return !stopping_ && options_.stop_soon && options_.stop_soon();
}

void CheckpointFile::save(const SolveState& state) {
  stopping_ = options_.stop_soon && options_.stop_soon();
  OutputFile file(path_);
  file.write(std::span<const std::byte>(format_checkpoint(state, identity_)));
  file.commit();
  last_ = now_seconds();
  ++saved_;
}

void CheckpointFile::discard() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace sinew
