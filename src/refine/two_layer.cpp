#include "sinew/refine/two_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

#include "core/index.h"
#include "math/parallel.h"
#include "refine/two_layer_solver.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"
#include "sinew/evaluate/errors.h"

// Two-layer sparse compression [LeDeng2013]. W (B×V) holds the weights w_v, D (B×M) the dictionary, α_v the q
// coefficients of vertex v. Everything below is written for f_v(x) = xᵀ Q_v x (two_layer_metric.h), so that compression
// with and without examples is the same text.
namespace sinew {
namespace two_layer {
namespace {

constexpr std::size_t kGrain = 512;
constexpr int kExchanges = 10;
constexpr int kMotionSteps = 120;          // most steps that fit the motion as well
constexpr int kMotionWindow = 10;          // steps over which they must
constexpr double kWindowGain = 0.01;       // gain this share of Σ f
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

/// One pass over all vertices. Chunks see each other's codes as they were before the pass, so that the result does not
/// depend on the threads.
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

double total(const State& state) {
  double sum = 0;
  for (const double e : state.error) sum += e;
  return sum;
}

/// Adds targets of the worst vertices as atoms until there are `wanted` or nothing is left to improve (line 4 to 8).
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

/// What stops the growth, in terms of Σ f.
struct Limits {
  std::size_t atoms = 0;   // Σ
  double max_error = 0;    // ε; 0: none
  double per_total = 0;    // Δ² = (Σ f − lower bounds) · per_total
  double bound_total = 0;  // Σ of the lower bounds
};

double delta(const Limits& limits, double sum) {
  return std::sqrt(std::max(0.0, (sum - limits.bound_total) * limits.per_total));
}

/// Numbers the atoms in the order in which the vertices use them, so that neighbours in memory share them; atoms
/// without users go, or come last.
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

/// Takes out the unused atoms and the `wanted` that are worth least, never two that share a vertex: their users fall
/// back on what is near.
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

/// Algorithm 1.
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

/// The edges of the mesh, and links for vertices outside its largest part: without them no atom of one part would
/// ever be tried in another. Linked are vertices that follow each other when sorted by their largest weight.
Adjacency linked_adjacency(const Mesh& mesh, const MatrixXf& W) {
  Adjacency adjacency = mesh_adjacency(mesh);
  const Components parts = connected_components(adjacency);
  if (parts.count < 2) return adjacency;
  std::vector<std::size_t> sizes(parts.count, 0);
  for (const Index part : parts.label) ++sizes[part];
  const auto largest = static_cast<Index>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
  const std::size_t V = adjacency.vertex_count();
  std::vector<Index> bone(V);
  std::vector<Index> order(V);
  for (std::size_t v = 0; v < V; ++v) {
    Eigen::Index b = 0;
    W.col(index(v)).maxCoeff(&b);
    bone[v] = static_cast<Index>(b);
    order[v] = static_cast<Index>(v);
  }
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    if (bone[a] != bone[b]) return bone[a] < bone[b];
    const float x = W(bone[a], a);
    const float y = W(bone[b], b);
    return x != y ? x > y : a < b;
  });
  std::vector<std::pair<Index, Index>> links;
  for (std::size_t i = 1; i < V; ++i)
    if (parts.label[order[i]] != largest || parts.label[order[i - 1]] != largest) {
      links.emplace_back(order[i], order[i - 1]);
      links.emplace_back(order[i - 1], order[i]);
    }
  for (std::size_t v = 0; v < V; ++v)
    for (const Index j : adjacency[v]) links.emplace_back(static_cast<Index>(v), j);
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  Adjacency out;
  out.starts.assign(V + 1, 0);
  for (const auto& [from, to] : links) {
    ++out.starts[from + 1];
    out.neighbors.push_back(to);
  }
  std::partial_sum(out.starts.begin(), out.starts.end(), out.starts.begin());
  return out;
}

MatrixXf dense_weights(const Rig& rig) {
  return unpack_weights(rig.weights, rig.bone_count()).transpose();
}

/// The model as floats: atoms as rows of as many slots as the fullest needs, in order of bone, codes as rows of q.
TwoLayer finish(State& state) {
  renumber(state, false);
  TwoLayer out;
  std::size_t masters = 1;
  for (Eigen::Index j = 0; j < state.D.cols(); ++j)
    masters = std::max(masters, static_cast<std::size_t>((state.D.col(j).array() != 0).count()));
  out.dictionary = {static_cast<int>(masters), std::vector<Index>(masters * state.atoms(), 0),
                    std::vector<float>(masters * state.atoms(), 0.0F)};
  for (std::size_t j = 0; j < state.atoms(); ++j) {
    std::size_t slot = j * masters;
    for (Eigen::Index b = 0; b < state.D.rows(); ++b) {
      const double value = state.D(b, index(j));
      if (value == 0) continue;
      out.dictionary.columns[slot] = static_cast<Index>(b);
      out.dictionary.values[slot++] = static_cast<float>(value);
    }
  }
  const auto q = static_cast<std::size_t>(state.slots);
  out.coefficients = {state.slots, std::vector<Index>(q * state.codes.size(), 0),
                      std::vector<float>(q * state.codes.size(), 0.0F)};
  for (std::size_t v = 0; v < state.codes.size(); ++v)
    for (int s = 0; s < state.codes[v].count; ++s) {
      out.coefficients.columns[v * q + static_cast<std::size_t>(s)] = state.codes[v].atoms[s];
      out.coefficients.values[v * q + static_cast<std::size_t>(s)] = static_cast<float>(state.codes[v].values[s]);
    }
  return out;
}

}  // namespace
}  // namespace two_layer

double two_layer_weight_error(const Rig& rig, const TwoLayer& model) {
  const Eigen::MatrixXf W = two_layer::dense_weights(rig);
  const auto q = static_cast<std::size_t>(model.coefficients.slots);
  const auto c = static_cast<std::size_t>(model.dictionary.slots);
  double sum = 0;
  Eigen::VectorXd x(W.rows());
  for (std::size_t v = 0; v < rig.vertex_count(); ++v) {
    x = -W.col(index(v)).cast<double>();
    for (std::size_t s = v * q; s < (v + 1) * q; ++s)
      for (std::size_t i = model.coefficients.columns[s] * c; i < (model.coefficients.columns[s] + 1) * c; ++i)
        x[model.dictionary.columns[i]] +=
            static_cast<double>(model.coefficients.values[s]) * static_cast<double>(model.dictionary.values[i]);
    sum += x.squaredNorm();
  }
  return std::sqrt(sum / static_cast<double>(W.size()));
}

namespace {

void check_options(const Rig& rig, const Sequence* examples, const TwoLayerOptions& o) {
  const auto refuse = [](const std::string& sentence) { throw Error(ErrorKind::usage, "compress: " + sentence); };
  if (o.virtual_per_vertex < 2 || o.virtual_per_vertex > two_layer::kMaxSlots)
    refuse(fmt::format("{} virtual bones per vertex, expected 2 to {}", o.virtual_per_vertex, two_layer::kMaxSlots));
  if (o.virtual_bones < 0) refuse(fmt::format("{} virtual bones", o.virtual_bones));
  if (o.masters_per_virtual < 0) refuse(fmt::format("{} bones per virtual bone", o.masters_per_virtual));
  if (!(o.max_error >= 0)) refuse(fmt::format("largest error {}", o.max_error));
  if (o.virtual_bones == 0 && o.max_error == 0 && !(o.blends_per_vertex > o.virtual_per_vertex))
    refuse(fmt::format("{} blends per vertex, of which {} are for virtual bones; more are needed", o.blends_per_vertex,
                       o.virtual_per_vertex));
  if (examples == nullptr) return;
  if (examples->vertex_count() != rig.vertex_count() || examples->frame_count() != rig.frame_count())
    throw Error(ErrorKind::input,
                fmt::format("compress: examples of {} vertices in {} frames, the rig has {} in {}",
                            examples->vertex_count(), examples->frame_count(), rig.vertex_count(), rig.frame_count()));
}

/// c: as many bones as a vertex has on average, unless told.
std::size_t masters_of(const two_layer::MatrixXf& W, const TwoLayerOptions& options) {
  if (options.masters_per_virtual > 0) return static_cast<std::size_t>(options.masters_per_virtual);
  const auto used = static_cast<double>((W.array() != 0).count());
  return static_cast<std::size_t>(std::ceil(used / static_cast<double>(std::max<Eigen::Index>(1, W.cols()))));
}

std::size_t atoms_of(const Rig& rig, const TwoLayerOptions& options, std::size_t masters) {
  if (options.virtual_bones > 0) return static_cast<std::size_t>(std::max(2, options.virtual_bones));
  if (options.max_error > 0) return std::max<std::size_t>(2, rig.vertex_count());
  const double blends =
      (options.blends_per_vertex - options.virtual_per_vertex) * static_cast<double>(rig.vertex_count());
  return std::max<std::size_t>(2, static_cast<std::size_t>(blends / static_cast<double>(masters)));
}

}  // namespace

namespace two_layer {
namespace {

/// to + β (to − from), bone by bone.
Motion extrapolated(const Motion& from, const Motion& to, double beta) {
  Motion out = to;
  for (std::size_t f = 0; f < to.frame_count(); ++f)
    for (std::size_t b = 0; b < to.bone_count(); ++b) out(f, b) += static_cast<float>(beta) * (to(f, b) - from(f, b));
  return out;
}

/// Motion, dictionary and coefficients in turn, since a motion that suited dense weights is not the best one for two
/// sparse layers. The motion is extrapolated by Nesterov's rule; a step that does not pay is undone and the momentum
/// dropped, so that Σ f only falls.
bool refit_motion_too(ExampleMetric& metric, const Sequence& examples, const Adjacency& adjacency,
                      const TwoLayerOptions& options, double scale, const Limits& limits, State& state, Rig& rig,
                      TwoLayerReport& report, const Progress& progress) {
  remove_atoms(metric, adjacency, 0, state, options.threads);  // those that lost their users, for others
  add_atoms(metric, adjacency, limits.atoms, state);
  Motion last = rig.motion;  // the least-squares motion of the step before
  int age = 0;               // steps since the momentum was dropped
  double window = total(state);
  for (int step = 0; step < kMotionSteps; ++step) {
    State trial = state;
    Rig moved = rig;
    refit_motion(trial, examples, scale, options.threads, moved);
    const Motion fitted = moved.motion;
    if (age > 0) moved.motion = extrapolated(last, fitted, (age - 1.0) / (age + 2.0));
    metric.update_motion(moved, examples, scale, options.threads);
    update_dictionary(metric, trial);
    update_coefficients(metric, adjacency, trial, options.threads);
    const bool pays = total(trial) < total(state);
    if (!pays && age <= 1) break;  // without momentum: nothing left to gain
    age = pays ? age + 1 : 0;
    if (pays) {
      last = fitted;
      rig.motion = moved.motion;
      state = std::move(trial);
    }
    report.history.push_back(delta(limits, total(state)));
    if (!tell(progress, "motion", (step + 1.0) / kMotionSteps)) return false;
    if (step % kMotionWindow == kMotionWindow - 1) {
      if (!(window - total(state) > kWindowGain * window)) break;
      window = total(state);
    }
  }
  return true;
}

}  // namespace
}  // namespace two_layer

Rig compress_two_layer(Rig rig, const Sequence* examples, const TwoLayerOptions& options, TwoLayerReport& report,
                       const Progress& progress) {
  using namespace two_layer;
  check_options(rig, examples, options);
  report = {};
  const auto V = static_cast<double>(rig.vertex_count());
  MatrixXf W = dense_weights(rig);
  const std::size_t masters = std::min(masters_of(W, options), rig.bone_count());
  const Adjacency adjacency = linked_adjacency(rig.rest, W);
  Limits limits;
  limits.atoms = atoms_of(rig, options, masters);
  limits.max_error = options.max_error;
  State state;
  if (examples == nullptr) {
    limits.per_total = 1 / (static_cast<double>(rig.bone_count()) * V);
    state = factorise(WeightMetric(W), adjacency, options, masters, limits, report, progress);
  } else {
    const double radius = smallest_enclosing_sphere(rig.rest.positions).radius;
    const double scale = radius > 0 ? radius : 1;
    limits.per_total = 1 / (3 * V * static_cast<double>(rig.frame_count()));
    ExampleMetric metric(rig, *examples, scale, std::move(W), options.threads);
    for (std::size_t v = 0; v < rig.vertex_count(); ++v) limits.bound_total += metric.lower_bound(v);
    state = factorise(metric, adjacency, options, masters, limits, report, progress);
    const bool free_bones = rig.transforms == Transforms::affine && !rig.jointed;
    if (free_bones && !options.keep_motion && !report.cancelled)
      report.cancelled =
          !refit_motion_too(metric, *examples, adjacency, options, scale, limits, state, rig, report, progress);
    report.example_error = delta(limits, total(state));
  }
  TwoLayer out = finish(state);
  report.virtual_bones = static_cast<int>(state.atoms());
  report.masters_per_virtual = out.dictionary.slots;
  report.blends_per_vertex = options.virtual_per_vertex + static_cast<double>(out.dictionary.values.size()) / V;
  report.weight_error = two_layer_weight_error(rig, out);
  rig.two_layer = std::move(out);
  return rig;
}

}  // namespace sinew
