#include "make/creature.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sinew::make {
namespace {

using Eigen::Vector3d;

constexpr double kTurn = 2 * std::numbers::pi;

/// Builds bones and flesh together; left is +X, the creature faces +Z.
class Builder {
 public:
  Builder(Creature& creature, Random& random) : creature_(creature), random_(random) {}

  std::size_t bone(const std::string& name, int parent, const Vector3d& head, const Vector3d& tail, double r0,
                   double r1) {
    creature_.bones.push_back({name, parent, head.cast<float>(), tail.cast<float>()});
    const std::size_t b = creature_.bones.size() - 1;
    flesh(b, head, tail, r0, r1);
    return b;
  }

  void flesh(std::size_t b, const Vector3d& from, const Vector3d& to, double r0, double r1) {
    creature_.flesh.cones.push_back({b, from, to, random_.around(r0, 0.05), random_.around(r1, 0.05)});
  }

  void body();
  void head();
  void ears();
  void tail();
  void leg(const std::string& name, std::size_t parent, double side, bool front);

 private:
  static int index(std::size_t b) { return static_cast<int>(b); }

  Creature& creature_;
  Random& random_;
  std::size_t hips_ = 0;
  std::size_t chest_ = 0;
  std::size_t neck_ = 0;
  std::size_t head_ = 0;
};

void Builder::body() {
  hips_ = bone("hips", -1, {0, 0.80, -0.50}, {0, 0.81, -0.22}, 0.215, 0.215);
  const std::size_t spine = bone("spine", index(hips_), {0, 0.81, -0.22}, {0, 0.80, 0.08}, 0.20, 0.225);
  flesh(spine, {0, 0.73, -0.15}, {0, 0.71, 0.12}, 0.19, 0.21);  // belly
  chest_ = bone("chest", index(spine), {0, 0.80, 0.08}, {0, 0.86, 0.38}, 0.225, 0.20);
  flesh(chest_, {0, 0.70, 0.20}, {0, 0.72, 0.36}, 0.19, 0.17);  // breast
  const std::size_t low_neck = bone("neck_1", index(chest_), {0, 0.92, 0.42}, {0, 1.08, 0.56}, 0.17, 0.13);
  neck_ = bone("neck_2", index(low_neck), {0, 1.08, 0.56}, {0, 1.22, 0.66}, 0.13, 0.125);
  creature_.soft = {spine};
  for (const double side : {1.0, -1.0}) {
    const std::string name = side > 0 ? "left" : "right";
    leg("front_" + name, chest_, side, true);
    leg("hind_" + name, hips_, side, false);
  }
}

void Builder::head() {
  head_ = bone("head", index(neck_), {0, 1.25, 0.68}, {0, 1.34, 0.84}, 0.165, 0.17);
  for (const double side : {1.0, -1.0}) {
    flesh(head_, {side * 0.07, 1.26, 0.84}, {side * 0.05, 1.22, 0.95}, 0.10, 0.08);     // cheek
    flesh(head_, {side * 0.08, 1.43, 0.86}, {side * 0.09, 1.425, 0.905}, 0.05, 0.045);  // brow
    creature_.eyes.push_back({side * 0.115, 1.375, 0.955});
  }
  creature_.eye_radius = 0.048;
  flesh(head_, {0, 1.26, 0.90}, {0, 1.215, 1.13}, 0.105, 0.078);  // snout
  flesh(head_, {0, 1.25, 1.15}, {0, 1.262, 1.17}, 0.048, 0.040);  // nose
  bone("jaw", index(head_), {0, 1.17, 0.84}, {0, 1.115, 1.06}, 0.07, 0.048);
}

void Builder::ears() {
  // One ear stands, the other flops: a creature is not its mirror image.
  const double stand = random_.around(0.26, 0.15);
  const Vector3d left(0.10, 1.44, 0.74);
  const Vector3d left_mid = left + Vector3d(0.07, 0.55 * stand, -0.03);
  const std::size_t left_ear = bone("ear_left_1", index(head_), left, left_mid, 0.062, 0.058);
  const std::size_t left_tip =
      bone("ear_left_2", index(left_ear), left_mid, left_mid + Vector3d(0.04, 0.55 * stand, -0.03), 0.058, 0.028);
  const Vector3d right(-0.11, 1.43, 0.74);
  const Vector3d right_mid = right + Vector3d(-0.13, 0.09, 0.0);
  const std::size_t right_ear = bone("ear_right_1", index(head_), right, right_mid, 0.062, 0.058);
  const std::size_t right_tip =
      bone("ear_right_2", index(right_ear), right_mid, right_mid + Vector3d(-0.08, -0.16, 0.03), 0.058, 0.036);
  creature_.soft.insert(creature_.soft.end(), {left_ear, left_tip, right_ear, right_tip});
}

void Builder::tail() {
  const double curl = random_.around(0.06, 0.5);
  const std::vector<Vector3d> joints{{0, 0.86, -0.62},
                                     {0.2 * curl, 0.93, -0.84},
                                     {0.8 * curl, 1.08, -1.00},
                                     {1.8 * curl, 1.28, -1.05},
                                     {2.8 * curl, 1.45, -0.98}};
  const std::vector<double> radii{0.095, 0.075, 0.070, 0.085, 0.045};
  int parent = index(hips_);
  for (std::size_t i = 0; i + 1 < joints.size(); ++i) {
    const std::size_t b =
        bone("tail_" + std::to_string(i + 1), parent, joints[i], joints[i + 1], radii[i], radii[i + 1]);
    parent = index(b);
    creature_.soft.push_back(b);
  }
}

void Builder::leg(const std::string& name, std::size_t parent, double side, bool front) {
  const double x = side * random_.around(0.165, 0.04);
  const double z = random_.around(0.02, 0.5) * side;  // no foot stands exactly beside the other
  const Vector3d top = front ? Vector3d(x * 0.9, 0.70, 0.33 + z) : Vector3d(x * 0.9, 0.70, -0.47 + z);
  const Vector3d knee = front ? Vector3d(x * 1.05, 0.42, 0.28 + z) : Vector3d(x * 1.08, 0.44, -0.36 + z);
  const Vector3d ankle = front ? Vector3d(x, 0.15, 0.31 + z) : Vector3d(x, 0.19, -0.52 + z);
  const Vector3d toe = front ? Vector3d(x, 0.065, 0.41 + z) : Vector3d(x, 0.065, -0.42 + z);
  const std::size_t upper =
      bone(name + "_upper", index(parent), top, knee, front ? 0.14 : 0.175, front ? 0.085 : 0.092);
  const std::size_t lower = bone(name + "_lower", index(upper), knee, ankle, front ? 0.082 : 0.085, 0.064);
  const std::size_t foot = bone(name + "_foot", index(lower), ankle, toe, 0.068, 0.07);
  flesh(foot, toe, toe + Vector3d(0, 0, 0.03), 0.07, 0.062);
  creature_.muscles.push_back(upper);
  creature_.muscle_next.push_back(lower);
}

Attitude at_rest(const Creature& creature) {
  return {std::vector<Vector3d>(creature.bones.size(), Vector3d::Zero()), Vector3d::Zero()};
}

/// One leg of a walk; positive angles about X swing a hanging limb back.
void step(const Creature& creature, Attitude& out, const std::string& leg, double phase, bool front) {
  const double swing = std::sin(kTurn * phase);
  const double lift = std::max(0.0, std::cos(kTurn * phase + 0.5));  // while the leg comes forward
  out.turns[creature.bone(leg + "_upper")].x() = -0.42 * swing - (front ? 0.15 : 0.35) * lift;
  out.turns[creature.bone(leg + "_lower")].x() = front ? 0.10 * swing - 0.75 * lift : 0.12 * swing + 0.85 * lift;
  out.turns[creature.bone(leg + "_foot")].x() = front ? 0.30 * swing + 1.0 * lift : 0.30 * swing - 0.45 * lift;
}

}  // namespace

std::uint64_t Random::bits() {
  state_ += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state_;
  z = (z ^ z >> 30U) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ z >> 27U) * 0x94D049BB133111EBULL;
  return z ^ z >> 31U;
}

double Random::uniform() {
  return static_cast<double>(bits() >> 11U) * 0x1.0p-53;
}

double Random::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(kTurn * uniform());
}

std::size_t Creature::bone(const std::string& name) const {
  const auto found = std::find_if(bones.begin(), bones.end(), [&](const Bone& b) { return b.name == name; });
  return static_cast<std::size_t>(found - bones.begin());
}

Creature make_creature(Random& random) {
  Creature creature;
  Builder builder(creature, random);
  builder.body();
  builder.head();
  builder.ears();
  builder.tail();
  creature.flesh.blend = 0.028;
  return creature;
}

Attitude walk(const Creature& creature, double phase) {
  Attitude out = at_rest(creature);
  step(creature, out, "front_left", phase, true);
  step(creature, out, "hind_right", phase + 0.06, false);
  step(creature, out, "front_right", phase + 0.5, true);
  step(creature, out, "hind_left", phase + 0.56, false);
  const double once = std::sin(kTurn * phase);
  const double twice = std::sin(2 * kTurn * phase);
  out.move = {0.012 * once, -0.025 - 0.022 * std::cos(2 * kTurn * phase), 0};
  out.turns[creature.bone("hips")] = {0.03 * twice, 0.05 * once, 0.05 * once};
  out.turns[creature.bone("spine")] = {0, -0.05 * once, -0.04 * once};
  out.turns[creature.bone("chest")] = {-0.03 * twice, -0.05 * once, -0.03 * once};
  out.turns[creature.bone("neck_1")] = {0.06 * twice + 0.04, 0.04 * once, 0};
  out.turns[creature.bone("neck_2")] = {-0.08 * twice, 0.05 * once, 0.03 * once};
  out.turns[creature.bone("head")] = {0.07 * std::sin(2 * kTurn * phase - 0.6), 0.05 * once, 0};
  out.turns[creature.bone("jaw")].x() = 0.12 + 0.10 * twice;
  out.turns[creature.bone("ear_left_1")].x() = 0.15 * std::sin(2 * kTurn * phase - 1.0);
  out.turns[creature.bone("ear_left_2")].x() = 0.28 * std::sin(2 * kTurn * phase - 1.8);
  out.turns[creature.bone("ear_right_1")].z() = 0.18 * std::sin(2 * kTurn * phase - 1.2);
  out.turns[creature.bone("ear_right_2")].z() = 0.30 * std::sin(2 * kTurn * phase - 2.0);
  for (int i = 1; i <= 4; ++i)
    out.turns[creature.bone("tail_" + std::to_string(i))] = {0.06 * std::sin(2 * kTurn * phase - 0.4 * i),
                                                             0.20 * std::sin(kTurn * phase - 0.7 * i), 0.04 * once};
  return out;
}

Attitude wave(const Creature& creature, double phase) {
  Attitude out = at_rest(creature);
  // Up within the first fifth, down within the last.
  const double up = std::clamp(5 * phase, 0.0, 1.0) * std::clamp(5 * (1 - phase), 0.0, 1.0);
  const double ease = up * up * (3 - 2 * up);
  const double shake = ease * std::sin(3 * kTurn * phase);
  out.move = {0.03 * ease, -0.03 * ease, -0.04 * ease};
  out.turns[creature.bone("hips")] = {-0.14 * ease, 0.06 * ease, 0.05 * ease};
  for (const char* leg : {"hind_left", "hind_right"}) {
    out.turns[creature.bone(std::string(leg) + "_upper")] = {-0.10 * ease, 0, -0.05 * ease};
    out.turns[creature.bone(std::string(leg) + "_lower")].x() = 0.34 * ease;
    out.turns[creature.bone(std::string(leg) + "_foot")].x() = -0.10 * ease;
  }
  out.turns[creature.bone("front_left_upper")] = {0.16 * ease, 0, -0.06 * ease};
  out.turns[creature.bone("front_right_upper")] = {-1.25 * ease, 0.10 * shake, -0.25 * ease};
  out.turns[creature.bone("front_right_lower")] = {-0.75 * ease, 0.15 * shake, -0.45 * shake};
  out.turns[creature.bone("front_right_foot")] = {-0.35 * ease, 0, -0.50 * ease * std::sin(3 * kTurn * phase - 0.8)};
  out.turns[creature.bone("spine")] = {-0.05 * ease, 0, 0.04 * ease};
  out.turns[creature.bone("chest")] = {-0.05 * ease, -0.08 * ease, 0.04 * ease};
  out.turns[creature.bone("neck_1")] = {0.10 * ease, -0.12 * ease, 0.05 * shake};
  out.turns[creature.bone("neck_2")] = {0.05 * ease, -0.12 * ease, 0.12 * ease};
  out.turns[creature.bone("head")] = {0.06 * shake, -0.15 * ease, 0.20 * ease + 0.06 * shake};
  out.turns[creature.bone("jaw")].x() = 0.30 * ease * (0.6 + 0.4 * std::sin(4 * kTurn * phase));
  out.turns[creature.bone("ear_left_1")] = {0, 0, -0.25 * ease - 0.10 * shake};
  out.turns[creature.bone("ear_left_2")] = {0.20 * shake, 0, -0.25 * ease};
  out.turns[creature.bone("ear_right_1")] = {0, 0, -0.35 * ease};
  out.turns[creature.bone("ear_right_2")] = {0.15 * shake, 0, -0.20 * shake};
  for (int i = 1; i <= 4; ++i)
    out.turns[creature.bone("tail_" + std::to_string(i))] = {
        -0.05 * ease, 0.30 * ease * std::sin(5 * kTurn * phase - 0.6 * i), 0.05 * shake};
  return out;
}

std::vector<Eigen::Affine3d> forward_kinematics(const Creature& creature, const Attitude& attitude) {
  std::vector<Eigen::Affine3d> out(creature.bones.size());
  for (std::size_t b = 0; b < creature.bones.size(); ++b) {
    const Bone& bone = creature.bones[b];
    const Vector3d head = bone.head.cast<double>();
    const double angle = attitude.turns[b].norm();
    Eigen::Affine3d local = Eigen::Affine3d::Identity();
    if (angle > 0) local.linear() = Eigen::AngleAxisd(angle, attitude.turns[b] / angle).toRotationMatrix();
    local.translation() = head - local.linear() * head;
    if (bone.parent >= 0)
      out[b] = out[static_cast<std::size_t>(bone.parent)] * local;
    else
      out[b] = Eigen::Translation3d(attitude.move) * local;
  }
  return out;
}

}  // namespace sinew::make
