#include "rework/chosen_frames.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/index.h"

namespace sinew {
namespace {

constexpr Eigen::Index kSampled = 500;  // vertices that a frame is known by

}  // namespace

ChosenFrames choose_frames(const Rig& rig, int most) {
  const auto frames = index(rig.frame_count());
  const Eigen::Index V = rig.rest.positions.cols();
  const Eigen::Index step = std::max<Eigen::Index>(1, V / kSampled);
  const Eigen::Index sampled = V == 0 ? 0 : (V - 1) / step + 1;
  Eigen::MatrixXf form(3 * sampled, frames + 1);  // the last is the rest pose
  Eigen::Matrix3Xd middle(3, frames + 1);
  Points posed = rig.rest.positions;
  for (Eigen::Index f = 0; f <= frames; ++f) {
    if (f < frames) pose(rig, static_cast<std::size_t>(f), posed);
    if (f == frames) posed = rig.rest.positions;
    middle.col(f) = posed.cast<double>().rowwise().mean();
    for (Eigen::Index i = 0; i < sampled; ++i)
      form.col(f).segment<3>(3 * i) = posed.col(i * step) - middle.col(f).cast<float>();
  }
  std::vector<Eigen::Index> chosen{frames};
  std::vector<std::size_t> nearest(static_cast<std::size_t>(frames) + 1, 0);
  Eigen::VectorXf distance = (form.colwise() - form.col(frames)).colwise().squaredNorm().transpose();
  while (chosen.size() < static_cast<std::size_t>(std::max(0, most)) + 1) {
    Eigen::Index far = 0;
    if (!(distance.maxCoeff(&far) > 0)) break;
    for (Eigen::Index f = 0; f <= frames; ++f) {
      const float d = (form.col(f) - form.col(far)).squaredNorm();
      if (d >= distance[f]) continue;
      distance[f] = d;
      nearest[static_cast<std::size_t>(f)] = chosen.size();
    }
    chosen.push_back(far);
  }
  std::vector<double> weights(chosen.size(), 0);
  for (const std::size_t one : nearest) weights[one] += 1.0 / static_cast<double>(frames + 1);
  std::vector<std::size_t> order(chosen.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto number = [&](std::size_t i) { return chosen[i] == frames ? -1 : chosen[i]; };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return number(a) < number(b); });
  ChosenFrames out;
  for (const std::size_t i : order) {
    out.numbers.push_back(number(i));
    out.weights.push_back(weights[i]);
    out.middles.emplace_back(middle.col(chosen[i]));
  }
  return out;
}

}  // namespace sinew
