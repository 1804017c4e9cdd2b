#include <nanobind/nanobind.h>

#include "model.h"
#include "sinew/core/sequence.h"
#include "sinew/make/character.h"

namespace sinew::python {
namespace nb = nanobind;

void bind_make(nb::module_& module) {
  module.def(
      "creature",
      [](int vertices, int walk_frames, int wave_frames, double bulge, double wobble, double noise, std::uint64_t seed,
         int threads) {
        CharacterOptions options;
        options.vertices = vertices;
        options.walk_frames = walk_frames;
        options.wave_frames = wave_frames;
        options.bulge = bulge;
        options.wobble = wobble;
        options.noise = noise;
        options.seed = seed;
        options.threads = threads;
        Character made;
        {
          const nb::gil_scoped_release released;
          made = make_character(options);
        }
        return nb::make_tuple(std::move(made.sequence), Model{std::move(made.truth), make_report(nb::dict())});
      },
      nb::sig("def creature(vertices: int = 6000, walk_frames: int = 32, wave_frames: int = 40, bulge: float = 0.2, "
              "wobble: float = 0.0, noise: float = 0.0005, seed: int = 1, threads: int = 0) -> tuple[Sequence, Rig]"),
      nb::arg("vertices") = 6000, nb::arg("walk_frames") = 32, nb::arg("wave_frames") = 40, nb::arg("bulge") = 0.2,
      nb::arg("wobble") = 0.0, nb::arg("noise") = 0.0005, nb::arg("seed") = 1, nb::arg("threads") = 0,
      R"(A generated four-legged creature that walks and waves, and the rig that made it: what `sinew demo` solves.

vertices                  about so many, 500 to 5000000.
walk_frames, wave_frames  of its two clips; 0: no such clip.
bulge, wobble, noise      what bones cannot follow: muscles, waves over the belly, and a deviation per coordinate in
                          its unit (it is about 2.3 long). All 0: the rig poses the frames exactly.
seed                      another is another creature.)");
}

}  // namespace sinew::python
