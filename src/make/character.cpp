#include "sinew/make/character.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/index.h"
#include "make/creature.h"
#include "make/implicit.h"
#include "math/parallel.h"
#include "sinew/core/error.h"

namespace sinew {
namespace {

using Eigen::Vector3d;
using make::Creature;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr int kInfluences = 4;
constexpr double kFalloff = 0.05;  // standard deviation of the weights' smoothing along the surface, in units

struct Surface {
  Mesh mesh;
  RowMatrix weights;  // V×B
};

// --- Weights of the body: the nearest bone's, smoothed along the surface.

RowMatrix body_weights(const Creature& creature, const make::QuadMesh& body, int threads) {
  const Eigen::Index vertices = body.positions.cols();
  const auto bones = index(creature.bones.size());
  RowMatrix W = RowMatrix::Zero(vertices, bones);
  for (Eigen::Index v = 0; v < vertices; ++v) {
    std::size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const make::RoundCone& cone : creature.flesh.cones) {
      const double d = make::distance_to(cone, body.positions.col(v));
      if (d >= least) continue;
      least = d;
      nearest = cone.bone;
    }
    W(v, index(nearest)) = 1;
  }
  const Adjacency neighbours = make::quad_neighbours(body);
  double edges = 0;
  double squares = 0;
  for (std::size_t v = 0; v < neighbours.vertex_count(); ++v)
    for (const Index n : neighbours[v]) {
      edges += 1;
      squares += (body.positions.col(index(v)) - body.positions.col(n)).squaredNorm();
    }
  // A round of averaging half with the neighbours adds a quarter of an edge length squared to the variance per axis.
  const int rounds = std::max(1, static_cast<int>(std::lround(kFalloff * kFalloff / (0.25 * squares / edges))));
  RowMatrix next(vertices, bones);
  for (int round = 0; round < rounds; ++round) {
    parallel_for(neighbours.vertex_count(), 256, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) {
        const auto row = index(v);
        next.row(row) = W.row(row) * static_cast<double>(neighbours[v].size());
        for (const Index n : neighbours[v]) next.row(row) += W.row(n);
        next.row(row) /= 2 * static_cast<double>(neighbours[v].size());
      }
    });
    W.swap(next);
  }
  return W;
}

// --- Pieces.

enum MaterialNumber { hide = 0, eye = 1, leather = 2, stone = 3 };

std::vector<Material> materials() {
  const auto plain = [](const char* name, const char* color, double roughness) {
    return Material{name, fmt::format(R"({{"name":"{}","pbrMetallicRoughness":{{"baseColorFactor":{},)"
                                      R"("metallicFactor":0,"roughnessFactor":{}}}}})",
                                      name, color, roughness)};
  };
  return {plain("hide", "[1,1,1,1]", 0.85), plain("eye", "[0.02,0.02,0.03,1]", 0.15),
          plain("leather", "[0.55,0.05,0.04,1]", 0.5), plain("stone", "[0.35,0.34,0.33,1]", 0.95)};
}

/// Adds quads and triangles as a piece that follows one bone (or has weights of its own).
void add_piece(Surface& surface, const std::string& name, const Eigen::Matrix3Xd& points,
               const std::vector<std::vector<Index>>& faces, int material, const RowMatrix& weights) {
  Mesh& mesh = surface.mesh;
  const auto first = static_cast<Index>(mesh.vertex_count());
  mesh.pieces.push_back({name, first, static_cast<Index>(points.cols()), static_cast<Index>(mesh.face_count()),
                         static_cast<Index>(faces.size())});
  mesh.positions.conservativeResize(3, first + points.cols());
  mesh.positions.rightCols(points.cols()) = points.cast<float>();
  for (const std::vector<Index>& face : faces) {
    mesh.face_sizes.push_back(static_cast<Index>(face.size()));
    for (const Index v : face) mesh.corners.push_back(first + v);
    mesh.face_materials.push_back(material);
  }
  surface.weights.conservativeResize(first + points.cols(), weights.cols());
  surface.weights.bottomRows(points.cols()) = weights;
}

RowMatrix follow(std::size_t bone, Eigen::Index vertices, std::size_t bones) {
  RowMatrix W = RowMatrix::Zero(vertices, index(bones));
  W.col(index(bone)).setOnes();
  return W;
}

/// A ball of rings×(2·rings) faces, squeezed and turned by `shape`.
void add_ball(Surface& surface, const std::string& name, const Vector3d& center, const Eigen::Matrix3d& shape,
              Index rings, int material, std::size_t bone, std::size_t bones) {
  const Index around = 2 * rings;
  Eigen::Matrix3Xd points(3, (rings - 1) * around + 2);
  std::vector<std::vector<Index>> faces;
  points.col(0) = center + shape * Vector3d::UnitY();
  points.col(points.cols() - 1) = center - shape * Vector3d::UnitY();
  const auto last = static_cast<Index>(points.cols() - 1);
  for (Index r = 1; r < rings; ++r)
    for (Index i = 0; i < around; ++i) {
      const double polar = std::numbers::pi * r / rings;
      const double turn = 2 * std::numbers::pi * i / around;
      points.col(1 + (r - 1) * around + i) =
          center +
          shape * Vector3d(std::sin(polar) * std::cos(turn), std::cos(polar), std::sin(polar) * std::sin(turn));
    }
  for (Index i = 0; i < around; ++i) {
    const Index next = (i + 1) % around;
    faces.push_back({0, 1 + next, 1 + i});
    for (Index r = 1; r + 1 < rings; ++r) {
      const Index row = 1 + (r - 1) * around;
      faces.push_back({row + i, row + next, row + around + next, row + around + i});
    }
    faces.push_back({last, last - around + i, last - around + next});
  }
  add_piece(surface, name, points, faces, material, follow(bone, points.cols(), bones));
}

/// A ring around the neck, as wide as the flesh there.
void add_collar(Surface& surface, const Creature& creature) {
  constexpr Index kAround = 28;
  constexpr Index kTube = 8;
  const std::size_t bone = creature.bone("neck_1");
  const Vector3d head = creature.bones[bone].head.cast<double>();
  const Vector3d axis = (creature.bones[bone].tail.cast<double>() - head).normalized();
  const Vector3d center = head + 0.62 * (creature.bones[bone].tail.cast<double>() - head);
  const Vector3d u = axis.unitOrthogonal();
  const Vector3d w = axis.cross(u);
  Eigen::Matrix3Xd points(3, kAround * kTube);
  std::vector<std::vector<Index>> faces;
  for (Index i = 0; i < kAround; ++i) {
    const double turn = 2 * std::numbers::pi * i / kAround;
    const Vector3d out = std::cos(turn) * u + std::sin(turn) * w;
    double radius = 0;
    while (radius < 0.5 && creature.flesh(center + radius * out) < 0) radius += 0.002;
    for (Index j = 0; j < kTube; ++j) {
      const double tube = 2 * std::numbers::pi * j / kTube;
      points.col(i * kTube + j) =
          center + (radius + 0.004 + 0.018 * std::cos(tube)) * out + 0.032 * std::sin(tube) * axis;
      const Index next_i = (i + 1) % kAround;
      const Index next_j = (j + 1) % kTube;
      faces.push_back({i * kTube + j, next_i * kTube + j, next_i * kTube + next_j, i * kTube + next_j});
    }
  }
  add_piece(surface, "collar", points, faces, leather, follow(bone, points.cols(), creature.bones.size()));
}

void add_components(Surface& surface, const Creature& creature) {
  const std::size_t head = creature.bone("head");
  const char* const names[] = {"eye_left", "eye_right"};
  for (std::size_t i = 0; i < 2; ++i)
    add_ball(surface, names[i], creature.eyes[i], creature.eye_radius * Eigen::Matrix3d::Identity(), 8, eye, head,
             creature.bones.size());
  add_collar(surface, creature);
}

/// Light belly and muzzle, dark back with seeded spots, dark feet: one colour per vertex, white outside the body.
void paint(Mesh& mesh, std::size_t body, make::Random& random) {
  Eigen::Matrix3Xd spots(3, 14);
  for (Eigen::Index i = 0; i < spots.cols(); ++i)
    spots.col(i) =
        Vector3d(0.5 * (random.uniform() - 0.5), 0.75 + 0.4 * random.uniform(), -0.7 + 1.3 * random.uniform());
  CornerAttribute<4> colors;
  colors.name = "COLOR_0";
  for (std::size_t v = 0; v < mesh.vertex_count(); ++v) {
    const Vector3d p = mesh.positions.col(index(v)).cast<double>();
    Vector3d color = Vector3d::Ones();
    if (v < body) {
      const double back = 1 / (1 + std::exp(-(p.y() - 0.72 + 0.25 * std::max(0.0, p.z() - 0.6)) / 0.05));
      color = (1 - back) * Vector3d(0.80, 0.62, 0.42) + back * Vector3d(0.50, 0.22, 0.08);
      const double spot = (spots.colwise() - p).colwise().norm().minCoeff();
      color *= 1 - 0.45 / (1 + std::exp((spot - 0.085) / 0.012)) * back;
      color *= 1 - 0.75 / (1 + std::exp((p.y() - 0.15) / 0.02));
      if ((p - Vector3d(0, 1.26, 1.18)).norm() < 0.065) color = Vector3d(0.03, 0.02, 0.02);
    }
    for (const double channel : {color.x(), color.y(), color.z(), 1.0})
      colors.values.push_back(static_cast<float>(channel));
  }
  colors.indices = mesh.corners;
  mesh.color_sets.push_back(std::move(colors));
}

Surface make_surface(Creature& creature, const CharacterOptions& options, make::Random& random) {
  constexpr int kComponentVertices = 2 * (7 * 16 + 2) + 28 * 8;
  if (options.static_part) creature.bones.push_back({"ground", -1, {-0.75F, 0, 0.1F}, {-0.75F, 0.3F, 0.1F}});
  const int wanted = std::max(200, options.vertices - (options.components ? kComponentVertices : 0));
  const make::QuadMesh body =
      make::polygonise_to_count(creature.flesh, static_cast<std::size_t>(wanted), options.threads);
  Surface surface;
  std::vector<std::vector<Index>> faces;
  for (std::size_t q = 0; q < body.quads.size(); q += 4)
    faces.push_back(
        {body.quads.begin() + static_cast<std::ptrdiff_t>(q), body.quads.begin() + static_cast<std::ptrdiff_t>(q + 4)});
  add_piece(surface, "body", body.positions, faces, hide, body_weights(creature, body, options.threads));
  if (options.components) add_components(surface, creature);
  if (options.static_part) {
    Eigen::Matrix3d shape = Eigen::Vector3d(0.22, 0.16, 0.28).asDiagonal();
    shape(0, 1) = 0.05;
    add_ball(surface, "rock", {-0.75, 0.12, 0.1}, shape, 10, stone, creature.bones.size() - 1, creature.bones.size());
  }
  surface.mesh.appearance.materials = materials();
  paint(surface.mesh, static_cast<std::size_t>(body.positions.cols()), random);
  return surface;
}

// --- Motion.

struct Clips {
  std::vector<make::Attitude> attitudes;  // F
  std::vector<double> times;
  std::vector<Clip> clips;
};

Clips make_clips(const Creature& creature, const CharacterOptions& options) {
  Clips out;
  const auto add = [&](const char* name, int frames, auto attitude, int steps) {
    if (frames == 0) return;
    out.clips.push_back({name, out.attitudes.size(), static_cast<std::size_t>(frames)});
    for (int f = 0; f < frames; ++f) {
      make::Attitude frame = attitude(creature, static_cast<double>(f) / std::max(1, steps));
      frame.turns.resize(creature.bones.size(), Vector3d::Zero());
      out.attitudes.push_back(std::move(frame));
      out.times.push_back(f * kDefaultSecondsPerFrame);
    }
  };
  add("walk", options.walk_frames, make::walk, options.walk_frames);
  add("wave", options.wave_frames, make::wave, options.wave_frames - 1);
  return out;
}

Rig make_truth(const Creature& creature, Surface surface, const Clips& clips) {
  Rig rig;
  rig.weights = pack_weights(surface.weights, kInfluences);
  rig.rest = std::move(surface.mesh);
  rig.bones = creature.bones;
  rig.motion = Motion(clips.attitudes.size(), creature.bones.size());
  for (std::size_t f = 0; f < clips.attitudes.size(); ++f) {
    const std::vector<Eigen::Affine3d> T = make::forward_kinematics(creature, clips.attitudes[f]);
    for (std::size_t b = 0; b < T.size(); ++b) {
      if (creature.bones[b].name == "ground") continue;  // never moves
      rig.motion(f, b) = T[b].matrix().topRows<3>().cast<float>();
    }
  }
  rig.times = clips.times;
  rig.clips = clips.clips;
  rig.transforms = Transforms::rigid;
  rig.jointed = true;
  return rig;
}

// --- What linear blend skinning cannot follow.

Eigen::Matrix3Xd vertex_normals(const Mesh& mesh) {
  Eigen::Matrix3Xd normals = Eigen::Matrix3Xd::Zero(3, mesh.positions.cols());
  const std::vector<Index> triangles = triangles_of(mesh);
  for (std::size_t t = 0; t < triangles.size(); t += 3) {
    const Vector3d a = mesh.positions.col(triangles[t]).cast<double>();
    const Vector3d n = (mesh.positions.col(triangles[t + 1]).cast<double>() - a)
                           .cross(mesh.positions.col(triangles[t + 2]).cast<double>() - a);
    for (std::size_t i = t; i < t + 3; ++i) normals.col(triangles[i]) += n;
  }
  normals.colwise().normalize();
  return normals;
}

/// Offsets of the rest pose in one frame: muscles along their normals, waves along Y.
class Flesh {
 public:
  Flesh(const Creature& creature, const Rig& rig, const CharacterOptions& options)
      : creature_(creature), options_(options), normals_(vertex_normals(rig.rest)) {
    const auto W = unpack_weights(rig.weights, rig.bone_count());
    swell_ = Eigen::MatrixXd::Zero(normals_.cols(), index(creature.muscles.size()));
    soft_ = Eigen::VectorXd::Zero(normals_.cols());
    phase_ = Eigen::VectorXd::Zero(normals_.cols());
    for (Eigen::Index v = 0; v < normals_.cols(); ++v) {
      const Vector3d p = rig.rest.positions.col(v).cast<double>();
      for (std::size_t m = 0; m < creature.muscles.size(); ++m) {
        const Bone& bone = creature.bones[creature.muscles[m]];
        const Vector3d along = (bone.tail - bone.head).cast<double>();
        const double s = std::clamp((p - bone.head.cast<double>()).dot(along) / along.squaredNorm(), 0.0, 1.0);
        const double bump = std::sin(std::numbers::pi * s);
        swell_(v, index(m)) = kMuscleRadius * bump * bump * W(v, index(creature.muscles[m]));
      }
      for (const std::size_t b : creature.soft) soft_[v] += W(v, index(b));
      phase_[v] = 9 * p.z() + 5 * p.x();
    }
  }

  Vector3d offset(Eigen::Index v, const make::Attitude& attitude, double seconds) const {
    double along_normal = 0;
    for (std::size_t m = 0; m < creature_.muscles.size(); ++m)
      along_normal += swell_(v, index(m)) * attitude.turns[creature_.muscle_next[m]].norm();
    const double wave = soft_[v] * std::sin(2 * std::numbers::pi * 2.5 * seconds - phase_[v]);
    return options_.bulge * along_normal * normals_.col(v) + options_.wobble * wave * Vector3d(0.3, 0.9, 0.2);
  }

 private:
  static constexpr double kMuscleRadius = 0.1;

  const Creature& creature_;
  const CharacterOptions& options_;
  Eigen::Matrix3Xd normals_;
  Eigen::MatrixXd swell_;  // V×muscles
  Eigen::VectorXd soft_;   // V
  Eigen::VectorXd phase_;  // V
};

/// The positions of a frame.
void make_frame(const Rig& rig, const Flesh& flesh, const Clips& clips, std::size_t f, const CharacterOptions& options,
                Eigen::Ref<Points> frame) {
  const bool bends = options.bulge != 0 || options.wobble != 0;
  const auto slots = static_cast<std::size_t>(rig.weights.influences);
  pose(rig, f, frame);
  make::Random random(options.seed * 1000003 + f);
  for (std::size_t v = 0; v < rig.vertex_count(); ++v) {
    const auto column = index(v);
    Vector3d extra = Vector3d::Zero();
    if (bends) {
      Eigen::Matrix3d A = Eigen::Matrix3d::Zero();
      for (std::size_t k = v * slots; k < (v + 1) * slots; ++k)
        A += static_cast<double>(rig.weights.values[k]) *
             rig.motion(f, rig.weights.bones[k]).leftCols<3>().cast<double>();
      extra = A * flesh.offset(column, clips.attitudes[f], clips.times[f]);
    }
    if (options.noise > 0)
      for (Eigen::Index i = 0; i < 3; ++i) extra[i] += options.noise * random.normal();
    if (bends || options.noise > 0) frame.col(column) = (frame.col(column).cast<double>() + extra).cast<float>();
  }
}

/// A creature without frames.
struct Still {
  Creature creature;
  Clips clips;
  Character character;
};

void check_options(const CharacterOptions& options) {
  const auto refuse = [](const std::string& sentence) { throw Error(ErrorKind::usage, "character: " + sentence); };
  if (options.vertices < 500 || options.vertices > 5000000)
    refuse(fmt::format("{} vertices, expected 500 to 5000000", options.vertices));
  if (options.walk_frames < 0 || options.wave_frames < 0 || options.walk_frames + options.wave_frames == 0)
    refuse(fmt::format("{} frames of walking and {} of waving", options.walk_frames, options.wave_frames));
  for (const double value : {options.bulge, options.wobble, options.noise})
    if (!(value >= 0) || !std::isfinite(value)) refuse(fmt::format("a deformation of {}, expected >= 0", value));
}

Still make_still(const CharacterOptions& options) {
  check_options(options);
  make::Random random(options.seed);
  Still out;
  out.creature = make::make_creature(random);
  Surface surface = make_surface(out.creature, options, random);
  out.clips = make_clips(out.creature, options);
  out.character.truth = make_truth(out.creature, std::move(surface), out.clips);
  out.character.truth.check();
  out.character.sequence.name = "creature";
  out.character.sequence.rest = out.character.truth.rest;
  out.character.sequence.times = out.clips.times;
  out.character.sequence.clips = out.clips.clips;
  return out;
}

}  // namespace

Character make_character(const CharacterOptions& options) {
  Still still = make_still(options);
  const Rig& rig = still.character.truth;
  const Flesh flesh(still.creature, rig, options);
  Frames frames(rig.frame_count(), rig.vertex_count());
  parallel_for(frames.count(), 1, options.threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t f = begin; f < end; ++f) make_frame(rig, flesh, still.clips, f, options, frames[f]);
  });
  still.character.sequence.frames = std::move(frames);
  still.character.sequence.check();
  return std::move(still.character);
}

Character make_character(const CharacterOptions& options, const FrameSink& sink) {
  constexpr std::size_t kTogether = 8;  // frames that are made at once
  Still still = make_still(options);
  const Rig& rig = still.character.truth;
  const Flesh flesh(still.creature, rig, options);
  std::vector<Points> made(kTogether, Points(3, index(rig.vertex_count())));
  for (std::size_t first = 0; first < rig.frame_count(); first += kTogether) {
    const std::size_t count = std::min(kTogether, rig.frame_count() - first);
    parallel_for(count, 1, options.threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) make_frame(rig, flesh, still.clips, first + i, options, made[i]);
    });
    for (std::size_t i = 0; i < count; ++i) sink(still.character, first + i, made[i]);
  }
  return std::move(still.character);
}

}  // namespace sinew
