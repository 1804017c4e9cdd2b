#include <map>

#include "sinew/core/error.h"
#include "sinew/solve/skeleton.h"
#include "solve.h"

namespace sinew::tool {

Method skeleton_method() {
  auto own = std::make_shared<SkeletonOptions>();
  Method method;
  method.name = "skeleton";
  method.summary = "a joint hierarchy whose bones only rotate (also: --skeleton)";
  method.takes = {"--influences", "--smoothness", "--iterations", "--max-bones", "--max-error",
                  "--skeleton",   "--rig",        "--fit",        "--add-bones"};
  method.add_options = [own](CLI::App& command) {
    command.add_option("--clusters", own->clusters, "Rigid parts to start from, more than the skeleton needs (64)")
        ->check(CLI::Range(1, 1000));
    command
        .add_option("--detail", own->detail, "How many bones where their number is open: low, medium (default) or high")
        ->transform(CLI::CheckedTransformer(
            std::map<std::string, Detail>{{"low", Detail::low}, {"medium", Detail::medium}, {"high", Detail::high}}))
        ->option_text("low|medium|high");
    command.add_flag("--keep-all-bones", own->keep_all_bones, "Do not prune bones that hardly matter");
    command.add_flag("--free-joints", own->free_joints, "Let joints leave the body where that lowers the error");
    command.add_flag("--symmetric", own->symmetric,
                     "Mirror-symmetric hierarchy and joints; the rest shape must have a mirror plane");
    command.add_flag("--drive-helpers", own->drive_helpers,
                     "Say how the bones of --add-bones follow the joints, for motions yet to come");
    command.add_flag("--no-symmetric", own->uneven,
                     "Keep joints that nearly mirror each other where the motion has them");
    command.add_option("--root", own->root, "Bone to become the root, by name, or 'auto' (the pelvis, or the middle)");
  };
  method.solve = [own](const Sequence& sequence, const SolveOptions& options, FitReport& report,
                       const Progress& progress) {
    SkeletonOptions all = *own;
    if (options.bones && options.max_bones)
      throw Error(ErrorKind::usage, "--bones and --max-bones say the same to --method skeleton: give one of them");
    all.max_bones = options.bones.value_or(options.max_bones.value_or(0));
    all.max_error = options.max_error.value_or(0);
    if (all.max_bones > 0 && all.max_error > 0)
      throw Error(ErrorKind::usage, "--max-error looks for the number of bones: --bones and --max-bones give it");
    all.influences = influences_of(options, all.influences);
    if (options.influences == "all")
      throw Error(ErrorKind::usage, "a skeleton has 1 to 8 influences per vertex, not all");
    all.smoothness = options.smoothness.value_or(all.smoothness);
    all.strict_iterations = options.iterations.value_or(all.strict_iterations);
    all.moves = options.quality == Quality::fast ? 0 : options.quality == Quality::best ? 200 : all.moves;
    all.helpers = options.add_bones;
    if (all.drive_helpers && all.helpers == 0)
      throw Error(ErrorKind::usage, "--drive-helpers needs --add-bones: a skeleton has no helpers by itself");
    all.seed = options.seed;
    all.threads = options.threads;
    all.checkpoint = options.checkpoint;
    if (!options.given) return solve_skeleton(sequence, all, report, progress);
    if (options.fit != "joints")
      throw Error(ErrorKind::usage, "--skeleton keeps the hierarchy of --rig with --fit joints only");
    if (all.max_bones > 0 || all.max_error > 0)
      throw Error(ErrorKind::usage, "--rig brings its own bones: --max-bones and --max-error do not go with it");
    if (all.helpers > 0)
      throw Error(ErrorKind::usage,
                  "--add-bones goes with --skeleton or with --rig, not with both: leave --skeleton out");
    if (all.symmetric) throw Error(ErrorKind::usage, "--rig brings its own joints: --symmetric does not go with it");
    return refit_skeleton(sequence, *options.given, all, report, progress);
  };
  method.add_size = [own](const SolveOptions& options, SolveSize& size) {
    size.symmetric = own->symmetric;
    size.bones += options.add_bones;
    if (options.bones || options.max_bones || options.given) return;
    size.bones = own->clusters + options.add_bones;
    size.open_number = !own->keep_all_bones;
  };
  return method;
}

}  // namespace sinew::tool
