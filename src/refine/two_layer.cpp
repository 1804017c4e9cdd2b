#include "sinew/refine/two_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/index.h"
#include "math/parallel.h"
#include "refine/two_layer_solver.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"
#include "sinew/evaluate/errors.h"

// Two-layer sparse compression [LeDeng2013]. W (B×V) holds the weights w_v, D (B×M) the dictionary, α_v the q
// coefficients of vertex v. The factorisation itself is in two_layer_factorise.cpp.
namespace sinew {
namespace two_layer {
namespace {

constexpr int kMotionSteps = 120;     // most steps that fit the motion as well
constexpr int kMotionWindow = 10;     // steps over which they must
constexpr double kWindowGain = 0.01;  // gain this share of Σ f

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
