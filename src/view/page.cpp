#include "sinew/view/page.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sinew/core/bounds.h"
#include "view/page_parts.h"
#include "view/page_template.h"

namespace sinew {
namespace {

/// The chosen frames as base64; their number and, for short ones, their scale go into `facts`.
std::string frames_text(const PageOptions& options, nlohmann::json& facts) {
  const Frames& frames = options.original->frames;
  const std::size_t step = std::max<std::size_t>(1, options.frame_step);
  std::vector<float> chosen;
  for (std::size_t f = 0; f < frames.count(); f += step)
    chosen.insert(chosen.end(), frames[f].data(), frames[f].data() + frames[f].size());
  facts["frames"] = (frames.count() + step - 1) / step;
  std::string out;
  if (!options.short_numbers) {
    append_base64(out, std::as_bytes(std::span(chosen)));
    return out;
  }
  const auto [least, most] = std::minmax_element(chosen.begin(), chosen.end());
  const double low = chosen.empty() ? 0 : static_cast<double>(*least);
  const double scale = chosen.empty() || *most == *least ? 1 : (static_cast<double>(*most) - low) / 65535;
  std::vector<std::uint16_t> numbers;
  numbers.reserve(chosen.size());
  for (const float value : chosen)
    numbers.push_back(static_cast<std::uint16_t>(std::lround((static_cast<double>(value) - low) / scale)));
  facts["low"] = low;
  facts["scale"] = scale;
  append_base64(out, std::as_bytes(std::span(numbers)));
  return out;
}

}  // namespace

bool has_viewer() {
  return !kPageTemplate.empty();
}

std::string view_page(std::span<const std::byte> glb, const PageOptions& options) {
  nlohmann::json facts{{"name", options.name}};
  if (const auto report = nlohmann::json::parse(options.report, nullptr, false); report.is_object())
    facts["report"] = report;
  std::string data;
  if (options.original != nullptr) {
    const Sequence& original = *options.original;
    facts["original"] = {{"vertices", original.vertex_count()},
                         {"radius", smallest_enclosing_sphere(original.rest.positions).radius},
                         {"step", options.frame_step},
                         {"like", options.original_like}};
    append_element(data, "sinew-original", "text/plain", frames_text(options, facts["original"]));
  }
  bool basis = false;
  const auto append_model = [&](const std::string& id, std::span<const std::byte> bytes) {
    std::string model;
    append_base64(model, bytes);
    append_element(data, id, "text/plain", model);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    basis |= text.find("KHR_texture_basisu") != std::string_view::npos;
  };
  append_model("sinew-model", glb);
  facts["beside"] = nlohmann::json::array();
  for (const PageRig& rig : options.beside) {
    facts["beside"].push_back(rig.name);
    append_model("sinew-model-" + std::to_string(facts["beside"].size()), rig.glb);
  }
  if (basis) {
    const auto append_bytes = [&](std::string_view id, std::string_view bytes) {
      std::string text;
      append_base64(text, std::as_bytes(std::span(bytes)));
      append_element(data, id, "text/plain", text);
    };
    append_bytes("sinew-basis", kBasisProgram);
    append_bytes("sinew-basis-wasm", kBasisWasm);
  }
  append_element(data, "sinew-data", "application/json", json_for_html(facts));

  std::string page = filled_page(kPageTemplate, data);
  // The transcoder makes functions from text of its own; only pages that carry it allow that.
  constexpr std::string_view kAllowed = "'wasm-unsafe-eval'";
  if (const std::size_t at = page.find(kAllowed); basis && at != std::string::npos) page.insert(at, "'unsafe-eval' ");
  return page;
}

}  // namespace sinew
