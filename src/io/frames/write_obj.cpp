#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "io/go_on.h"
#include "io/textures/srgb.h"
#include "sinew/core/error.h"
#include "sinew/io/obj.h"
#include "sinew/io/output_file.h"

namespace sinew {
namespace {

namespace fs = std::filesystem;

/// Text that grows; numbers in the shortest form that reads back as the same float.
class Text {
 public:
  Text& operator<<(std::string_view text) {
    text_ += text;
    return *this;
  }
  template <class T>
  Text& number(T value) {
    char digits[32];
    const auto [end, status] = std::to_chars(digits, digits + sizeof digits, value);
    text_.append(digits, end);
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// A name as one line can hold it: control characters and a backslash, which may continue the line, become '_'.
std::string line_name(std::string name) {
  for (char& c : name)
    if (static_cast<unsigned char>(c) < 32 || c == '\\') c = '_';
  return name;
}

/// Colour per vertex, 3×V in sRGB: that of its first corner; white where no face has the vertex.
Points vertex_colors(const Mesh& mesh) {
  const CornerAttribute<4>& colors = mesh.color_sets.front();
  Points out = Points::Ones(3, mesh.positions.cols());
  for (std::size_t c = mesh.corners.size(); c-- > 0;)
    for (Eigen::Index i = 0; i < 3; ++i)
      out(i, mesh.corners[c]) =
          srgb_from_linear(colors.values[4 * std::size_t{colors.indices[c]} + static_cast<std::size_t>(i)]);
  return out;
}

/// Writes the parts of a mesh; faces must be appended in order.
class ObjText {
 public:
  explicit ObjText(const Mesh& mesh, bool with_normals)
      : mesh_(mesh),
        has_uvs_(!mesh.uv_sets.empty() && !mesh.uv_sets.front().empty()),
        has_normals_(with_normals && !mesh.normals.empty()) {}

  void object(const std::string& name) { text_ << "o " << line_name(name) << "\n"; }

  void positions(const Eigen::Ref<const Points>& points, const Points& colors) {
    for (Eigen::Index v = 0; v < points.cols(); ++v) {
      text_ << "v";
      for (Eigen::Index i = 0; i < 3; ++i) (text_ << " ").number(points(i, v));
      if (colors.cols() > 0)
        for (Eigen::Index i = 0; i < 3; ++i) (text_ << " ").number(colors(i, v));
      text_ << "\n";
    }
  }

  void attributes() {
    if (has_uvs_) {
      const std::vector<float>& uvs = mesh_.uv_sets.front().values;
      for (std::size_t i = 0; i + 1 < uvs.size(); i += 2)
        ((text_ << "vt ").number(uvs[i]) << " ").number(1 - uvs[i + 1]) << "\n";
    }
    if (has_normals_) {
      const std::vector<float>& n = mesh_.normals.values;
      for (std::size_t i = 0; i + 2 < n.size(); i += 3)
        (((text_ << "vn ").number(n[i]) << " ").number(n[i + 1]) << " ").number(n[i + 2]) << "\n";
    }
  }

  void faces(std::size_t count) {
    for (const std::size_t last = face_ + count; face_ < last; ++face_) {
      use_material();
      text_ << "f";
      for (Index i = 0; i < mesh_.face_sizes[face_]; ++i, ++corner_) {
        (text_ << " ").number(std::uint64_t{mesh_.corners[corner_]} + 1);
        if (has_uvs_ || has_normals_) text_ << "/";
        if (has_uvs_) text_.number(std::uint64_t{mesh_.uv_sets.front().indices[corner_]} + 1);
        if (has_normals_) (text_ << "/").number(std::uint64_t{mesh_.normals.indices[corner_]} + 1);
      }
      text_ << "\n";
    }
  }

  std::string take() { return text_.take(); }

 private:
  void use_material() {
    if (mesh_.face_materials.empty() || mesh_.face_materials[face_] == material_) return;
    material_ = mesh_.face_materials[face_];
    if (material_ < 0) {
      text_ << "usemtl\n";  // no name: no material
      return;
    }
    const std::string& name = mesh_.appearance.materials[static_cast<std::size_t>(material_)].name;
    text_ << "usemtl " << (name.empty() ? fmt::format("material{}", material_) : line_name(name)) << "\n";
  }

  const Mesh& mesh_;
  bool has_uvs_;
  bool has_normals_;
  Text text_;
  std::size_t face_ = 0;
  std::size_t corner_ = 0;
  int material_ = -1;
};

bool is_frame_file(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name == "rest.obj") return true;
  if (!name.starts_with("frame") || !name.ends_with(".obj") || name.size() <= 9) return false;
  return std::all_of(name.begin() + 5, name.end() - 4, [](char c) { return c >= '0' && c <= '9'; });
}

[[noreturn]] void refuse(const fs::path& target, const std::string& why) {
  throw Error(ErrorKind::output, fmt::format("{}: cannot be written: {}", target.string(), why));
}

/// A folder that becomes visible only when it is complete, as OutputFile is for files.
class OutputFolder {
 public:
  explicit OutputFolder(fs::path target) : target_(std::move(target)) {
    if (target_.filename().empty()) target_ = target_.parent_path();  // "frames/"
    check_replaceable();
    temporary_ = target_;
    temporary_ += fmt::format(".{}.tmp", getpid());
    std::error_code failure;
    if (!fs::create_directory(temporary_, failure))
      refuse(target_, failure ? failure.message() : temporary_.string() + " is in the way");
  }
  ~OutputFolder() {
    std::error_code ignored;
    if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
  }
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  const fs::path& path() const { return temporary_; }

  void commit() {
    std::error_code failure;
    fs::path old;
    if (fs::exists(target_)) {
      old = temporary_;
      old += ".old";
      fs::rename(target_, old, failure);
      if (failure) refuse(target_, failure.message());
    }
    fs::rename(temporary_, target_, failure);
    if (failure) {
      std::error_code ignored;
      if (!old.empty()) fs::rename(old, target_, ignored);
      refuse(target_, failure.message());
    }
    temporary_.clear();
    if (!old.empty()) fs::remove_all(old, failure);
  }

 private:
  void check_replaceable() const {
    std::error_code failure;
    const fs::file_status status = fs::status(target_, failure);
    if (!fs::exists(status)) return;
    if (!fs::is_directory(status)) refuse(target_, "a file of that name exists");
    for (const auto& entry : fs::directory_iterator(target_, failure))
      if (!is_frame_file(entry.path()))
        refuse(target_, fmt::format("the folder holds {}, expected an empty folder or one with OBJ frames",
                                    entry.path().filename().string()));
    if (failure) refuse(target_, failure.message());
  }

  fs::path target_;
  fs::path temporary_;
};

}  // namespace

std::string format_obj(const Mesh& mesh) {
  Points colors(3, 0);
  if (!mesh.color_sets.empty() && !mesh.color_sets.front().empty()) colors = vertex_colors(mesh);
  ObjText text(mesh, true);
  if (mesh.pieces.empty()) {
    text.positions(mesh.positions, colors);
    text.attributes();
    text.faces(mesh.face_count());
  }
  for (const Piece& piece : mesh.pieces) {
    text.object(piece.name);
    text.positions(mesh.positions.middleCols(piece.first_vertex, piece.vertices),
                   colors.cols() > 0 ? Points(colors.middleCols(piece.first_vertex, piece.vertices)) : colors);
    if (&piece == &mesh.pieces.front()) text.attributes();
    text.faces(piece.faces);
  }
  return text.take();
}

void write_obj(const fs::path& path, const Mesh& mesh) {
  OutputFile file(path);
  file.write(format_obj(mesh));
  file.commit();
}

void write_obj_folder(const fs::path& folder, const Sequence& sequence, const Progress& progress) {
  OutputFolder output(folder);
  write_obj(output.path() / "rest.obj", sequence.rest);
  ObjText tail(sequence.rest, false);
  tail.attributes();
  tail.faces(sequence.rest.face_count());
  const std::string faces = tail.take();
  for (std::size_t f = 0; f < sequence.frame_count(); ++f) {
    go_on(progress, folder, f, sequence.frame_count());
    ObjText text(sequence.rest, false);
    text.positions(sequence.frames[f], Points(3, 0));
    OutputFile file(output.path() / fmt::format("frame{:04}.obj", f));
    file.write(text.take());
    file.write(faces);
    file.commit();
  }
  output.commit();
}

}  // namespace sinew
