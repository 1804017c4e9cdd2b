#pragma once

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sinew/io/gltf.h"

/// The program fbx2gltf as a reader of FBX files, and sequences compared that name vertices and frames differently.
namespace sinew::test {

/// Something that a check needs is not on this machine.
struct NotThere : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// fbx2gltf in a folder of its own; npm installs it without its run bit.
class Fbx2gltf {
 public:
  Fbx2gltf(const std::filesystem::path& tool, const std::filesystem::path& folder) : folder_(folder) {
    if (!std::filesystem::exists(tool))
      throw NotThere(fmt::format("{} is missing; script/bootstrap installs it", tool.string()));
    std::filesystem::create_directories(folder);
    tool_ = folder / "FBX2glTF";
    std::filesystem::copy_file(tool, tool_, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::permissions(tool_, std::filesystem::perms::owner_all);
  }

  /// The file as GLB, all animations sampled at 30 frames per second.
  std::filesystem::path convert(const std::filesystem::path& file) const {
    const std::filesystem::path out = folder_ / (file.stem().string() + ".glb");
    std::filesystem::remove(out);
    const std::filesystem::path log = folder_ / (file.stem().string() + ".log");
    const std::string command = fmt::format(
        "'{}' --binary --anim-framerate bake30 --fbx-temp-dir '{}' -i '{}' -o '{}' >'{}' 2>&1", tool_.string(),
        folder_.string(), file.string(), out.string().substr(0, out.string().size() - 4), log.string());
    if (std::system(command.c_str()) != 0 || !std::filesystem::exists(out)) {
      std::ostringstream text;
      text << std::ifstream(log).rdbuf();
      throw std::runtime_error(fmt::format("fbx2gltf does not read {}: {}", file.string(), text.str()));
    }
    return out;
  }

  Sequence sequence(const std::filesystem::path& file) const { return read_gltf_sequence(convert(file)); }

 private:
  std::filesystem::path folder_;
  std::filesystem::path tool_;
};

/// For each vertex of one mesh the nearest of another, both at rest.
struct Matched {
  std::vector<Eigen::Index> nearest;
  double farthest = 0;  // over the diagonal
  double diagonal = 0;
};

inline Matched match_by_rest(const Points& ours, const Points& theirs) {
  Matched out;
  out.diagonal = (ours.rowwise().maxCoeff() - ours.rowwise().minCoeff()).cast<double>().norm();
  for (Eigen::Index v = 0; v < theirs.cols(); ++v) {
    Eigen::Index nearest = 0;
    const float distance = (ours.colwise() - theirs.col(v)).colwise().squaredNorm().minCoeff(&nearest);
    out.nearest.push_back(nearest);
    out.farthest = std::max(out.farthest, std::sqrt(static_cast<double>(distance)) / out.diagonal);
  }
  return out;
}

/// The same by their places in the first, a middle and the last frame of a clip.
inline Matched match_by_motion(const Sequence& ours, const Clip& a, const Sequence& theirs, const Clip& b) {
  const auto stacked = [](const Sequence& sequence, const Clip& clip, std::size_t frames) {
    Eigen::MatrixXf out(9, static_cast<Eigen::Index>(sequence.vertex_count()));
    for (int i = 0; i < 3; ++i)
      out.middleRows(3 * i, 3) = sequence.frames[clip.first_frame + (frames - 1) * static_cast<std::size_t>(i) / 2];
    return out;
  };
  const std::size_t frames = std::min(a.frames, b.frames);
  const Eigen::MatrixXf from = stacked(ours, a, frames);
  const Eigen::MatrixXf to = stacked(theirs, b, frames);
  Matched out;
  const Eigen::MatrixXf first = from.topRows(3);
  out.diagonal = (first.rowwise().maxCoeff() - first.rowwise().minCoeff()).cast<double>().norm();
  // Candidates lie near along x in the first frame; where none does, the vertex is far from all of them anyway.
  std::vector<std::pair<float, Eigen::Index>> along(static_cast<std::size_t>(from.cols()));
  for (Eigen::Index v = 0; v < from.cols(); ++v) along[static_cast<std::size_t>(v)] = {from(0, v), v};
  std::sort(along.begin(), along.end());
  const auto reach = static_cast<float>(2e-4 * out.diagonal);
  for (Eigen::Index v = 0; v < to.cols(); ++v) {
    Eigen::Index nearest = 0;
    float least = std::numeric_limits<float>::max();
    const auto first_near = std::lower_bound(along.begin(), along.end(), std::pair(to(0, v) - reach, Eigen::Index{0}));
    for (auto at = first_near; at != along.end() && at->first <= to(0, v) + reach; ++at) {
      const float distance = (from.col(at->second) - to.col(v)).squaredNorm();
      if (distance < least) {
        least = distance;
        nearest = at->second;
      }
    }
    out.nearest.push_back(nearest);
  }
  return out;
}

struct ClipDifference {
  std::size_t compared = 0;  // frames that both have
  double largest = 0;        // over the diagonal
  double seconds = 0;        // by which theirs is longer
};

/// Frames at the same time from the start of the clip.
inline ClipDifference compare_clips(const Sequence& ours, const Clip& our_clip, const Sequence& theirs,
                                    const Clip& their_clip, const Matched& match) {
  ClipDifference out;
  const auto at = [](const Sequence& sequence, const Clip& clip, std::size_t f) {
    return sequence.times[clip.first_frame + f] - sequence.times[clip.first_frame];
  };
  out.seconds = at(theirs, their_clip, their_clip.frames - 1) - at(ours, our_clip, our_clip.frames - 1);
  std::size_t g = 0;
  for (std::size_t f = 0; f < our_clip.frames; ++f) {
    const double t = at(ours, our_clip, f);
    while (g + 1 < their_clip.frames && at(theirs, their_clip, g) < t - 1e-4) ++g;
    if (std::abs(at(theirs, their_clip, g) - t) > 1e-4) continue;
    ++out.compared;
    const auto a = ours.frames[our_clip.first_frame + f];
    const auto b = theirs.frames[their_clip.first_frame + g];
    for (std::size_t v = 0; v < match.nearest.size(); ++v) {
      const double distance =
          (a.col(match.nearest[v]) - b.col(static_cast<Eigen::Index>(v))).cast<double>().norm() / match.diagonal;
      if (!(distance <= out.largest)) out.largest = distance;  // NaN counts as largest
    }
  }
  return out;
}

}  // namespace sinew::test
