#pragma once

#include <Eigen/Geometry>
#include <cstdint>
#include <string>
#include <vector>

#include "make/implicit.h"
#include "sinew/core/rig.h"

/// The creature's skeleton, the flesh around it and how it moves.
namespace sinew::make {

/// Uniform numbers in [0, 1) that depend on the seed alone (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits();
  double uniform();
  double normal();
  double around(double value, double relative) { return value * (1 + relative * (2 * uniform() - 1)); }

 private:
  std::uint64_t state_;
};

struct Creature {
  std::vector<Bone> bones;
  Field flesh;
  std::vector<Eigen::Vector3d> eyes;  // centres, left and right
  double eye_radius = 0;
  std::vector<std::size_t> muscles;      // bones that swell when the next one bends
  std::vector<std::size_t> muscle_next;  // that next one
  std::vector<std::size_t> soft;         // bones whose flesh wobbles

  std::size_t bone(const std::string& name) const;
};

Creature make_creature(Random& random);

/// How the bones are turned in one frame: rotation vectors about their heads, in the axes of the rest pose, and where
/// the whole creature goes.
struct Attitude {
  std::vector<Eigen::Vector3d> turns;  // B
  Eigen::Vector3d move = Eigen::Vector3d::Zero();
};

Attitude walk(const Creature& creature, double phase);  // phase 0..1, a cycle
Attitude wave(const Creature& creature, double phase);  // phase 0..1, from rest to rest

/// Rest→posed transforms of all bones.
std::vector<Eigen::Affine3d> forward_kinematics(const Creature& creature, const Attitude& attitude);

}  // namespace sinew::make
