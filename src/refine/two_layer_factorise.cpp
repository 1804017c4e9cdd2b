#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

#include "core/index.h"
#include "math/parallel.h"
#include "refine/two_layer_solver.h"

// Dictionary and coefficients of two-layer compression: algorithms 1 and 2 of [LeDeng2013]. Written for
// f_v(x) = xᵀ Q_v x (two_layer_metric.h), so that compression with and without examples is the same text.
namespace sinew::two_layer {
namespace {

constexpr std::size_t kGrain = 512;
constexpr int kExchanges = 10;
constexpr std::size_t kExchangeShare = 8;  // one atom in so many is moved at a time

/// The distinct atoms that v and its neighbours use, v's own first.
struct Candidates {
  Index atoms[kMaxCandidates];
  std::size_t count = 0;

  void add(Index atom) {
    if (count == kMaxCandidates || std::find(atoms, atoms + count, atom) != atoms + count) return;
    atoms[count++] = atom;
  }
  void add(const Code& code) {
    for (int s = 0; s < code.count; ++s) add(code.atoms[s]);
  }
  void remove(Index atom) { count = static_cast<std::size_t>(std::remove(atoms, atoms + count, atom) - atoms); }
};

/// Scratch of one thread.
struct Workspace {
  explicit Workspace(Eigen::Index bones)
      : atoms(bones, index(kMaxCandidates)),
        scratch(bones, index(kMaxCandidates)),
        K(index(kMaxCandidates), index(kMaxCandidates)) {}
  MatrixXd atoms, scratch, K;
};

/// Algorithm 2, lines 1, 2 and 4: the best code of v among the candidates, if it is better than `error`.
template <class Metric>
bool recode(const Metric& metric, const State& state, std::size_t v, const Candidates& candidates, double& error,
            Code& code, Workspace& work) {
  const auto P = index(candidates.count);
  for (Eigen::Index a = 0; a < P; ++a) work.atoms.col(a) = state.D.col(index(candidates.atoms[a]));
  auto K = work.K.topLeftCorner(P, P);
  metric.gram(v, work.atoms.leftCols(P), K, work.scratch);
  Code local;
  const double f = best_code(K, state.slots, error, local);
  if (!(f < error)) return false;
  for (int s = 0; s < local.count; ++s) local.atoms[s] = candidates.atoms[local.atoms[s]];
  code = local;
  error = f;
  return true;
}

/// Propagates from `start` over the mesh as long as codes improve (Algorithm 2, with a queue in place of recursion).
template <class Metric>
void propagate(const Metric& metric, const Adjacency& adjacency, Index start, State& state, Workspace& work,
               std::vector<Index>& queue) {
  constexpr double kWorthwhile = 1e-2;  // relative improvement of f that is passed on
  queue.assign(1, start);
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const Index i = queue[next];
    for (const Index j : adjacency[i]) {
      Candidates candidates;
      candidates.add(state.codes[j]);
      candidates.add(state.codes[i]);
      const double before = state.error[j];
      if (recode(metric, state, j, candidates, state.error[j], state.codes[j], work) &&
          before - state.error[j] > kWorthwhile * before)
        queue.push_back(j);
    }
  }
}

/// The atoms of v, of its neighbours and of theirs. Codes inside [begin, end) are current, others as before the pass.
Candidates neighbourhood(const Adjacency& adjacency, const State& state, const std::vector<Code>& before, std::size_t v,
                         std::size_t begin, std::size_t end) {
  const auto code_of = [&](Index j) -> const Code& { return j >= begin && j < end ? state.codes[j] : before[j]; };
  Candidates candidates;
  candidates.add(state.codes[v]);
  for (const Index i : adjacency[v]) candidates.add(code_of(i));
  for (const Index i : adjacency[v])
    for (const Index j : adjacency[i]) candidates.add(code_of(j));
  return candidates;
}

}  // namespace

template <class Metric>
void update_coefficients(const Metric& metric, const Adjacency& adjacency, State& state, int threads) {
  const std::vector<Code> before = state.codes;
  parallel_for(state.codes.size(), kGrain, threads, [&](std::size_t begin, std::size_t end) {
    Workspace work(state.D.rows());
    for (std::size_t v = begin; v < end; ++v) {
      double error = HUGE_VAL;  // the dictionary has moved: the old error says nothing
      recode(metric, state, v, neighbourhood(adjacency, state, before, v, begin, end), error, state.codes[v], work);
      state.error[v] = error;
    }
  });
}

namespace {}  // namespace

template <class Metric>
void add_atoms(const Metric& metric, const Adjacency& adjacency, std::size_t wanted, State& state) {
  using Entry = std::pair<double, Index>;
  const auto excess = [&](Index v) { return state.error[v] - metric.lower_bound(v); };
  std::vector<Entry> entries(state.codes.size());
  for (std::size_t v = 0; v < entries.size(); ++v) entries[v] = {excess(static_cast<Index>(v)), static_cast<Index>(v)};
  std::priority_queue<Entry> worst(std::less<Entry>(), std::move(entries));
  Workspace work(state.D.rows());
  std::vector<Index> queue;
  auto m = index(state.atoms());
  state.D.conservativeResize(Eigen::NoChange, index(wanted));
  while (m < index(wanted) && !worst.empty()) {
    const auto [key, v] = worst.top();
    worst.pop();
    if (!(excess(v) > 1e-14)) {
      if (key == excess(v)) break;
      continue;
    }
    if (excess(v) < key) {  // improved since: errors only fall while atoms are added
      worst.push({excess(v), v});
      continue;
    }
    state.D.col(m) = metric.targets().col(v).template cast<double>();
    sparsify(state.D.col(m), state.masters);
    Candidates candidates;
    candidates.add(static_cast<Index>(m));
    candidates.add(state.codes[v]);
    ++m;
    if (recode(metric, state, v, candidates, state.error[v], state.codes[v], work))
      propagate(metric, adjacency, v, state, work, queue);
  }
  state.D.conservativeResize(Eigen::NoChange, m);
}

namespace {

/// The first two atoms: the target of largest norm and the one least like it. Every vertex is coded with them.
template <class Metric>
State initial_state(const Metric& metric, int slots, std::size_t masters) {
  const MatrixXf& W = metric.targets();
  Eigen::Index first = 0;
  Eigen::Index second = 0;
  W.colwise().squaredNorm().maxCoeff(&first);
  (W.col(first).transpose() * W).minCoeff(&second);
  State state;
  state.slots = slots;
  state.masters = masters;
  state.D.resize(W.rows(), 2);
  state.D.col(0) = W.col(first).cast<double>();
  state.D.col(1) = W.col(second).cast<double>();
  for (int a = 0; a < 2; ++a) sparsify(state.D.col(a), masters);
  state.codes.resize(static_cast<std::size_t>(W.cols()));
  state.error.assign(state.codes.size(), HUGE_VAL);
  Workspace work(W.rows());
  Candidates both;
  both.add(Index{0});
  both.add(Index{1});
  for (std::size_t v = 0; v < state.codes.size(); ++v)
    recode(metric, state, v, both, state.error[v], state.codes[v], work);
  return state;
}

}  // namespace

void renumber(State& state, bool keep_unused) {
  constexpr Index kNone = ~Index{0};
  std::vector<Index> number(state.atoms(), kNone);
  std::vector<Eigen::Index> order;
  for (Code& code : state.codes)
    for (int s = 0; s < code.count; ++s) {
      Index& n = number[code.atoms[s]];
      if (n == kNone) {
        n = static_cast<Index>(order.size());
        order.push_back(index(code.atoms[s]));
      }
      code.atoms[s] = n;
    }
  for (std::size_t j = 0; keep_unused && j < number.size(); ++j)
    if (number[j] == kNone) order.push_back(index(j));
  const MatrixXd D = state.D(Eigen::all, order);
  state.D = D;
}

namespace {

/// Dictionary and coefficients in turn until neither helps (lines 9 to 14).
template <class Metric>
bool optimise(const Metric& metric, const Adjacency& adjacency, const TwoLayerOptions& options, const Limits& limits,
              State& state, TwoLayerReport& report, const Progress& progress) {
  renumber(state, true);
  double last = total(state);
  for (int iteration = 0; iteration < options.max_iterations; ++iteration) {
    update_dictionary(metric, state);
    update_coefficients(metric, adjacency, state, options.threads);
    const double now = total(state);
    report.history.push_back(delta(limits, now));
    if (!tell(progress, "compress", static_cast<double>(state.atoms()) / static_cast<double>(limits.atoms)))
      return false;
    if (!(last - now > options.tolerance * (last - limits.bound_total))) break;
    last = now;
  }
  return true;
}

/// What each atom is worth: by how much Σ f would grow if its users had to do without it.
template <class Metric>
std::vector<double> worth_of_atoms(const Metric& metric, const Adjacency& adjacency, const State& state, int threads) {
  std::vector<double> loss(state.codes.size() * kMaxSlots, 0.0);
  parallel_for(state.codes.size(), kGrain, threads, [&](std::size_t begin, std::size_t end) {
    Workspace work(state.D.rows());
    for (std::size_t v = begin; v < end; ++v)
      for (int s = 0; s < state.codes[v].count; ++s) {
        Candidates candidates = neighbourhood(adjacency, state, state.codes, v, begin, end);
        candidates.remove(state.codes[v].atoms[s]);
        double error = HUGE_VAL;
        Code code;
        if (candidates.count > 0) recode(metric, state, v, candidates, error, code, work);
        loss[v * kMaxSlots + static_cast<std::size_t>(s)] = error - state.error[v];
      }
  });
  std::vector<double> worth(state.atoms(), 0.0);
  for (std::size_t v = 0; v < state.codes.size(); ++v)
    for (int s = 0; s < state.codes[v].count; ++s)
      worth[state.codes[v].atoms[s]] += loss[v * kMaxSlots + static_cast<std::size_t>(s)];
  return worth;
}

}  // namespace

template <class Metric>
void remove_atoms(const Metric& metric, const Adjacency& adjacency, std::size_t wanted, State& state, int threads) {
  const std::vector<double> worth = worth_of_atoms(metric, adjacency, state, threads);
  std::vector<Index> order(state.atoms());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return worth[a] < worth[b]; });
  const Users users = users_of(state);
  std::vector<char> touched(state.codes.size(), 0);
  std::vector<char> removed(state.atoms(), 0);
  std::size_t count = 0;
  for (const Index j : order) {
    if (count == wanted && !users[j].empty()) break;
    const auto is_touched = [&](const std::pair<Index, double>& user) { return touched[user.first] != 0; };
    if (std::any_of(users[j].begin(), users[j].end(), is_touched)) continue;
    for (const auto& [v, value] : users[j]) touched[v] = 1;
    removed[j] = 1;
    if (!users[j].empty()) ++count;
  }
  Workspace work(state.D.rows());
  for (std::size_t v = 0; v < state.codes.size(); ++v) {
    if (touched[v] == 0) continue;
    Candidates candidates = neighbourhood(adjacency, state, state.codes, v, 0, state.codes.size());
    for (std::size_t i = candidates.count; i-- > 0;)
      if (removed[candidates.atoms[i]] != 0) candidates.remove(candidates.atoms[i]);
    state.error[v] = HUGE_VAL;
    recode(metric, state, v, candidates, state.error[v], state.codes[v], work);
  }
  std::vector<Index> renumbered(state.atoms());
  Eigen::Index kept = 0;
  for (std::size_t j = 0; j < removed.size(); ++j) {
    if (removed[j] != 0) continue;
    state.D.col(kept) = state.D.col(index(j));
    renumbered[j] = static_cast<Index>(kept++);
  }
  state.D.conservativeResize(Eigen::NoChange, kept);
  for (Code& code : state.codes)
    for (int s = 0; s < code.count; ++s) code.atoms[s] = renumbered[code.atoms[s]];
}

namespace {

/// Moves atoms from where they are hardly needed to where the error is largest, while that lowers the error.
template <class Metric>
bool exchange(const Metric& metric, const Adjacency& adjacency, const TwoLayerOptions& options, const Limits& limits,
              State& state, TwoLayerReport& report, const Progress& progress) {
  for (int round = 0; round < kExchanges; ++round) {
    State trial = state;
    const std::size_t m = state.atoms();
    remove_atoms(metric, adjacency, std::max<std::size_t>(1, m / kExchangeShare), trial, options.threads);
    add_atoms(metric, adjacency, m, trial);
    const bool going = optimise(metric, adjacency, options, limits, trial, report, progress);
    const double before = total(state);
    const double gain = before - total(trial);
    if (gain > 0) state = std::move(trial);
    if (!going) return false;
    if (!(gain > options.tolerance * (before - limits.bound_total))) break;
  }
  return true;
}

}  // namespace

double delta(const Limits& limits, double sum) {
  return std::sqrt(std::max(0.0, (sum - limits.bound_total) * limits.per_total));
}

double total(const State& state) {
  double sum = 0;
  for (const double e : state.error) sum += e;
  return sum;
}

template <class Metric>
State factorise(const Metric& metric, const Adjacency& adjacency, const TwoLayerOptions& options, std::size_t masters,
                const Limits& limits, TwoLayerReport& report, const Progress& progress) {
  State state = initial_state(metric, options.virtual_per_vertex, masters);
  while (state.atoms() < limits.atoms) {
    const std::size_t m = state.atoms();
    std::size_t wanted = std::min(limits.atoms, std::max(limits.atoms / 16, 2 * m));
    const double error = delta(limits, total(state));
    if (limits.max_error > 0)  // eq. 3
      wanted =
          std::min(wanted, m + 1 + static_cast<std::size_t>((error / limits.max_error - 1) * static_cast<double>(m)));
    add_atoms(metric, adjacency, wanted, state);
    if (state.atoms() == m) break;
    if (!optimise(metric, adjacency, options, limits, state, report, progress)) {
      report.cancelled = true;
      break;
    }
    if (limits.max_error > 0 && delta(limits, total(state)) <= limits.max_error) return state;
  }
  if (!report.cancelled && state.atoms() > 2 && limits.max_error == 0)
    report.cancelled = !exchange(metric, adjacency, options, limits, state, report, progress);
  return state;
}

// For weights alone, and for weights and examples.
template void update_coefficients(const WeightMetric& metric, const Adjacency& adjacency, State& state, int threads);
template void add_atoms(const WeightMetric& metric, const Adjacency& adjacency, std::size_t wanted, State& state);
template void remove_atoms(const WeightMetric& metric, const Adjacency& adjacency, std::size_t wanted, State& state,
                           int threads);
template State factorise(const WeightMetric& metric, const Adjacency& adjacency, const TwoLayerOptions& options,
                         std::size_t masters, const Limits& limits, TwoLayerReport& report, const Progress& progress);
template void update_coefficients(const ExampleMetric& metric, const Adjacency& adjacency, State& state, int threads);
template void add_atoms(const ExampleMetric& metric, const Adjacency& adjacency, std::size_t wanted, State& state);
template void remove_atoms(const ExampleMetric& metric, const Adjacency& adjacency, std::size_t wanted, State& state,
                           int threads);
template State factorise(const ExampleMetric& metric, const Adjacency& adjacency, const TwoLayerOptions& options,
                         std::size_t masters, const Limits& limits, TwoLayerReport& report, const Progress& progress);

}  // namespace sinew::two_layer
