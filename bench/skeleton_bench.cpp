// Skeletons found in the motion of known rigs, scored against them: joints one to one, what lies inside, CPU seconds.
//   skeleton_bench CASE... [--told] [--step N] [--noise PERCENT] [--detail low|medium|high] [-o FOLDER]
//   skeleton_bench CASE... --stable   how much of each skeleton is found again in other frames, vertices and from
//                                     other clusters
// A CASE is a rigged file, creature:SEED or SEQUENCE (frames alone: nothing is known). After a file or creature, ~SEED
// turns all its joints at random instead of playing its clips. Prints one row for each.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <map>
#include <numbers>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "sinew/core/bounds.h"
#include "sinew/core/error.h"
#include "sinew/evaluate/errors.h"
#include "sinew/evaluate/inside.h"
#include "sinew/evaluate/skeleton_match.h"
#include "sinew/io/io.h"
#include "sinew/make/character.h"
#include "sinew/solve/skeleton.h"

namespace sinew {
namespace {

struct Request {
  std::vector<std::string> cases;
  bool told = false;
  bool stable = false;
  std::size_t step = 1;
  double noise = 0;  // standard deviation of a vertex, % of the diagonal
  std::filesystem::path folder;
  SkeletonOptions solve;
};

/// A sequence and, where it is known, the rig behind it.
struct Subject {
  Sequence sequence;
  std::optional<Rig> truth;
};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// A joint that swings about one axis and, less, about another; one in five stays still.
struct Swing {
  Vector3 axis[2];
  float degrees[2];
  float phase[2];
  float cycles[2];
};

Swing random_swing(std::mt19937_64& random) {
  const auto uniform = [&](float low, float high) {
    return low + (high - low) * static_cast<float>(std::generate_canonical<double, 53>(random));
  };
  const bool still = uniform(0, 1) < 0.2F;
  Swing out{};
  for (int i = 0; i < 2; ++i) {
    out.axis[i] = Vector3(uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)).normalized();
    out.degrees[i] = still ? 0 : uniform(5, 35) / static_cast<float>(1 + 2 * i);
    out.phase[i] = uniform(0, 6.28F);
    out.cycles[i] = uniform(0.5F, 3);
  }
  return out;
}

/// 60 frames in which every joint swings at random: motions that no clip of the file has.
void swing_at_random(Rig& rig, std::uint64_t seed) {
  constexpr std::size_t kFrames = 60;
  std::mt19937_64 random(seed);
  std::vector<Swing> swings;
  for (std::size_t b = 0; b < rig.bone_count(); ++b) swings.push_back(random_swing(random));
  Motion motion(kFrames, rig.bone_count());
  for (std::size_t f = 0; f < kFrames; ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b) {
      const Swing& swing = swings[b];
      Eigen::Matrix3f turn = Eigen::Matrix3f::Identity();
      for (int i = 0; i < 2; ++i) {
        const float time = static_cast<float>(f) / kFrames;
        const float angle = swing.degrees[i] * std::sin(6.2831853F * swing.cycles[i] * time + swing.phase[i]);
        turn = turn * Eigen::AngleAxisf(angle * std::numbers::pi_v<float> / 180, swing.axis[i]).toRotationMatrix();
      }
      const Vector3 head = rig.bones[b].head;
      const int p = rig.bones[b].parent;
      const Affine above = p < 0 ? Motion::identity() : motion(f, static_cast<std::size_t>(p));
      Affine& T = motion(f, b);
      T.leftCols<3>() = above.leftCols<3>() * turn;
      T.col(3) = above.leftCols<3>() * head + above.col(3) - T.leftCols<3>() * head;
    }
  rig.motion = std::move(motion);
  rig.times.clear();
  for (std::size_t f = 0; f < kFrames; ++f) rig.times.push_back(static_cast<double>(f) / 30);
  rig.clips.clear();
  rig.jointed = true;
}

void add_noise(Sequence& sequence, double percent) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  const double size = percent / 100 * bounding_box_diagonal(sequence.rest.positions) / std::sqrt(3.0);
  for (std::size_t f = 0; f < sequence.frame_count(); ++f) {
    PointsMap frame = sequence.frames[f];
    for (Eigen::Index i = 0; i < frame.size(); ++i)
      frame.data()[i] = static_cast<float>(static_cast<double>(frame.data()[i]) + size * normal(random));
  }
}

Rig thinned(const Rig& rig, std::size_t step) {
  std::vector<std::size_t> frames;
  for (std::size_t f = 0; f < rig.frame_count(); f += step) frames.push_back(f);
  return select_frames(rig, frames);
}

/// As `sinew solve` reads it.
Sequence read_frames(const std::string& source, std::size_t step) {
  ReadOptions read;
  read.frame_step = step;
  return read_sequence({source}, read);
}

Subject subject_of(const std::string& name, const Request& request) {
  const std::string source = name.substr(0, name.find('~'));
  Subject out;
  if (source.starts_with("creature:")) {
    CharacterOptions options;
    options.seed = std::stoull(source.substr(9));
    options.vertices = 4000;
    options.threads = 1;
    out.truth = make_character(options).truth;
  } else if (std::filesystem::is_directory(source)) {
    out.sequence = read_frames(source, request.step);
  } else {
    out.truth = read_rig(source);
  }
  if (out.truth) {
    if (source != name) swing_at_random(*out.truth, std::stoull(name.substr(source.size() + 1)));
    out.truth = thinned(*out.truth, request.step);
    const bool as_it_is = source == name && std::filesystem::exists(source);
    out.sequence = as_it_is ? read_frames(source, request.step) : pose_all(*out.truth);
  }
  if (request.noise > 0) add_noise(out.sequence, request.noise);
  return out;
}

void print_row(const std::string& name, const Request& request) {
  const Subject subject = subject_of(name, request);
  SkeletonOptions options = request.solve;
  SkeletonMatch match;
  if (subject.truth) match = match_skeletons(*subject.truth, *subject.truth);
  if (request.told && subject.truth) options.max_bones = match.known_joints + 1;
  FitReport report;
  const double start = cpu_seconds();
  const Rig rig = solve_skeleton(subject.sequence, options, report);
  const double seconds = cpu_seconds() - start;
  if (subject.truth) match = match_skeletons(rig, *subject.truth);
  const Errors errors = evaluate(rig, subject.sequence, 1);
  const Inside rest = inside_at_rest(rig);
  const Inside posed = inside_when_posed(rig);
  const std::string label = std::filesystem::path(name).filename().string();
  fmt::print(
      "| {} | {} | {} | {} | {} | {:.3f} | {:.3f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.1f} | "
      "{:.2f} | {:.2f} | {:.1f} |\n",
      label, rig.vertex_count(), rig.frame_count(), match.known_joints, rig.bone_count(), errors.e_rms,
      errors.rmse_percent, match.recall, match.precision, match.parent_agreement, rest.joint_share, rest.length_share,
      rest.worst_percent, posed.joint_share, posed.length_share, seconds);
  std::fflush(stdout);
  if (request.folder.empty()) return;
  std::filesystem::create_directories(request.folder);
  write_rig(request.folder / (label + ".glb"), rig, {});
  if (subject.truth) write_rig(request.folder / (label + ".known.glb"), *subject.truth, {});
}

/// Every triangle as four.
Sequence subdivided(const Sequence& sequence) {
  const std::vector<Index> corners = triangles_of(sequence.rest);
  std::map<std::pair<Index, Index>, Index> edges;  // to the vertex in its middle
  auto vertices = static_cast<Index>(sequence.rest.vertex_count());
  const auto between = [&](Index a, Index b) {
    const auto [place, fresh] = edges.try_emplace(std::minmax(a, b), vertices);
    if (fresh) ++vertices;
    return place->second;
  };
  Sequence out;
  for (std::size_t t = 0; t + 2 < corners.size(); t += 3) {
    const Index a = corners[t], b = corners[t + 1], c = corners[t + 2];
    const Index ab = between(a, b), bc = between(b, c), ca = between(c, a);
    out.rest.corners.insert(out.rest.corners.end(), {a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca});
    out.rest.face_sizes.insert(out.rest.face_sizes.end(), 4, 3);
  }
  const auto refined = [&](const auto& from, auto&& to) {
    to.leftCols(from.cols()) = from;
    for (const auto& [edge, middle] : edges) to.col(middle) = (from.col(edge.first) + from.col(edge.second)) / 2;
  };
  out.rest.positions.resize(3, vertices);
  refined(sequence.rest.positions, out.rest.positions);
  out.frames = Frames(sequence.frame_count(), vertices);
  for (std::size_t f = 0; f < sequence.frame_count(); ++f) refined(sequence.frames[f], out.frames[f]);
  out.times = sequence.times;
  out.clips = sequence.clips;
  return out;
}

/// How much of a skeleton another one has, both ways: joints that bend, one to one.
std::string shares(const Rig& rig, const Rig& other) {
  return fmt::format("{:.2f} / {:.2f} ({})", match_skeletons(other, rig).recall, match_skeletons(rig, other).recall,
                     other.bone_count());
}

void print_stability(const std::string& name, const Request& request) {
  const Sequence sequence = subject_of(name, request).sequence;
  const auto solved = [&](const Sequence& frames, int clusters) {
    SkeletonOptions options = request.solve;
    options.clusters = clusters;
    FitReport report;
    return solve_skeleton(frames, options, report);
  };
  const int clusters = request.solve.clusters;
  const Rig rig = solved(sequence, clusters);
  const auto cell = [&](const Rig& other) {
    fmt::print(" {} |", shares(rig, other));
    std::fflush(stdout);
  };
  fmt::print("| {} | {} |", std::filesystem::path(name).filename().string(), rig.bone_count());
  cell(solved(sequence, clusters / 4));
  cell(solved(sequence, clusters / 2));
  cell(solved(select_frames(sequence, 0, sequence.frame_count(), 2), clusters));
  cell(solved(subdivided(sequence), clusters));
  Sequence noisy = sequence;
  add_noise(noisy, 0.1);
  cell(solved(noisy, clusters));
  fmt::print("\n");
}

}  // namespace
}  // namespace sinew

int main(int argc, char** argv) {
  using namespace sinew;
  Request request;
  request.solve.threads = 1;
  CLI::App app("Skeletons of known rigs, scored");
  app.add_option("CASE", request.cases)->required();
  app.add_flag("--told", request.told, "The number of known joints that bend is given");
  app.add_flag("--stable", request.stable, "Skeletons from other clusters, frames, vertices and with noise instead");
  app.add_option("--step", request.step, "Every so many frames");
  app.add_option("--noise", request.noise, "Of the frames, % of the diagonal");
  app.add_option("--clusters", request.solve.clusters);
  app.add_option("--seed", request.solve.seed);
  app.add_option("--max-bones", request.solve.max_bones);
  app.add_option("--moves", request.solve.moves);
  app.add_option("--detail", request.solve.detail)
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Detail>{{"low", Detail::low}, {"medium", Detail::medium}, {"high", Detail::high}}));
  app.add_option("-o", request.folder, "Where the rigs are written");
  bool header = false;
  app.add_flag("--header", header);
  CLI11_PARSE(app, argc, argv);
  if (header && request.stable)
    fmt::print(
        "| case | bones | a quarter of the clusters | half of them | half of the frames | subdivided | noise 0.1 % |\n"
        "|---|---|---|---|---|---|---|\n");
  else if (header)
    fmt::print(
        "| case | V | F | known | bones | E_RMS | RMSE % | recall | precision | parents | joints in | length in "
        "| worst % | posed | posed length | CPU s |\n|{}\n",
        [] {
          std::string out;
          for (int i = 0; i < 16; ++i) out += "---|";
          return out;
        }());
  for (const std::string& name : request.cases) try {
      request.stable ? print_stability(name, request) : print_row(name, request);
    } catch (const Error& error) {
      fmt::print("| {} | {} |\n", name, error.what());
    }
}
