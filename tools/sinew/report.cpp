#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sinew/core/bounds.h"
#include "sinew/io/output_file.h"

namespace sinew::tool {
namespace {

Json clips_of(const std::vector<Clip>& clips) {
  Json out = Json::array();
  for (const Clip& clip : clips)
    out.push_back({{"name", clip.name}, {"first_frame", clip.first_frame}, {"frames", clip.frames}});
  return out;
}

double duration_of(const std::vector<double>& times, const std::vector<Clip>& clips) {
  if (times.empty()) return 0;
  if (clips.empty()) return times.back() - times.front();
  double total = 0;
  for (const Clip& clip : clips)
    if (clip.frames > 0) total += times[clip.first_frame + clip.frames - 1] - times[clip.first_frame];
  return total;
}

void add_mesh_facts(const Mesh& mesh, Json& out) {
  out["vertices"] = mesh.vertex_count();
  out["faces"] = mesh.face_count();
  out["uv_sets"] = mesh.uv_sets.size();
  out["materials"] = mesh.appearance.materials.size();
  Json pieces = Json::array();
  for (const Piece& piece : mesh.pieces)
    pieces.push_back({{"name", piece.name}, {"vertices", piece.vertices}, {"faces", piece.faces}});
  out["pieces"] = std::move(pieces);
  out["diagonal"] = bounding_box_diagonal(mesh.positions);
  out["enclosing_radius"] = smallest_enclosing_sphere(mesh.positions).radius;
}

/// Numbers of the sequence over numbers of the rig, as [JamesTwigg2005] counts: rest positions, weights, and per frame
/// seven numbers for a rigid bone, twelve for an affine one, one for each correction, whose shapes also count.
double compression_ratio(const Rig& rig) {
  const auto V = static_cast<double>(rig.vertex_count());
  const auto F = static_cast<double>(rig.frame_count());
  const double per_bone = rig.transforms == Transforms::rigid ? 7 : 12;
  const double rank = rig.corrections ? static_cast<double>(rig.corrections->rank()) : 0;
  const double numbers = 3 * V + used_influences(rig.weights) * V +
                         per_bone * static_cast<double>(rig.bone_count()) * F + rank * (3 * V + F);
  return 3 * V * F / numbers;
}

/// Characters that a terminal shows, for UTF-8 text.
std::size_t shown_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

Json facts_of(const Sequence& sequence) {
  Json out{{"kind", "sequence"}, {"name", sequence.name}};
  add_mesh_facts(sequence.rest, out);
  out["frames"] = sequence.frame_count();
  out["seconds"] = duration_of(sequence.times, sequence.clips);
  out["clips"] = clips_of(sequence.clips);
  out["memory_bytes"] = sequence.frames.data().size() * sizeof(float);
  return out;
}

Json facts_of(const Rig& rig) {
  Json out{{"kind", "rig"}};
  add_mesh_facts(rig.rest, out);
  out["frames"] = rig.frame_count();
  out["seconds"] = duration_of(rig.times, rig.clips);
  out["clips"] = clips_of(rig.clips);
  out["bones"] = rig.bone_count();
  out["influences"] = used_influences(rig.weights);
  out["transforms"] = rig.transforms == Transforms::rigid ? "rigid" : "affine";
  out["skeleton"] = rig.jointed;
  out["corrections"] = rig.corrections ? rig.corrections->rank() : 0;
  if (rig.two_layer)
    out["two_layer"] = {{"virtual_bones", rig.two_layer->virtual_bone_count()},
                        {"bones_per_virtual_bone", rig.two_layer->dictionary.slots},
                        {"virtual_bones_per_vertex", rig.two_layer->coefficients.slots}};
  out["compression_ratio"] = compression_ratio(rig);
  const Json notes = Json::parse(rig.notes, nullptr, false);
  if (notes.is_object()) out["notes"] = notes;
  out["memory_bytes"] = rig.weights.values.size() * (sizeof(float) + sizeof(Index)) +
                        rig.frame_count() * rig.bone_count() * sizeof(Affine) + rig.vertex_count() * 3 * sizeof(float);
  return out;
}

Json facts_of(const Errors& errors, bool per_vertex) {
  Json out{{"e_rms", errors.e_rms},
           {"rmse_percent", errors.rmse_percent},
           {"distortion_percent", errors.distortion_percent},
           {"normal_degrees", errors.normal_degrees},
           {"played_degrees", errors.played_degrees},
           {"max_distance", errors.max_distance},
           {"max_percent", errors.max_percent},
           {"worst_frame", errors.worst_frame},
           {"worst_vertex", errors.worst_vertex},
           {"per_frame_percent", errors.per_frame}};
  if (per_vertex) out["per_vertex_percent"] = errors.per_vertex;
  return out;
}

Json facts_of(const std::optional<ErrorsBetween>& between) {
  if (!between) return nullptr;
  return {{"rmse_percent", between->rmse_percent}, {"max_percent", between->max_percent}, {"places", between->places}};
}

Json facts_of(const FitReport& report) {
  Json out{{"method", report.method}, {"bones_asked", report.bones_asked},
           {"bones", report.bones},   {"device", report.device},
           {"remark", report.remark}, {"termination", to_string(report.termination)}};
  Json iterations = Json::array();
  for (const IterationRecord& record : report.iterations)
    iterations.push_back({{"e_rms", record.e_rms}, {"seconds", record.seconds}});
  out["iterations"] = std::move(iterations);
  Json search = Json::array();
  for (const SearchRecord& record : report.search) search.push_back({{"bones", record.bones}, {"e_rms", record.e_rms}});
  out["search"] = std::move(search);
  Json seconds = Json::object();
  for (const auto& [step, value] : report.seconds) seconds[step] = value;
  out["seconds"] = std::move(seconds);
  out["peak_memory_bytes"] = peak_memory_bytes();
  return out;
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  if (std::abs(value) >= 100 && std::abs(value) < 1e6) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}", value);
}

std::string duration_text(double seconds) {
  if (seconds < 1) return "1 s";
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 90 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string size_text(double bytes) {
  constexpr std::array<const char*, 4> kUnits{"bytes", "kB", "MB", "GB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", short_number(bytes), kUnits[unit]);
}

void print_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < header.size(); ++column) {
    std::size_t width = shown_width(header[column]);
    for (const auto& row : rows) width = std::max(width, shown_width(row[column]));
    widths.push_back(width);
  }
  const auto print_row = [&](const std::vector<std::string>& row) {
    for (std::size_t column = 0; column + 1 < row.size(); ++column)
      fmt::print("{:{}}{}  ", "", widths[column] - shown_width(row[column]), row[column]);
    fmt::print("{}\n", row.back());
  };
  print_row(header);
  for (const auto& row : rows) print_row(row);
}

std::vector<std::string> result_header() {
  return {"bones", "influences", "E_RMS", "RMSE %", "between %", "normals °", "played °", "max %", "seconds", "file"};
}

std::vector<std::string> result_row(const Rig& rig, const Errors& errors, const std::optional<ErrorsBetween>& between,
                                    double seconds, const std::string& file) {
  return {std::to_string(rig.bone_count()),
          std::to_string(used_influences(rig.weights)),
          short_number(errors.e_rms),
          short_number(errors.rmse_percent),
          between ? short_number(between->rmse_percent) : "-",
          short_number(errors.normal_degrees),
          short_number(errors.played_degrees),
          short_number(errors.max_percent),
          short_number(seconds),
          file};
}

std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

void write_json(const std::filesystem::path& path, const Json& json) {
  OutputFile file(path);
  file.write(json_text(json) + "\n");
  file.commit();
}

}  // namespace sinew::tool
