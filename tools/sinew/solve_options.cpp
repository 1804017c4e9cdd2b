#include "solve_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sinew/core/error.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

/// Words for the values of an enum, in the order of the help text, which names them itself.
template <class Enum>
CLI::Validator words(const std::vector<std::pair<std::string, Enum>>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  std::string all = fmt::format("{}", fmt::join(names, "|"));
  return {[values, names](std::string& text) {
            const std::string refusal = not_among(names, text);
            for (const auto& [name, value] : values)
              if (refusal.empty() && name == text) {
                text = std::to_string(static_cast<int>(value));
                break;
              }
            return refusal;
          },
          std::move(all)};
}

void add_ssdr(CLI::App& command, SolveRequest& request) {
  SolveRequest::OnlySsdr& own = request.ssdr;
  command.add_option("--lock-vertices", own.lock_vertices,
                     "With --rig: vertices that keep their weights, by bone or colour set");
  command
      .add_option_function<std::string>(
          "--laplacian",
          [&own](const std::string& text) {
            own.laplacian = text == "graph" ? LaplacianKind::graph : LaplacianKind::rigidness;
          },
          "What --smoothness goes by: rigidness or graph (rigidness)")
      ->check(word_of({"rigidness", "graph"}));
  command.add_flag("--rest-pose", own.rest_pose, "Move the rest pose as well");
}

void add_sma(CLI::App& command, SolveRequest& request) {
  command.add_option("--epsilon", request.sma.epsilon, "Rotation tolerance (0.05): larger, fewer bones")
      ->check(in_range(1e-6, 2.0));
  command
      .add_option_function<std::string>(
          "--weights", [&request](const std::string& text) { set_sma_weights(text, request.sma); },
          "nnls, tsvd or bounded:D, weights of at least -D (nnls)")
      ->check([](const std::string& text) {
        SmaOptions ignored;
        return set_sma_weights(text, ignored) ? std::string() : "expected nnls, tsvd or bounded:NUMBER";
      });
}

void add_flats(CLI::App& command, SolveRequest& request) {
  FlatsOptions& own = request.flats;
  command.add_option("--flat-solver", own.solver, "gauss-newton, or the paper's alternating baseline")
      ->transform(
          words<FlatSolver>({{"gauss-newton", FlatSolver::gauss_newton}, {"alternating", FlatSolver::alternating}}))
      ->default_str("gauss-newton");
  command
      .add_option("--outliers", own.outliers,
                  "Fraction of vertices that may lie beyond each facet of the simplex (chosen automatically)")
      ->check(in_range(0.0, 0.5));
  command.add_option("--quantile", own.quantile, "Fraction of the one-ring maps in the first start (0.5)")
      ->check(in_range(0.001, 1.0));
  command.add_option("--starts", request.starts, "At most this many starts (1; with --quality best 400)")
      ->check(in_range(1, 1000000));
  command.add_flag("--optimize-rest", own.optimize_rest, "Move the rest pose as well");
}

void add_skeleton(CLI::App& command, SolveRequest& request) {
  SkeletonOptions& own = request.skeleton;
  command.add_option("--clusters", own.clusters, "Rigid parts to start from, more than the skeleton needs (64)")
      ->check(in_range(1, 1000));
  command
      .add_option("--detail", own.detail, "How many bones where their number is open: low, medium (default) or high")
      ->transform(words<Detail>({{"low", Detail::low}, {"medium", Detail::medium}, {"high", Detail::high}}))
      ->option_text("low|medium|high");
  command.add_flag("--keep-all-bones", own.keep_all_bones, "Do not prune bones that hardly matter");
  command.add_flag("--free-joints", own.free_joints, "Let joints leave the body where that lowers the error");
  command.add_flag("--symmetric", own.symmetric,
                   "Mirror-symmetric hierarchy and joints; the rest shape must have a mirror plane");
  command.add_flag("--no-symmetric", own.uneven, "Keep joints that nearly mirror each other where the motion has them");
  command.add_flag("--drive-helpers", own.drive_helpers,
                   "Say how the bones of --add-bones follow the joints, for motions yet to come");
  command.add_option("--root", own.root, "Bone to become the root, by name, or 'auto' (the pelvis, or the middle)");
}

/// The name that SolveRequest has for an option: --max-error is max_error.
std::string name_of(const CLI::Option& option) {
  std::string name = option.get_lnames().empty() ? "" : option.get_lnames().front();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Whether some method understands an option of this name and others do not.
bool depends_on_method(const std::string& name) {
  const auto& methods = solve_methods();
  return std::any_of(methods.begin(), methods.end(), [&](const SolveMethod& m) { return takes(m.name, name); });
}

}  // namespace

void add_shared_options(CLI::App& command, SolveRequest& request) {
  auto* const bones =
      command.add_option("--bones", request.bones, "How many bones to ask for (20)")->check(in_range(1, 100000));
  command.add_option("--max-error", request.max_error, "Instead: as few bones as reach this E_RMS")
      ->check(above_zero)
      ->excludes(bones);
  command.add_option("--min-bones", request.min_bones, "With --max-error: fewest bones tried (1)")
      ->check(in_range(1, 100000));
  command
      .add_option("--max-bones", request.max_bones,
                  "With --max-error: most bones tried (128); a skeleton has at most this many")
      ->check(in_range(1, 100000));
  command
      .add_option_function<std::string>(
          "--influences", [&request](const std::string& text) { request.influences = parse_influences(text); },
          "Bones per vertex: a number, or 'all' (4; all with flats)")
      ->check([](const std::string& text) {
        try {
          parse_influences(text);
        } catch (const Error&) {
          return text + " is not a number from 1 up, nor 'all'";
        }
        return std::string();
      });
  command
      .add_option_function<std::string>(
          "--transforms",
          [&request](const std::string& text) {
            request.transforms = text == "rigid" ? Transforms::rigid : Transforms::affine;
          },
          "rigid or affine bones (rigid; affine with kavan, sma, flats and --blendshapes)")
      ->check(word_of({"rigid", "affine"}));
  command
      .add_option_function<std::string>(
          "--start",
          [&request](const std::string& text) { request.start = text == "flats" ? Start::flats : Start::parts; },
          "Where bones start: parts that move rigidly, or flats (parts)")
      ->check(word_of({"parts", "flats"}));
  command.add_flag_callback(
      "--skeleton",
      [&request, &command] {
        if (command.count("--method") == 0) request.method = "skeleton";
      },
      "Join the bones in a hierarchy: --method skeleton");
  command
      .add_option("--smoothness", request.smoothness,
                  "How much to smooth the weights over the surface (0; 1e-6 with skeleton)")
      ->check(not_negative);
  command.add_option("--iterations", request.iterations, "At most this many iterations (by method and quality)")
      ->check(not_negative);
  command.add_option("--quality", request.quality, "fast, balanced or best (balanced)")
      ->transform(words<Quality>({{"fast", Quality::fast}, {"balanced", Quality::balanced}, {"best", Quality::best}}))
      ->default_str("balanced");
  auto* const time =
      command.add_option("--time", request.time, "Seconds to look for a better answer, instead of a quality")
          ->check(above_zero)
          ->excludes("--quality");
  command.add_option("--work", request.work, "The same in units of work, which the report tells: the same bits again")
      ->check(above_zero)
      ->excludes("--quality")
      ->excludes(time);
  command.add_option("--surface", request.surface, "How much normals count beside distances (0)")->check(not_negative);
  command
      .add_option_function<std::string>(
          "--device", [&request](const std::string& text) { set_device(text, request.device); },
          "auto, cpu, cuda or cuda:N, the GPU of that number (auto)")
      ->check([](const std::string& text) {
        Device device;
        return set_device(text, device) ? std::string() : "auto, cpu, cuda or cuda:N is expected, not " + text;
      });
  command.add_option("--seed", request.seed, "Seed of everything random (1)")->check(not_negative);
  command.add_option("--threads", request.threads, "Threads; the result does not depend on it (all cores)")
      ->check(in_range(0, 4096));
}

OptionOwners add_method_options(CLI::App& command, SolveRequest& request) {
  std::vector<std::string> names;
  std::string help = fmt::format("How to solve it ({})", request.method);
  for (const SolveMethod& method : solve_methods()) {
    names.emplace_back(method.name);
    help += fmt::format("\n{}: {}", method.name, method.summary);
  }
  command.add_option("--method", request.method, help)->check(word_of(names))->default_str(request.method);
  OptionOwners owners;
  const std::vector<std::pair<std::string, void (*)(CLI::App&, SolveRequest&)>> rooms{
      {"ssdr", add_ssdr}, {"sma", add_sma}, {"flats", add_flats}, {"skeleton", add_skeleton}};
  for (const auto& [method, add] : rooms) {
    const std::vector<CLI::Option*> before = command.get_options();
    const std::set<CLI::Option*> known(before.begin(), before.end());
    add(command, request);
    for (CLI::Option* option : command.get_options()) {
      if (known.count(option) != 0) continue;
      option->group(fmt::format("Only with --method {}", method));
      owners[option] = method;
    }
  }
  return owners;
}

void check_options_taken(const CLI::App& command, const OptionOwners& owners, const SolveRequest& request) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = name_of(*option);
    if (option->count() == 0 || takes(request.method, name)) continue;
    const auto owner = owners.find(option);
    if (owner != owners.end())
      throw Error(ErrorKind::usage, fmt::format("{} belongs to --method {}, not to {}", option->get_name(),
                                                owner->second, request.method));
    if (depends_on_method(name))
      throw Error(ErrorKind::usage,
                  fmt::format("{} is not something --method {} can do", option->get_name(), request.method));
  }
}

}  // namespace sinew::tool
