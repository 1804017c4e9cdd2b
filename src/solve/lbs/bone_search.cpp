#include "solve/lbs/bone_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>

#include "core/index.h"
#include "math/parallel.h"
#include "sinew/core/error.h"
#include "solve/lbs/motion_clusters.h"
#include "solve/lbs/saved_fit.h"

namespace sinew::lbs {
namespace {

constexpr std::array<Move, 6> kMoves = {{{0, 3}, {1, 2}, {1, 0}, {2, 2}, {0, 6}, {2, 3}}};
constexpr std::array<Move, 6> kHastyMoves = {{{1, 2}, {2, 2}, {0, 3}, {1, 0}, {2, 3}, {0, 6}}};

constexpr double kPays = 1e-3;    // a move that lowers the value by less than this share does not pay
constexpr double kAbove = 0.02;   // the search goes on from a move that ends this far above the best
constexpr int kWavers = 6;        // moves in a row that did not pay after which they are made with more care
constexpr int kAstray = 12;       // moves in a row without a new best after which it is gone back to
constexpr int kHeat = 3;          // moves of every start before the worse half is given up
constexpr double kExact = 1e-11;  // of the energy: nothing is left to be found
constexpr int kKicked = 8;        // patience after a kick

/// What draws of one move depend on, so that a move can be repeated without those before it.
std::uint64_t seed_of(std::uint64_t seed, int start, int move) {
  std::seed_seq sequence{seed, seed >> 32, static_cast<std::uint64_t>(start), static_cast<std::uint64_t>(move)};
  std::uint32_t words[2];
  sequence.generate(words, words + 2);
  return static_cast<std::uint64_t>(words[0]) << 32 | words[1];
}

/// One start of a search, or one of the searches begun anew.
struct Chain {
  FitState state;  // the best so far
  FitState walk;   // where moves are tried from: the best, or close above it
  int start = 0;
  int moves = 0;
  int failures = 0;  // moves in a row that did not pay
};

/// How far a search has come.
struct SearchPlace {
  std::vector<Chain> chains;  // in heats: the starts still in it; then the best, and the one begun anew from it
  bool heats = true;
  int heat = 0;   // moves of every start in this heat
  int begun = 0;  // starts and kicks
  int batches = 0;
  double tried = 0;  // moves so far, and what they took
  double took = 0;
};

/// Takes a start away from where all begin: the first stays, the others come from more rigid parts than there are to
/// be bones, half as many again or more, shrunk.
Chain begin(const Problem& problem, const SearchOptions& options, const FitState& from, int start, Work& work) {
  Chain chain;
  chain.start = start;
  chain.state = from;
  const int bones = from.bones();
  if (start > 0) {
    const std::size_t parts = at(bones) + at(start) * (at(bones) + 1) / 2;
    const MotionClusters clusters = cluster_by_motion(problem, parts);
    work.done += 4 * comparison_work(problem, static_cast<int>(parts));
    if (static_cast<int>(clusters.count()) >= bones) {
      RunOptions run_options = options.run;
      run_options.work = &work;
      chain.state.D = clusters.D;
      chain.state.waits = {};
      chain.state.weights = weights_of(clusters, options.run.influences);
      RunOptions settle = run_options;
      settle.iterations = 8;
      settle.tolerance = 0;
      run(problem, settle, chain.state);
      shrink(problem, run_options, bones, kSteady.shrunk, chain.state);
      pursue(problem, run_options, 0, kSteady.settled, chain.state);
    }
  }
  chain.walk = chain.state;
  return chain;
}

/// A move from where the chain walks, and what it took.
struct Trial {
  FitState state;
  Work work;
};

double highest_accepted(const Chain& chain) {
  return std::max(chain.walk.value, chain.state.value * (1 + kAbove));
}

Trial try_move(const Problem& problem, const SearchOptions& options, const Chain& chain, int ahead) {
  Trial trial;
  trial.state = chain.walk;
  trial.state.waits = {};
  RunOptions run_options = options.run;
  run_options.work = &trial.work;
  const int move = chain.moves + ahead;
  const MovePace& pace = options.hasty && chain.failures < kWavers ? kHasty : kSteady;
  const auto& moves = options.hasty ? kHastyMoves : kMoves;
  apply_move(problem, run_options, moves[static_cast<std::size_t>(move) % moves.size()], pace,
             seed_of(options.seed, chain.start, move), trial.state);
  pursue(problem, run_options, highest_accepted(chain), pace.settled, trial.state);
  return trial;
}

/// Moves are judged by threshold accepting [Dueck and Scheuer 1990]: what ends a little above the best is another
/// minimum, from which other moves pay. Of a batch the lowest counts.
void judge(std::vector<Trial>& batch, Chain& chain) {
  const auto best = std::min_element(batch.begin(), batch.end(),
                                     [](const Trial& a, const Trial& b) { return a.state.value < b.state.value; });
  const double most = highest_accepted(chain);
  const int before = chain.failures;
  const auto size = static_cast<int>(batch.size());
  chain.failures = best->state.value < chain.state.value * (1 - kPays) ? 0 : chain.failures + size;
  if (best->state.value < chain.state.value) chain.state = best->state;
  if (best->state.value < most) std::swap(chain.walk, best->state);
  if (chain.failures / kAstray > before / kAstray) chain.walk = chain.state;
  chain.moves += size;
}

/// Moves that are tried side by side: few while most of them pay.
int batch_size(const Chain& chain) {
  return chain.failures < kWavers ? 2 : chain.failures < kAstray ? 4 : 8;
}

/// What a move takes about.
std::uint64_t move_work(const Problem& problem, const SearchOptions& options, int bones) {
  return (options.hasty ? 40 : 70) *
         iteration_work(problem, bones, options.run.influences + 2, problem.vertex_count() / 3);
}

/// The whole search, between whose batches it can be saved.
class Search {
 public:
  Search(Problem& problem, const SearchOptions& options, FitState& initial)
      : problem_(problem), options_(options), initial_(initial) {}

  bool run() {
    if (const auto saved = resume(options_.checkpoint, options_.phase)) take(saved->arrays);
    if (place_.chains.empty()) open();
    while (going_ && place_.heats) heat();
    while (going_ && climb()) {
    }
    const auto best = std::min_element(place_.chains.begin(), place_.chains.end(),
                                       [](const Chain& a, const Chain& b) { return a.state.value < b.state.value; });
    std::swap(initial_, best->state);
    return going_;
  }

 private:
  bool affords(std::uint64_t work) const {
    return options_.budget == nullptr || options_.budget->affords(work + options_.reserve);
  }
  void spend(const Work& work) const {
    if (options_.budget != nullptr) options_.budget->spend(work.done);
  }
  void spend_move(const Work& work) {
    spend(work);
    place_.tried += 1;
    place_.took += static_cast<double>(work.done);
  }
  /// What a move will take, with some room: as those before, or a guess.
  std::uint64_t next_move() const {
    if (place_.tried < 4) return move_work(problem_, options_, initial_.bones());
    return static_cast<std::uint64_t>(1.3 * place_.took / place_.tried);
  }
  void after_batch() {
    ++place_.batches;
    keep(options_.checkpoint, options_.phase, place_.batches, [&](SavedArrays& arrays) { save(arrays); });
    if (!options_.keep_going) return;
    const double spent = options_.budget != nullptr ? options_.budget->fraction() : -1;
    going_ = options_.keep_going(spent >= 0 ? spent : 1 - std::exp(-0.02 * place_.batches));
  }

  /// Runs body(i) for so many moves side by side; threads that are left over share the passes of each.
  template <class Body>
  void side_by_side(std::size_t count, const Body& body) {
    const int threads = problem_.threads();
    problem_.set_threads(std::max(1, threads / static_cast<int>(count)));
    parallel_for(count, 1, threads, [&](std::size_t i, std::size_t) { body(i); });
    problem_.set_threads(threads);
  }

  /// As many starts as leave most of the budget for what follows.
  void open() {
    const std::uint64_t move = next_move();
    int starts = options_.starts;
    while (starts > 1 && !affords(12 * static_cast<std::uint64_t>(starts) * move)) starts /= 2;
    place_.chains.resize(static_cast<std::size_t>(starts));
    std::vector<Work> works(place_.chains.size());
    side_by_side(place_.chains.size(), [&](std::size_t i) {
      place_.chains[i] = begin(problem_, options_, initial_, static_cast<int>(i), works[i]);
    });
    for (const Work& work : works) spend(work);
    place_.begun = starts;
    place_.heats = starts > 1;
    after_batch();
  }

  /// One move of every start still in it.
  void heat() {
    std::vector<Chain>& chains = place_.chains;
    const std::uint64_t move = next_move();
    const bool more = affords(chains.size() * move);
    if (more) {
      std::vector<std::vector<Trial>> trials(chains.size());
      side_by_side(chains.size(),
                   [&](std::size_t i) { trials[i].push_back(try_move(problem_, options_, chains[i], 0)); });
      for (std::size_t i = 0; i < chains.size(); ++i) {
        spend_move(trials[i].front().work);
        judge(trials[i], chains[i]);
      }
    }
    if (!more || ++place_.heat == kHeat) {
      std::stable_sort(chains.begin(), chains.end(),
                       [](const Chain& a, const Chain& b) { return a.state.value < b.state.value; });
      chains.resize(more ? (chains.size() + 1) / 2 : 1);
      place_.heat = 0;
      place_.heats = chains.size() > 1;
    }
    after_batch();
  }

  /// One batch of the chain that is being followed, or the next one begun. False: the search is over.
  bool climb() {
    std::vector<Chain>& chains = place_.chains;
    if (chains.front().state.value <= kExact * problem_.total_energy()) return false;
    const std::uint64_t move = next_move();
    if (chains.back().failures >= (chains.size() > 1 ? kKicked : options_.patience)) {
      if (chains.size() > 1) {
        if (chains[1].state.value < chains[0].state.value) std::swap(chains[0], chains[1]);
        chains.pop_back();
      }
      const int bones = initial_.bones();
      if (place_.begun >= options_.starts + options_.kicks || !affords(static_cast<std::uint64_t>(bones) * move / 6))
        return false;
      kick();
    } else {
      std::vector<Trial> batch(static_cast<std::size_t>(batch_size(chains.back())));
      if (!affords(batch.size() * move)) return false;
      side_by_side(batch.size(),
                   [&](std::size_t i) { batch[i] = try_move(problem_, options_, chains.back(), static_cast<int>(i)); });
      for (const Trial& trial : batch) spend_move(trial.work);
      judge(batch, chains.back());
    }
    after_batch();
    return true;
  }

  /// From where moves no longer pay, a third of the bones exchanged at once leads elsewhere: up, and sometimes further
  /// down.
  void kick() {
    Chain chain;
    chain.start = place_.begun++;
    chain.state = place_.chains.front().state;
    Work work;
    RunOptions run_options = options_.run;
    run_options.work = &work;
    apply_move(problem_, run_options, {(initial_.bones() + 2) / 3, 0}, kSteady, seed_of(options_.seed, chain.start, -1),
               chain.state);
    pursue(problem_, run_options, 0, kSteady.settled, chain.state);
    spend(work);
    chain.walk = chain.state;
    place_.chains.push_back(std::move(chain));
  }

  void save(SavedArrays& arrays) const;
  void take(const SavedArrays& arrays);

  Problem& problem_;
  const SearchOptions& options_;
  FitState& initial_;
  SearchPlace place_;
  bool going_ = true;
};

std::string chain_name(std::size_t i) {
  return "chain " + std::to_string(i) + " ";
}

void Search::save(SavedArrays& arrays) const {
  save_fit(initial_, "", arrays);
  arrays["place"] =
      numbers({place_.heats ? 1.0 : 0.0, static_cast<double>(place_.heat), static_cast<double>(place_.begun),
               static_cast<double>(place_.batches), place_.tried, place_.took});
  Eigen::MatrixXd& chains = arrays["chains"] = Eigen::MatrixXd(3, static_cast<Eigen::Index>(place_.chains.size()));
  for (std::size_t i = 0; i < place_.chains.size(); ++i) {
    const Chain& chain = place_.chains[i];
    chains.col(static_cast<Eigen::Index>(i)) << chain.start, chain.moves, chain.failures;
    save_fit(chain.state, chain_name(i), arrays);
    save_fit(chain.walk, chain_name(i) + "walk ", arrays);
  }
  if (options_.budget != nullptr) arrays["budget"] = options_.budget->saved();
}

void Search::take(const SavedArrays& arrays) {
  const auto fit = [&](const std::string& prefix) {
    return saved_fit(arrays, prefix, problem_.frame_count(), problem_.vertex_count());
  };
  const Eigen::MatrixXd& place = saved_array(arrays, "place", 6, 1);
  const Eigen::MatrixXd& chains = saved_array(arrays, "chains", 3, -1);
  if (place.minCoeff() < 0 || place.topRows(5).maxCoeff() > 1e9 || chains.cols() == 0 || chains.minCoeff() < 0 ||
      chains.maxCoeff() > 1e9)
    throw Error(ErrorKind::input, "checkpoint: the place of its search does not exist");
  initial_ = fit("");
  place_.heats = place(0) != 0;
  place_.heat = static_cast<int>(place(1));
  place_.begun = static_cast<int>(place(2));
  place_.batches = static_cast<int>(place(3));
  place_.tried = place(4);
  place_.took = std::min(place(5), 1e18);
  for (Eigen::Index i = 0; i < chains.cols(); ++i) {
    const std::string name = chain_name(static_cast<std::size_t>(i));
    place_.chains.push_back({fit(name), fit(name + "walk "), static_cast<int>(chains(0, i)),
                             static_cast<int>(chains(1, i)), static_cast<int>(chains(2, i))});
    if (place_.chains.back().state.bones() != place_.chains.front().state.bones())
      throw Error(ErrorKind::input, "checkpoint: the chains of its search differ in their bones");
  }
  if (options_.budget != nullptr) options_.budget->take(saved_array(arrays, "budget", -1, 1));
}

}  // namespace

bool search_bones(Problem& problem, const SearchOptions& options, FitState& state) {
  return Search(problem, options, state).run();
}

}  // namespace sinew::lbs
