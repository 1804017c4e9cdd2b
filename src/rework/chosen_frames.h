#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "sinew/core/rig.h"

namespace sinew {

/// A few frames that stand for all: the rest pose, then always the frame that is least like those before.
struct ChosenFrames {
  std::vector<std::ptrdiff_t> numbers;   // ascending; -1 is the rest pose
  std::vector<double> weights;           // share of the frames that each stands for
  std::vector<Eigen::Vector3d> middles;  // mean of the vertices
};

/// At most `most` frames beside the rest pose.
ChosenFrames choose_frames(const Rig& rig, int most);

}  // namespace sinew
