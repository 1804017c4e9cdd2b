// Cost of a Gauss–Newton step of the flats solver against the number of vertices, one thread, and the memory that the
// search for a flat holds beside the allowed 1.5 · (reduced coordinates) · h.
//   flats_bench [HANDLES]
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

#include "sinew/make/character.h"
#include "solve/flats/gauss_newton.h"
#include "solve/flats/one_rings.h"

namespace {

/// A line of /proc/self/status, in bytes: VmRSS, or VmHWM, the most since the last call of forget_peak.
double status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(name + ":", 0) == 0) return 1024 * std::stod(line.substr(name.size() + 1));
  return 0;
}

void forget_peak() {
  std::ofstream("/proc/self/clear_refs") << 5;
}

}  // namespace

int main(int argc, char** argv) {
  const int handles = argc > 1 ? std::atoi(argv[1]) : 20;
  double previous = 0;
  for (const int vertices : {5000, 10000, 20000, 40000, 80000}) {
    sinew::CharacterOptions character;
    character.vertices = vertices;
    character.wobble = 0.03;
    character.threads = 1;
    const sinew::Sequence sequence = sinew::make_character(character).sequence;
    forget_peak();
    const double before = status_bytes("VmRSS");
    const sinew::flats::FlatProblem problem = sinew::flats::make_flat_problem(sequence, 0.1);
    const sinew::flats::VertexMaps maps = sinew::flats::fit_one_rings(problem, sequence.rest, 1);
    Eigen::MatrixXd theta = sinew::flats::flat_through(maps, sinew::flats::best_maps(maps, 0.5, 1e-6), handles);
    sinew::flats::GaussNewtonOptions options;
    options.max_steps = 5;
    options.tolerance = 0;
    options.threads = 1;
    sinew::flats::FlatFit fit;
    const std::clock_t start = std::clock();
    const sinew::flats::FlatTrace trace = sinew::flats::gauss_newton_flat(problem, options, theta, fit);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / trace.inner;
    const auto V = static_cast<double>(problem.vertices);
    const double allowed = 1.5 * 8 * V * problem.rank * handles;
    std::printf("%6zu vertices  rank %3d  %2d handles  %7.3f ms a product  x%.2f  memory %6.1f MB of %6.1f allowed\n",
                problem.vertices, problem.rank, handles, 1e3 * seconds, previous > 0 ? seconds / previous : 0,
                (status_bytes("VmHWM") - before) / 1e6, allowed / 1e6);
    std::fflush(stdout);
    previous = seconds;
  }
  return 0;
}
