#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "sinew/core/sequence.h"

namespace sinew {

/// What a viewer page shows beside the model.
struct PageOptions {
  std::string name;                    // title of the page
  const Sequence* original = nullptr;  // frames to compare with; vertices in the model's control-point order
  std::string report;                  // JSON text of a solve's report, for the plots; may be empty
  bool short_numbers = false;          // the frames in 16 bits a number: within 1e-5 of their bounding box
  std::size_t frame_step = 1;          // only every so many of them
};

/// True when the viewer was built in (Node was there at build time).
bool has_viewer();

/// One self-contained HTML page that plays a GLB: no request leaves it. Names and other strings from the file are data
/// to the page, never markup. Throws Error{usage} when the viewer was not built in.
std::string view_page(std::span<const std::byte> glb, const PageOptions& options);

}  // namespace sinew
