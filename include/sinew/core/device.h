#pragma once

#include <string_view>

namespace sinew {

/// Where a solver passes over the vertices.
struct Device {
  enum class Kind {
    automatic,  // a GPU where the build and the machine have one, else the processor
    cpu,
    cuda,  // the GPU of this number, or an error
  };
  Kind kind = Kind::automatic;
  int number = 0;
};

/// From text: auto, cpu, cuda or cuda:N. False where it is none of these.
bool set_device(std::string_view text, Device& device);

}  // namespace sinew
