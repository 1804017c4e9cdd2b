// Time of two-layer compression against the number of vertices, one thread, and the exponent of the power law through
// the measurements.
//   compress_bench [--largest N]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>

#include "sinew/refine/two_layer.h"

namespace {

constexpr int kBones = 12;

/// A bumpy square of side² vertices with smooth dense weights around bones that lie on a spiral.
sinew::Rig sheet(int side) {
  sinew::Rig rig;
  rig.rest.positions.resize(3, static_cast<Eigen::Index>(side) * side);
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> W(rig.rest.positions.cols(), kBones);
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      const Eigen::Index v = static_cast<Eigen::Index>(y) * side + x;
      const float u = static_cast<float>(x) / static_cast<float>(side - 1);
      const float t = static_cast<float>(y) / static_cast<float>(side - 1);
      rig.rest.positions.col(v) = sinew::Vector3(u, t, 0.1F * std::sin(9 * u + 5 * t));
      for (int b = 0; b < kBones; ++b) {
        const double r = 0.06 * (b + 1) / 1.6;
        const double dx = u - 0.5 - r * std::cos(1.9 * b);
        const double dy = t - 0.5 - r * std::sin(1.9 * b);
        W(v, b) = 0.002 + std::exp(-20 * (dx * dx + dy * dy));
      }
      W.row(v) /= W.row(v).sum();
    }
  for (int y = 0; y + 1 < side; ++y)
    for (int x = 0; x + 1 < side; ++x) {
      const int v = y * side + x;
      rig.rest.face_sizes.push_back(4);
      for (const int corner : {v, v + 1, v + side + 1, v + side})
        rig.rest.corners.push_back(static_cast<sinew::Index>(corner));
    }
  rig.weights = sinew::pack_weights(W);
  rig.motion = sinew::Motion(1, kBones);
  rig.times = {0};
  for (int b = 0; b < kBones; ++b) rig.bones.push_back({"bone" + std::to_string(b), -1, {0, 0, 0}, {0, 1, 0}});
  return rig;
}

}  // namespace

int main(int argc, char** argv) {
  const double largest = argc == 3 && std::string(argv[1]) == "--largest" ? std::stod(argv[2]) : 1e6;
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (double vertices = 1e4; vertices <= 1.01 * largest; vertices *= std::sqrt(10.0)) {
    const sinew::Rig rig = sheet(static_cast<int>(std::lround(std::sqrt(vertices))));
    sinew::TwoLayerOptions options;
    options.threads = 1;
    sinew::TwoLayerReport report;
    const std::clock_t start = std::clock();
    sinew::compress_two_layer(rig, nullptr, options, report);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    const double x = std::log(static_cast<double>(rig.vertex_count()));
    const double y = std::log(seconds);
    n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
    std::printf("%8zu vertices  %6d virtual bones  %3zu passes  %8.2f s  %6.2f us/vertex  error %.4f x 1000\n",
                rig.vertex_count(), report.virtual_bones, report.history.size(), seconds,
                1e6 * seconds / static_cast<double>(rig.vertex_count()), 1000 * report.weight_error);
    std::fflush(stdout);
  }
  if (n > 1) std::printf("exponent %.3f\n", (n * sxy - sx * sy) / (n * sxx - sx * sx));
  return 0;
}
