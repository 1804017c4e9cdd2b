#include "convert_texture.h"

#include <fmt/format.h>

#include <cmath>

#include "report.h"
#include "sinew/io/io.h"
#include "sinew/io/output_file.h"
#include "text_options.h"

namespace sinew::tool {

void add_texture_options(CLI::App& command, TextureRequest& request) {
  command.add_flag("--positions", request.options.positions,
                   ".exr: positions and normals of vertices instead of bones");
  command.add_option("--precision", request.precision, ".exr: half or float; auto: half where that is enough")
      ->check(word_of({"auto", "half", "float"}))
      ->capture_default_str();
  command
      .add_option("--max-error", request.options.max_error,
                  ".exr, auto: how far half floats may move a vertex, in % of the diagonal")
      ->check(not_negative)
      ->capture_default_str();
  command.add_option("--max-width", request.options.max_width, ".exr: texels in a row at most")
      ->check(in_range(1, 65536))
      ->capture_default_str();
}

bool is_texture(const std::filesystem::path& output) {
  return lower_extension(output) == ".exr";
}

std::filesystem::path layout_file(const std::filesystem::path& texture) {
  std::filesystem::path out = texture;
  return out.replace_extension(".json");
}

void write_texture(const std::filesystem::path& output, const Rig& rig, TextureRequest request) {
  request.options.precision = texel_precision(request.precision);
  const AnimationTexture texture = animation_texture(rig, request.options);
  const std::vector<std::byte> bytes = exr_bytes(texture.image);
  OutputFile image(output);
  OutputFile layout(layout_file(output));
  image.write(bytes);
  layout.write(texture.layout + "\n");
  image.commit();
  layout.commit();
  const auto number = [](double x) { return std::isfinite(x) ? short_number(x) + " %" : std::string("too far"); };
  fmt::print(stderr, "{} x {} texels of {} bits a number; half floats move vertices by {} (RMS {}) of the diagonal\n",
             texture.image.width, texture.image.height, texture.image.half ? 16 : 32,
             number(texture.half_error.max_percent), number(texture.half_error.rms_percent));
}

}  // namespace sinew::tool
