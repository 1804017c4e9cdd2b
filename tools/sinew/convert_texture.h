#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "sinew/core/rig.h"
#include "sinew/io/animation_texture.h"

namespace sinew::tool {

/// Options of an animation as a texture (.exr).
struct TextureRequest {
  AnimationTextureOptions options;
  std::string precision = "auto";
};

void add_texture_options(CLI::App& command, TextureRequest& request);

/// Whether this output is such a texture; the JSON that is written beside it.
bool is_texture(const std::filesystem::path& output);
std::filesystem::path layout_file(const std::filesystem::path& texture);

/// The texture and its JSON: both complete, or neither. What half floats cost goes to stderr.
void write_texture(const std::filesystem::path& output, const Rig& rig, TextureRequest request);

}  // namespace sinew::tool
