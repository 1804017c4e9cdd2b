#include "known_rig.h"

#include <fmt/format.h>

#include "sinew/core/error.h"
#include "sinew/io/npz.h"

namespace sinew::tool {
namespace {

namespace fs = std::filesystem;

/// An exact model beside its sequence.
Rig read_arrays(const fs::path& folder, const Sequence& sequence) {
  const auto weights = read_npy<double>(folder / "truth_weights.npy");
  const auto transforms = read_npy<double>(folder / "truth_transforms.npy");
  const std::size_t V = sequence.vertex_count();
  const std::size_t F = sequence.frame_count();
  const std::size_t B = weights.shape.size() == 2 ? weights.shape[1] : 0;
  if (B == 0 || weights.shape[0] != V)
    throw Error(ErrorKind::input,
                fmt::format("{}: shape {}, expected {} x bones", (folder / "truth_weights.npy").string(),
                            fmt::join(weights.shape, " x "), V));
  if (transforms.shape != std::vector<std::size_t>{F, B, 3, 4})
    throw Error(ErrorKind::input,
                fmt::format("{}: shape {}, expected {} x {} x 3 x 4", (folder / "truth_transforms.npy").string(),
                            fmt::join(transforms.shape, " x "), F, B));
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Rig rig;
  rig.rest = sequence.rest;
  rig.weights = pack_weights(
      Eigen::Map<const RowMajor>(weights.values.data(), static_cast<Eigen::Index>(V), static_cast<Eigen::Index>(B)));
  rig.motion = Motion(F, B);
  rig.times = sequence.times;
  rig.clips = sequence.clips;
  for (std::size_t b = 0; b < B; ++b)
    rig.bones.push_back({fmt::format("bone_{}", b), -1, Vector3::Zero(), Vector3::Zero()});
  for (std::size_t f = 0; f < F; ++f)
    for (std::size_t b = 0; b < B; ++b)
      rig.motion(f, b) =
          Eigen::Map<const Eigen::Matrix<double, 3, 4, Eigen::RowMajor>>(transforms.values.data() + 12 * (f * B + b))
              .cast<float>();
  rig.check();
  return rig;
}

}  // namespace

Rig read_known_rig(const fs::path& path, const SequenceInputs& inputs, const Sequence& sequence) {
  if (fs::is_directory(path)) return read_arrays(path, sequence);
  const bool same = inputs.paths.size() == 1 && fs::weakly_canonical(inputs.paths[0]) == fs::weakly_canonical(path);
  return same ? read_chosen_rig(path, inputs) : read_rig_file(path);
}

}  // namespace sinew::tool
