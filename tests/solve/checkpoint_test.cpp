#include "sinew/core/checkpoint.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "sinew/evaluate/errors.h"
#include "sinew/io/checkpoint_file.h"
#include "sinew/make/character.h"
#include "sinew/solve/clusters.h"
#include "sinew/solve/flats.h"
#include "sinew/solve/skeleton.h"
#include "sinew/solve/sma.h"
#include "sinew/solve/ssdr.h"
#include "support/support.h"
#include "support/zoo.h"

namespace sinew {
namespace {

struct PowerCut {};

/// Keeps every state; the power fails after a given number of them.
class Memory : public Checkpoint {
 public:
  bool due() override { return true; }
  void save(const SolveState& state) override {
    states.push_back(state);
    if (states.size() == fail_after) throw PowerCut{};
  }

  std::vector<SolveState> states;
  std::size_t fail_after = 0;
};

Sequence walking_creature() {
  CharacterOptions options;
  options.vertices = 500;
  options.walk_frames = 6;
  options.wave_frames = 4;
  options.noise = 0.002;
  return make_character(options).sequence;
}

/// A solve on one thread as a function of its checkpoint. `solver`: (sequence, options, report) to a rig.
template <class Options, class Solver>
std::function<Rig(Checkpoint*)> keeping(const Sequence& sequence, Options options, const Solver& solver) {
  options.threads = 1;
  return [&sequence, options, solver](Checkpoint* checkpoint) mutable {
    options.checkpoint = checkpoint;
    FitReport report;
    return solver(sequence, options, report);
  };
}

const auto solve_with_ssdr = [](auto&&... arguments) { return solve_ssdr(arguments...); };
const auto solve_with_clusters = [](auto&&... arguments) { return solve_clusters(arguments...); };
const auto solve_with_flats = [](auto&&... arguments) { return solve_flats(arguments...); };
const auto solve_with_skeleton = [](auto&&... arguments) { return solve_skeleton(arguments...); };
const auto solve_with_sma = [](auto&&... arguments) { return solve_sma(arguments...); };

/// Cuts the solve after some of the states that it saves, goes on from there and compares with what an undisturbed
/// solve reaches. `at_least`: states that an undisturbed solve saves.
template <class Options, class Solver>
void expect_same_error_after_cuts(const Options& options, std::size_t at_least, const Solver& solver,
                                  const Sequence& sequence = walking_creature()) {
  const auto solve = keeping(sequence, options, solver);
  Memory undisturbed;
  const double expected = evaluate(solve(&undisturbed), sequence).e_rms;
  const std::size_t states = undisturbed.states.size();
  ASSERT_GE(states, at_least);
  EXPECT_EQ(evaluate(solve(nullptr), sequence).e_rms, expected) << "keeping states changes the result";
  for (const std::size_t cut : {std::size_t{1}, (states + 1) / 2, states}) {
    SCOPED_TRACE("cut after state " + std::to_string(cut) + " of " + std::to_string(states) + ", in phase " +
                 undisturbed.states[cut - 1].phase);
    Memory first;
    first.fail_after = cut;
    EXPECT_THROW(solve(&first), PowerCut);
    Memory second;
    second.finished = first.states.back().finished;
    second.earlier = first.states.back();
    const double resumed = evaluate(solve(&second), sequence).e_rms;
    EXPECT_NEAR(resumed, expected, 1e-3 * expected);
    EXPECT_FALSE(second.earlier) << "nothing took up the state";
    EXPECT_LE(second.states.size(), states - cut + 1) << "work was done again";
  }
}

TEST(Checkpoint, SsdrGoesOnToTheSameError) {
  SsdrOptions options;
  options.bones = 8;
  expect_same_error_after_cuts(options, 10, solve_with_ssdr);
}

TEST(Checkpoint, DISABLED_SsdrGoesOnWithItsSearchToTheSameError) {
  SsdrOptions options;
  options.bones = 3;
  options.quality = Quality::best;
  options.max_iterations = 3;
  expect_same_error_after_cuts(options, 10, solve_with_ssdr);
}

TEST(Checkpoint, SsdrGoesOnWithItsBudgetToTheSameError) {
  CharacterOptions character;
  character.vertices = 500;
  character.walk_frames = 100;
  character.wave_frames = 0;
  character.noise = 0.002;
  SsdrOptions options;
  options.bones = 10;
  options.work = 400;
  expect_same_error_after_cuts(options, 5, solve_with_ssdr, make_character(character).sequence);
}

TEST(Checkpoint, SsdrGoesOnWithItsSearchForAnErrorToTheSameNumberOfBones) {
  SsdrOptions options;
  options.max_error = 8;
  options.quality = Quality::fast;
  std::size_t bones = 0;
  expect_same_error_after_cuts(options, 20, [&](const Sequence& sequence, const SsdrOptions& given, FitReport& report) {
    Rig rig = solve_ssdr(sequence, given, report);
    EXPECT_GT(report.search.size(), 3U);
    if (bones != 0) {
      EXPECT_EQ(rig.bone_count(), bones);
    }
    bones = rig.bone_count();
    return rig;
  });
}

TEST(Checkpoint, ClustersGoOnToTheSameError) {
  ClustersOptions options;
  options.bones = 12;
  expect_same_error_after_cuts(options, 3, solve_with_clusters);
}

TEST(Checkpoint, FlatsGoOnToTheSameError) {
  FlatsOptions options;
  options.bones = 4;
  options.outliers = 0.01;
  options.max_steps = 12;
  options.max_starts = 4;
  options.start_work = 2e9;
  expect_same_error_after_cuts(options, 10, solve_with_flats);
}

TEST(Checkpoint, SkeletonsGoOnToTheSameError) {
  SkeletonOptions options;
  options.clusters = 6;
  options.keep_all_bones = true;
  options.moves = 8;
  expect_same_error_after_cuts(options, 5, solve_with_skeleton);
}

TEST(Checkpoint, SkeletonsOfAnOpenNumberOfBonesGoOnToTheSameError) {
  SkeletonOptions options;
  options.clusters = 6;
  options.strict_iterations = 10;
  expect_same_error_after_cuts(options, 4, solve_with_skeleton, test::bend("grid", test::grid_mesh(16, 10), 8));
}

Rig rough_rig(const Sequence& sequence) {
  SkeletonOptions options;
  options.max_bones = 6;
  options.moves = 0;
  options.strict_iterations = 1;
  FitReport report;
  return solve_skeleton(sequence, options, report);
}

/// Fits of a given rig with one bone locked and two more, and of its joints.
auto refit_of(const Rig& given) {
  return [&given](const Sequence& sequence, const SsdrOptions& options, FitReport& report) {
    RefitOptions refit;
    refit.locked_bones = {1};
    refit.add_bones = 2;
    refit.solver = options;
    return refit_ssdr(sequence, given, refit, report);
  };
}
auto joints_of(const Rig& given) {
  return [&given](const Sequence& sequence, const SkeletonOptions& options, FitReport& report) {
    return refit_skeleton(sequence, given, options, report);
  };
}

TEST(Checkpoint, FitsToAGivenRigGoOnToTheSameError) {
  const Rig given = rough_rig(walking_creature());
  expect_same_error_after_cuts(SsdrOptions(), 10, refit_of(given));
}

TEST(Checkpoint, FitsOfTheJointsOfAGivenRigGoOnToTheSameError) {
  const Rig given = rough_rig(walking_creature());
  expect_same_error_after_cuts(SkeletonOptions(), 3, joints_of(given));
}

TEST(Checkpoint, SmaGoesOnToTheSameError) {
  expect_same_error_after_cuts(SmaOptions(), 5, solve_with_sma);
}

TEST(Checkpoint, SmaGoesOnWithItsSearchForANumberOfBones) {
  SmaOptions options;
  options.bones = 3;
  options.iterations = 1;
  expect_same_error_after_cuts(options, 4, solve_with_sma, test::bend("grid", test::grid_mesh(16, 10)));
}

/// Spoils a state that a solve left, and goes on from it.
class Spoiled {
 public:
  Spoiled(std::function<Rig(Checkpoint*)> solve, std::size_t state) : solve_(std::move(solve)) {
    Memory whole;
    whole.fail_after = state;
    EXPECT_THROW(solve_(&whole), PowerCut);
    state_ = whole.states.back();
  }
  void refused(const std::string& part, const std::function<void(SavedArrays&)>& spoil) const {
    Memory second;
    second.finished = state_.finished;
    second.earlier = state_;
    spoil(second.earlier->arrays);
    test::expect_error(ErrorKind::input, part, [&] { solve_(&second); });
  }

 private:
  std::function<Rig(Checkpoint*)> solve_;
  SolveState state_;
};

TEST(Checkpoint, AStateThatDoesNotFitIsRefused) {
  const Sequence sequence = walking_creature();
  SsdrOptions options;
  options.bones = 4;
  const Spoiled ssdr(keeping(sequence, options, solve_with_ssdr), 2);
  ssdr.refused("'motion'", [](SavedArrays& arrays) { arrays.erase("motion"); });
  ssdr.refused("'motion'", [](SavedArrays& arrays) { arrays["motion"].conservativeResize(3, Eigen::NoChange); });
  ssdr.refused("whole bones", [](SavedArrays& arrays) { arrays["motion"].conservativeResize(Eigen::NoChange, 6); });
  ssdr.refused("not finite", [](SavedArrays& arrays) { arrays["motion"](1, 2) = std::nan(""); });
  ssdr.refused("not there", [](SavedArrays& arrays) { arrays["weight bones"](0, 3) = 4; });
  ssdr.refused("not there", [](SavedArrays& arrays) { arrays["weight bones"](0, 3) = 0.5; });
  ssdr.refused("more than once", [](SavedArrays& arrays) { arrays["weight bones"].col(3).setZero(); });
  ssdr.refused("outside", [](SavedArrays& arrays) { arrays["weights"](0, 3) = -1; });
  ssdr.refused("'momentum'", [](SavedArrays& arrays) { arrays["momentum"](0, 0) = 0; });
}

TEST(Checkpoint, AttemptsOfWhichNoneIsTheBestAreRefused) {
  const Sequence sequence = walking_creature();
  SsdrOptions options;
  options.max_error = 8;
  options.quality = Quality::fast;
  const auto solve = keeping(sequence, options, solve_with_ssdr);
  Memory whole;
  solve(&whole);
  Memory second;  // every attempt is done, and none is marked
  second.finished = whole.finished;
  second.finished.at("attempts").row(2).setZero();
  test::expect_error(ErrorKind::input, "'attempts'", [&] { solve(&second); });
}

TEST(Checkpoint, AStateThatDoesNotFitTheGivenRigIsRefused) {
  const Sequence sequence = walking_creature();
  const Rig given = rough_rig(sequence);
  const Spoiled refit(keeping(sequence, SsdrOptions(), refit_of(given)), 2);
  refit.refused("'motion'", [](SavedArrays& arrays) { arrays["motion"].conservativeResize(Eigen::NoChange, 8); });
  const Spoiled joints(keeping(sequence, SkeletonOptions(), joints_of(given)), 1);
  joints.refused("hierarchy", [](SavedArrays& arrays) { arrays["parents"](0, 2) = 2; });
  joints.refused("other bones", [](SavedArrays& arrays) {
    arrays["motion"].conservativeResize(Eigen::NoChange, 8);
    arrays["weight bones"].setConstant(-1);
    arrays["weight bones"].row(0).setZero();
    arrays["parents"].conservativeResize(1, 2);
    arrays["joints"].conservativeResize(3, 2);
  });
  joints.refused("'joints'", [](SavedArrays& arrays) { arrays["joints"].conservativeResize(3, 2); });
}

TEST(Checkpoint, AStateOfSmaThatMakesNoSenseIsRefused) {
  const Sequence sequence = walking_creature();
  SmaOptions options;
  options.bones = 7;
  const Spoiled sma(keeping(sequence, options, solve_with_sma), 2);
  sma.refused("epsilon", [](SavedArrays& arrays) { arrays["epsilons"](0) = 0; });
  sma.refused("epsilon", [](SavedArrays& arrays) { arrays.erase("most cores"); });
  sma.refused("not there", [](SavedArrays& arrays) { arrays["most cores"](0, 0) = 1e6; });
}

/// Changes a few things of a state at random: numbers, shapes, absence.
void spoil(SolveState& state, std::mt19937& random) {
  const auto below = [&](Eigen::Index n) {
    return static_cast<Eigen::Index>(random() % static_cast<unsigned long>(std::max<Eigen::Index>(1, n)));
  };
  const double odd[] = {-1, 0, 0.5, 1, 2, 3, 7, 100, 65536, -1e9, 1e9, 4e18, 1e-300, 1e300, -1e300};
  for (unsigned long changes = 1 + random() % 2; changes > 0; --changes) {
    SavedArrays& arrays = state.finished.empty() || random() % 4 != 0 ? state.arrays : state.finished;
    if (arrays.empty()) continue;
    const auto place = std::next(arrays.begin(), below(static_cast<Eigen::Index>(arrays.size())));
    Eigen::MatrixXd& array = place->second;
    switch (random() % 6) {
      case 0:
        array.conservativeResizeLike(Eigen::MatrixXd::Zero(below(array.rows() + 3), array.cols()));
        break;
      case 1:
        array.conservativeResizeLike(Eigen::MatrixXd::Zero(array.rows(), below(array.cols() + 5)));
        break;
      case 2:
        if (random() % 8 == 0) arrays.erase(place);
        break;
      case 3:
        array.setConstant(odd[below(std::size(odd))]);
        break;
      case 4:
        state.step = static_cast<std::int64_t>(odd[below(std::size(odd))]);
        break;
      default:
        if (array.size() > 0) array.data()[below(array.size())] = odd[below(std::size(odd))];
    }
  }
}

/// Whatever a state holds, a solve that goes on from it ends with a valid rig or says what is wrong.
TEST(Checkpoint, StatesThatAreSpoiledAtRandomAreRefusedOrLeadToARig) {
  const Sequence sequence = test::bend("grid", test::grid_mesh(12, 6));
  const Rig given = rough_rig(sequence);
  SsdrOptions to_error;
  to_error.max_error = 20;
  to_error.quality = Quality::fast;
  SsdrOptions search;
  search.bones = 3;
  search.quality = Quality::best;
  search.max_iterations = 3;
  ClustersOptions clusters;
  clusters.bones = 6;
  FlatsOptions flats;
  flats.bones = 3;
  flats.max_steps = 6;
  flats.max_starts = 3;
  flats.start_work = 2e8;
  SkeletonOptions moves;
  moves.max_bones = 4;
  moves.moves = 4;
  moves.strict_iterations = 3;
  SkeletonOptions open;
  open.clusters = 4;
  open.strict_iterations = 3;
  SmaOptions sma;
  sma.bones = 4;
  const std::vector<std::pair<const char*, std::function<Rig(Checkpoint*)>>> solves{
      {"ssdr", keeping(sequence, SsdrOptions(), solve_with_ssdr)},
      {"ssdr to an error", keeping(sequence, to_error, solve_with_ssdr)},
      {"ssdr with its search", keeping(sequence, search, solve_with_ssdr)},
      {"clusters", keeping(sequence, clusters, solve_with_clusters)},
      {"flats", keeping(sequence, flats, solve_with_flats)},
      {"skeleton", keeping(sequence, moves, solve_with_skeleton)},
      {"open skeleton", keeping(sequence, open, solve_with_skeleton)},
      {"sma", keeping(sequence, sma, solve_with_sma)},
      {"fit", keeping(sequence, SsdrOptions(), refit_of(given))},
      {"fit of joints", keeping(sequence, moves, joints_of(given))}};
  std::mt19937 random(1);
  constexpr int kTrials = 40;
  for (const auto& [name, solve] : solves) {
    SCOPED_TRACE(name);
    Memory whole;
    ASSERT_NO_THROW(solve(&whole));
    int refused = 0;
    for (int i = 0; i < kTrials; ++i) {
      SolveState state = whole.states[random() % whole.states.size()];
      spoil(state, random);
      Memory second;
      second.finished = state.finished;
      second.earlier = std::move(state);
      try {
        solve(&second).check();
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
        ++refused;
      }
    }
    EXPECT_GT(refused, 0);
  }
}

}  // namespace
}  // namespace sinew
