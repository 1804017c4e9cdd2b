#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "sinew/evaluate/errors.h"
#include "sinew/make/character.h"
#include "sinew/solve/clusters.h"
#include "sinew/solve/flats.h"
#include "sinew/solve/skeleton.h"
#include "sinew/solve/sma.h"
#include "sinew/solve/ssdr.h"

/// Units, places and threads must not matter to any solver.
namespace sinew {
namespace {

/// How far E_RMS may move when every coordinate of the input is rounded anew: three digits, or to another minimum close
/// by where a solver exchanges bones (docs/limits.md).
constexpr double kSteady = 5e-4;
constexpr double kSearches = 3e-2;

struct Solver {
  const char* name;
  double rounding;
  std::function<Rig(const Sequence&, int threads)> solve;
};

template <class Options>
Options with_bones(int bones, int threads) {
  Options options;
  options.bones = bones;
  options.threads = threads;
  return options;
}

std::ostream& operator<<(std::ostream& out, const Solver& solver) {
  return out << solver.name;
}

std::vector<Solver> solvers() {
  return {{"ssdr", kSearches,
           [](const Sequence& sequence, int threads) {
             FitReport report;
             return solve_ssdr(sequence, with_bones<SsdrOptions>(8, threads), report);
           }},
          {"ssdr_fast", kSteady,
           [](const Sequence& sequence, int threads) {
             FitReport report;
             SsdrOptions options = with_bones<SsdrOptions>(8, threads);
             options.quality = Quality::fast;
             return solve_ssdr(sequence, options, report);
           }},
          {"kavan", kSearches,
           [](const Sequence& sequence, int threads) {
             FitReport report;
             SsdrOptions options = with_bones<SsdrOptions>(8, threads);
             options.transforms = Transforms::affine;
             options.optimize_rest = true;
             return solve_ssdr(sequence, options, report);
           }},
          {"flats", kSearches,
           [](const Sequence& sequence, int threads) {
             FitReport report;
             return solve_flats(sequence, with_bones<FlatsOptions>(6, threads), report);
           }},
          {"skeleton", kSearches,
           [](const Sequence& sequence, int threads) {
             FitReport report;
             SkeletonOptions options;
             options.max_bones = 8;
             options.moves = 1;
             options.threads = threads;
             return solve_skeleton(sequence, options, report);
           }},
          {"sma", kSteady,
           [](const Sequence& sequence, int threads) {
             FitReport report;
             SmaOptions options;
             options.threads = threads;
             return solve_sma(sequence, options, report);
           }},
          {"clusters", kSteady, [](const Sequence& sequence, int threads) {
             FitReport report;
             return solve_clusters(sequence, with_bones<ClustersOptions>(10, threads), report);
           }}};
}

Sequence creature() {
  CharacterOptions options;
  options.vertices = 900;
  options.walk_frames = 16;
  options.wave_frames = 8;
  options.bulge = 0.3;
  options.wobble = 0.02;
  options.threads = 1;
  return make_character(options).sequence;
}

template <class Change>
Sequence changed(Sequence sequence, const Change& change) {
  change(sequence.rest.positions);
  for (std::size_t f = 0; f < sequence.frame_count(); ++f) change(sequence.frames[f]);
  return sequence;
}

double e_rms(const Solver& solver, const Sequence& sequence) {
  return evaluate(solver.solve(sequence, 1), sequence, 1).e_rms;
}

class EverySolver : public ::testing::TestWithParam<Solver> {};

TEST_P(EverySolver, ReachesTheSameErrorInAnyUnit) {
  const Sequence sequence = creature();
  const double expected = e_rms(GetParam(), sequence);
  for (const int exponent : {-20, 20})  // about 1e-6 and 1e6, exact in floating point
    EXPECT_NEAR(e_rms(GetParam(), changed(sequence, [&](auto&& points) { points *= std::ldexp(1.0F, exponent); })),
                expected, 5e-4 * expected)
        << "scaled by 2^" << exponent;
  for (const float scale : {1e-6F, 1e6F})
    EXPECT_NEAR(e_rms(GetParam(), changed(sequence, [&](auto&& points) { points *= scale; })), expected,
                GetParam().rounding * expected)
        << "scaled by " << scale;
}

TEST_P(EverySolver, ReachesTheSameErrorFarFromTheOrigin) {
  // A creature of about a thousand units, 1e5 away. What that leaves of its positions in float is what is compared, so
  // that only the place differs. Much smaller ones drown in what float leaves of the rig itself: docs/limits.md.
  const Vector3 offset(1e5F, -1e5F, 1e5F);
  const Sequence moved =
      changed(creature(), [&](auto&& points) { points = ((1000 * points).colwise() + offset).eval(); });
  const Sequence here = changed(moved, [&](auto&& points) { points.colwise() -= offset; });
  const double expected = e_rms(GetParam(), here);
  EXPECT_NEAR(e_rms(GetParam(), moved), expected, 5e-3 * expected);
}

TEST_P(EverySolver, GivesTheSameBitsForOneTwoAndFourThreads) {
  const Sequence sequence = creature();
  const Rig one = GetParam().solve(sequence, 1);
  for (const int threads : {2, 4}) {
    const Rig other = GetParam().solve(sequence, threads);
    ASSERT_EQ(other.bone_count(), one.bone_count());
    EXPECT_EQ(other.weights.bones, one.weights.bones);
    EXPECT_EQ(other.weights.values, one.weights.values);
    for (std::size_t f = 0; f < one.frame_count(); ++f)
      for (std::size_t b = 0; b < one.bone_count(); ++b)
        ASSERT_EQ(std::memcmp(other.motion(f, b).data(), one.motion(f, b).data(), sizeof(Affine)), 0)
            << threads << " threads, frame " << f << ", bone " << b;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EverySolver, ::testing::ValuesIn(solvers()),
                         [](const auto& solver) { return std::string(solver.param.name); });

}  // namespace
}  // namespace sinew
