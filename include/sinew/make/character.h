#pragma once

#include <cstdint>
#include <functional>

#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"

namespace sinew {

/// A creature to generate. Lengths are relative to the creature: it is about 2.3 long, 1.7 high, faces +Z, up is +Y.
struct CharacterOptions {
  int vertices = 6000;     // aimed at, 500..5000000; what comes out is within a few percent
  int walk_frames = 32;    // of the clip "walk", a cycle; 0: no such clip
  int wave_frames = 40;    // of the clip "wave"; 0: no such clip
  std::uint64_t seed = 1;  // of its proportions and of the noise
  int threads = 0;         // 0: all cores

  bool components = true;    // eyes and a collar: pieces of their own that follow one bone each
  bool static_part = false;  // a rock beside it that never moves, with a bone of its own

  // What linear blend skinning cannot follow; all 0: the frames are exactly those of the rig.
  double bulge = 0;   // muscles that swell when a joint bends, in radii of the limb
  double wobble = 0;  // waves that run over belly, ears and tail, amplitude in units
  double noise = 0;   // standard deviation per coordinate, in units
};

/// A generated character: what a solver sees, and what it should find.
struct Character {
  Sequence sequence;
  Rig truth;  // jointed, rigid, at most 4 influences; poses the frames exactly when bulge, wobble and noise are 0
};

/// Makes a four-legged creature: an implicit surface of blended round cones around a branching skeleton, cut into
/// quads, skinned with weights that fall off smoothly along the surface, walking and waving.
/// The same options give the same bits for any thread count. Throws Error{usage} for options out of range.
Character make_character(const CharacterOptions& options = {});

/// Receives the positions of one frame after another.
using FrameSink = std::function<void(const Character& character, std::size_t frame, const Points& positions)>;

/// The same creature for any number of frames: they are handed out one by one, and the sequence has its rest mesh,
/// times and clips alone.
Character make_character(const CharacterOptions& options, const FrameSink& sink);

}  // namespace sinew
