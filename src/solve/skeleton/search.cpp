#include "solve/skeleton/search.h"

#include <algorithm>
#include <array>
#include <random>

#include "core/index.h"
#include "solve/skeleton/moves.h"
#include "solve/skeleton/saved.h"
#include "solve/skeleton/start.h"
#include "solve/skeleton/strict.h"

namespace sinew::skeleton {
namespace {

constexpr int kSettle = 8;        // rounds after a move before it is judged, and once more where it comes near
constexpr double kNear = 0.04;    // E_RMS above the best that is worth those
constexpr int kPatience = 16;     // moves, or a quarter of them if more: the search ends where so many gain less than
constexpr double kGained = 0.01;  // of the error
constexpr double kSlack = 0.03;   // E_RMS above the best from which moves go on, at first; falls to 0

enum class Move { add_one, add_two, add_many, exchange_edges, loosen };

/// In turn; loosening is cheap and pays most often.
constexpr std::array kMoves{Move::loosen, Move::add_one,  Move::loosen, Move::add_two,
                            Move::loosen, Move::add_many, Move::loosen, Move::exchange_edges};

/// By which skeletons are compared.
double price_of(const SkeletonFit& fit) {
  return fit.e_rms() * surcharge(fit);
}

/// False where there is nothing to move. The number of bones stays.
bool make_move(SkeletonFit& fit, Move move, std::uint64_t seed) {
  if (move == Move::exchange_edges) return exchange_edges(fit) > 0;
  if (move == Move::loosen) {
    loosen(fit);
    return true;
  }
  const int bones = fit.state.bones();
  grow_by(fit, move == Move::add_one ? 1 : move == Move::add_two ? 2 : 1 + bones / 6, seed);
  strict_rounds(fit, 3, 2);
  shrink_to(fit, bones);
  return true;
}

}  // namespace

bool search_skeleton(SkeletonFit& best, int moves, std::uint64_t seed, Checkpoint* checkpoint,
                     const Progress& progress) {
  std::mt19937_64 random(seed);
  SkeletonFit current = best;
  std::vector<double> errors;  // the least price before every move
  int first = 0;
  if (const auto saved = resume(checkpoint, kSkeletonSearch)) {
    take_skeleton(saved->arrays, "best ", best);
    take_skeleton(saved->arrays, "current ", current);
    first = std::min(moves, static_cast<int>(saved->step));
    const Eigen::MatrixXd& before = saved_array(saved->arrays, "errors", -1, 1);
    errors.assign(before.data(), before.data() + before.size());
    random.discard(static_cast<unsigned long long>(first));
  }
  if (best.state.bones() < 2) return true;
  const auto patience = static_cast<std::size_t>(std::max(kPatience, moves / 4));
  for (int move = first; move < moves; ++move) {
    keep(checkpoint, kSkeletonSearch, move, [&](SavedArrays& arrays) {
      save_skeleton(best, "best ", arrays);
      save_skeleton(current, "current ", arrays);
      arrays["errors"] = Eigen::Map<const Eigen::VectorXd>(errors.data(), index(errors.size()));
    });
    const double least = price_of(best);
    if (best.e_rms() < kSearchTruncation) break;  // what is left is what the reduction leaves out
    errors.push_back(least);
    if (errors.size() > patience && least > (1 - kGained) * errors[errors.size() - 1 - patience]) break;
    const double done = static_cast<double>(move) / moves;
    if (!tell(progress, "search", done)) return false;
    const double limit = least * (1 + kSlack * (1 - done));
    if (price_of(current) > limit) current = best;
    SkeletonFit tried = current;
    if (!make_move(tried, kMoves[static_cast<std::size_t>(move) % kMoves.size()], random())) continue;
    converge(tried, kSettle);
    if (price_of(tried) < least * (1 + kNear)) converge(tried, kSettle);
    const double reached = price_of(tried);
    if (reached < limit) current = tried;
    if (reached < least) best = std::move(tried);
  }
  return true;
}

}  // namespace sinew::skeleton
