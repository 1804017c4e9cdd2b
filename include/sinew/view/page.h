#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sinew/core/sequence.h"

namespace sinew {

/// A rig that is shown beside the first one.
struct PageRig {
  std::string name;
  std::span<const std::byte> glb;
};

/// What a viewer page shows beside the model.
struct PageOptions {
  std::string name;                    // title of the page
  const Sequence* original = nullptr;  // frames to compare with; vertices in the model's control-point order
  std::string report;                  // JSON text of a solve's report, for the plots; may be empty
  bool short_numbers = false;          // the frames in 16 bits a number: within 1e-5 of their bounding box
  std::size_t frame_step = 1;          // only every so many of them
  std::vector<PageRig> beside{};       // other rigs; each is played by itself
  std::size_t original_like = 0;       // 1 + the number of the rig beside that plays the frames of `original`
};

/// True when the viewer was built in (Node was there at build time).
bool has_viewer();

/// One self-contained HTML page that plays a GLB: no request leaves it. Names and other strings from the file are data
/// to the page, never markup. Throws Error{usage} when the viewer was not built in.
std::string view_page(std::span<const std::byte> glb, const PageOptions& options);

}  // namespace sinew
