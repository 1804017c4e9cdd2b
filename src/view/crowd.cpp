#include "sinew/view/crowd.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sinew/core/error.h"
#include "view/crowd_data.h"
#include "view/page_parts.h"
#include "view/page_template.h"

namespace sinew {
namespace {

constexpr std::size_t kMostNumbered = 65536;  // bones and virtual bones of a character: they are numbered in 16 bits

void check(std::span<const CrowdCharacter> characters, const CrowdOptions& options) {
  if (characters.empty()) throw Error(ErrorKind::usage, "crowd: no rig was given");
  if (characters.size() > kMostCrowdLevels)
    throw Error(ErrorKind::usage,
                fmt::format("crowd: {} rigs, at most {} go into one page", characters.size(), kMostCrowdLevels));
  if (options.count < 1 || options.count > kMostInstances)
    throw Error(ErrorKind::usage, fmt::format("crowd: {} instances, expected 1 to {}", options.count, kMostInstances));
  if (!(options.max_error >= 0))
    throw Error(ErrorKind::usage, fmt::format("crowd: error {}: expected a number from 0", options.max_error));
  for (const CrowdCharacter& character : characters) {
    const auto refuse = [&](const std::string& sentence) {
      throw Error(ErrorKind::input, fmt::format("{}: {}", character.name, sentence));
    };
    if (character.levels.empty()) refuse("no rig");
    const Rig& finest = character.levels[0];
    for (const Rig& rig : character.levels) {
      rig.check();
      if (rig.frame_count() == 0) refuse("has no frames to play");
      if (rig.rest.face_count() == 0) refuse("has no faces to draw");
      if (rig.bone_count() != finest.bone_count() || rig.frame_count() != finest.frame_count())
        refuse("its levels differ in bones or frames");
    }
    const float scale = crowd::frame_of(finest).scale;
    if (!std::isfinite(scale) || !(scale > 0)) refuse("its rest pose has no extent, or none that a float holds");
    if (finest.bone_count() > kMostNumbered ||
        (finest.two_layer && finest.two_layer->virtual_bone_count() > kMostNumbered))
      refuse(fmt::format("more than {} bones or virtual bones", kMostNumbered));
  }
}

/// How many levels each character may have, so that all together are at most kMostCrowdLevels.
std::vector<std::size_t> shares(std::span<const CrowdCharacter> characters) {
  std::vector<std::size_t> out(characters.size(), 1);
  std::size_t left = kMostCrowdLevels - characters.size();
  for (bool more = true; more && left > 0;) {
    more = false;
    for (std::size_t i = 0; i < characters.size() && left > 0; ++i) {
      if (out[i] == characters[i].levels.size()) continue;
      ++out[i];
      --left;
      more = true;
    }
  }
  return out;
}

/// `count` of the levels, the finest and the coarsest among them.
std::vector<Rig> chosen_levels(const CrowdCharacter& character, std::size_t count) {
  const crowd::Frame frame = crowd::frame_of(character.levels[0]);
  std::vector<Rig> out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = count == 1 ? 0 : i * (character.levels.size() - 1) / (count - 1);
    out.push_back(crowd::framed(character.levels[at], frame));
  }
  return out;
}

/// What is said where something of a character is not played.
void note_what_is_left_out(const CrowdCharacter& character, std::size_t levels, CrowdReport& report) {
  if (levels < character.levels.size())
    report.notes.push_back(fmt::format("{}: {} of its {} levels of detail are in the page", character.name, levels,
                                       character.levels.size()));
  if (character.levels[0].corrections && character.levels[0].corrections->rank() > 0)
    report.notes.push_back(fmt::format("{}: a crowd is played without its corrections", character.name));
}

nlohmann::json motion_json(std::span<const float> texels, bool half, crowd::Arrays& arrays) {
  if (!half) return arrays.add(texels);
  std::vector<std::uint16_t> numbers;
  numbers.reserve(texels.size());
  for (const float value : texels) numbers.push_back(Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(value)));
  return arrays.add(numbers);
}

std::string refuse_size(double bytes, std::size_t most) {
  return fmt::format("crowd: the page would take {:.1f} MB, at most {:.1f} MB were asked for", bytes / 1e6,
                     static_cast<double>(most) / 1e6);
}

}  // namespace

std::string crowd_page(std::span<const CrowdCharacter> characters, const CrowdOptions& options, CrowdReport& report) {
  report = {};
  check(characters, options);
  // Transforms are the one part that a small file can make large: they are counted before they are copied.
  double least = 0;
  for (const CrowdCharacter& character : characters)
    least += 24.0 * static_cast<double>(character.levels[0].frame_count() * character.levels[0].bone_count());
  if (4.0 / 3 * least > static_cast<double>(options.max_bytes))
    throw Error(ErrorKind::usage, refuse_size(4.0 / 3 * least, options.max_bytes));

  crowd::Arrays arrays;
  nlohmann::json facts{{"name", options.name}, {"count", options.count}, {"most", kMostInstances}};
  std::vector<float> texels;  // of all characters
  double worst = 0;
  const std::vector<std::size_t> allowed = shares(characters);
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const CrowdCharacter& character = characters[i];
    const std::vector<Rig> levels = chosen_levels(character, allowed[i]);
    note_what_is_left_out(character, levels.size(), report);
    CrowdCharacterReport& said = report.characters.emplace_back();
    said.levels = levels.size();
    said.half_error = half_error_of_bones(levels[0]);
    worst = std::max(worst, said.half_error.max_percent);
    nlohmann::json one{{"name", character.name},
                       {"bones", levels[0].bone_count()},
                       {"firstTexel", texels.size() / 4},
                       {"clips", crowd::clips_json(levels)}};
    for (const Rig& level : levels) one["levels"].push_back(crowd::level_json(level, arrays));
    for (const auto& [method, unused] : one["levels"][0]["methods"].items()) said.methods.push_back(method);
    if (levels[0].two_layer) one["virtualBones"] = crowd::virtual_bones_json(*levels[0].two_layer, arrays);
    const std::vector<float> motion = crowd::texels_of_motion(levels[0]);
    said.bytes_of_motion = motion.size();  // numbers, until their size is known
    texels.insert(texels.end(), motion.begin(), motion.end());
    facts["characters"].push_back(std::move(one));
  }
  report.half = options.precision == TexelPrecision::half ||
                (options.precision == TexelPrecision::automatic && worst <= options.max_error);
  if (report.half && !std::isfinite(worst))
    throw Error(ErrorKind::usage, "crowd: transforms are larger than half floats hold (65504)");
  for (CrowdCharacterReport& said : report.characters) said.bytes_of_motion *= report.half ? 2 : 4;
  facts["half"] = report.half;
  facts["halfError"] = std::isfinite(worst) ? nlohmann::json(worst) : nlohmann::json();
  facts["motion"] = motion_json(texels, report.half, arrays);
  facts["notes"] = report.notes;

  const double bytes =
      static_cast<double>(kCrowdTemplate.size()) + 4.0 / 3 * static_cast<double>(arrays.bytes().size());
  if (bytes > static_cast<double>(options.max_bytes))
    throw Error(ErrorKind::usage, refuse_size(bytes, options.max_bytes));
  std::string encoded;
  append_base64(encoded, arrays.bytes());
  std::string data;
  append_element(data, "sinew-arrays", "text/plain", encoded);
  append_element(data, "sinew-crowd", "application/json", json_for_html(facts));
  return filled_page(kCrowdTemplate, data);
}

}  // namespace sinew
