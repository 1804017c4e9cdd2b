#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "commands.h"
#include "inputs.h"
#include "interrupt.h"
#include "output.h"
#include "report.h"
#include "sinew/core/error.h"
#include "sinew/evaluate/vertex_match.h"
#include "sinew/io/gltf.h"
#include "sinew/io/io.h"
#include "sinew/io/output_file.h"
#include "sinew/view/page.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

struct ViewRequest {
  std::filesystem::path model;
  SequenceInputs against;
  std::filesystem::path report;
  std::filesystem::path output;
  std::string max_size;
  bool says_how_to_read = false;  // an option that only a sequence takes was given
};

/// A rig beside the first, as the page takes it.
struct Beside {
  std::string name;
  std::vector<std::byte> glb;
};

bool has_no_rig(const Error& error) {
  return std::string_view(error.what()).find("no rig") != std::string_view::npos;
}

constexpr double kLargePage = 32e6;     // bytes, from which the page's size is worth a word
constexpr double kMostOfPaged = 256e6;  // of an original that memory has no room for

/// The file as the page takes it. What the page could not show is refused here, with what is wrong with it.
std::vector<std::byte> glb_of(const std::filesystem::path& path) {
  std::optional<Rig> rig;
  try {
    rig = read_rig_file(path);
  } catch (const Error& error) {
    if (!has_no_rig(error)) throw;
    ReadOptions few;  // read for the sake of what may be wrong
    few.frames_per_second = 1;
    read_sequence({path}, few);
  }
  std::vector<std::byte> bytes = read_file(path);
  if (bytes.size() >= 4 && std::memcmp(bytes.data(), "glTF", 4) == 0) return bytes;
  if (rig) return glb_bytes(*rig);
  throw Error(ErrorKind::input,
              fmt::format("{}: the page shows rigs and .glb files; 'sinew convert {} -o OUT.glb' makes one",
                          path.string(), path.string()));
}

/// How the original is cut so that the page is no larger than asked: first to 16 bits, then to every n-th frame.
void fit_into(double most, double others, PageOptions& options) {
  const double frames = 4.0 / 3 * static_cast<double>(options.original->frames.data().size() * sizeof(float));
  constexpr double kFacts = 1000;  // what is said about the frames
  const double room = most - others - kFacts;
  if (frames <= room) return;
  options.short_numbers = true;
  if (room > 0) options.frame_step = static_cast<std::size_t>(std::max(1.0, std::ceil(0.5 * frames / room)));
  if (room <= 0 || options.frame_step >= options.original->frame_count())
    throw Error(ErrorKind::usage, fmt::format("--max-size: the page and its model alone take {}", size_text(others)));
  fmt::print(stderr, "sinew: the original is kept in 16 bits a number{}\n",
             options.frame_step > 1 ? fmt::format(", one in {} frames", options.frame_step) : "");
}

/// Whether a file named after the first one is a rig to be shown beside it.
bool is_rig(const std::filesystem::path& path) {
  if (!usable_for(FileUse::read_rig, path) || !std::filesystem::is_regular_file(path)) return false;
  try {
    read_rig_file(path);
    return true;
  } catch (const Error& error) {
    if (!has_no_rig(error)) throw;
    return false;
  }
}

/// Takes the rigs out of the files that would be the sequence, unless it is said how to read that. Where no other file
/// is left, the frames of the first that is as large and long as `rig` are what it is compared with.
std::vector<Beside> take_rigs(SequenceInputs& against, const std::filesystem::path& model, std::size_t& like) {
  std::vector<Beside> out;
  std::vector<std::filesystem::path> others;
  std::vector<std::filesystem::path> rigs;
  for (const std::filesystem::path& path : against.paths) (is_rig(path) ? rigs : others).push_back(path);
  for (const std::filesystem::path& path : rigs) out.push_back({path.filename().string(), glb_of(path)});
  against.paths = std::move(others);
  if (!against.paths.empty() || rigs.empty()) return out;
  const Rig rig = read_rig_file(model);
  for (std::size_t i = 0; i < rigs.size() && like == 0; ++i) {
    const Rig other = read_rig_file(rigs[i]);
    if (other.vertex_count() != rig.vertex_count() || other.frame_count() != rig.frame_count()) continue;
    against.paths = {rigs[i]};
    like = i + 1;
  }
  return out;
}

void run(ViewRequest request) {
  std::vector<std::filesystem::path> inputs = files_named(request.against);
  inputs.push_back(request.model);
  if (!request.report.empty()) inputs.push_back(request.report);
  check_outputs({{"-o", request.output, OutputKind::page}}, inputs);
  const double most = request.max_size.empty() ? 0 : static_cast<double>(parse_size("--max-size", request.max_size));
  std::vector<std::byte> glb = glb_of(request.model);
  PageOptions options;
  options.name = request.model.filename().string();
  if (!request.report.empty()) options.report = read_text(request.report);
  std::vector<Beside> beside;
  if (!request.says_how_to_read) beside = take_rigs(request.against, request.model, options.original_like);
  for (const Beside& rig : beside) options.beside.push_back({rig.name, rig.glb});
  std::optional<Sequence> original;
  if (!request.against.paths.empty()) {
    original = read_inputs(request.against);
    const Rig rig = read_rig_file(request.model);
    if (rig.frame_count() == original->frame_count() && !same_vertices(rig, *original)) {
      // The page compares vertex by vertex: a rig that another tool has reordered goes in as the sequence has it.
      const VertexMatch match = match_vertices(rig, *original);
      original = matched_part(*original, match);
      glb = glb_bytes(in_order_of(rig, match, *original));
    } else if (rig.vertex_count() != original->vertex_count() || rig.frame_count() != original->frame_count()) {
      throw Error(ErrorKind::input,
                  fmt::format("{}: {} vertices and {} frames, the sequence to compare with has {} and {}{}",
                              request.model.string(), rig.vertex_count(), rig.frame_count(), original->vertex_count(),
                              original->frame_count(),
                              rig.vertex_count() == original->vertex_count()
                                  ? " (--clip, --frames and --fps as in the solve make them alike)"
                                  : ""));
    }
    options.original = &*original;
  }
  const bool paged = original && original->frames.paging() != nullptr;
  if (original && (most > 0 || paged)) {
    PageOptions alone = options;
    alone.original = nullptr;
    const auto others = static_cast<double>(view_page(glb, alone).size());
    fit_into(most > 0 ? most : others + std::min(kMostOfPaged, memory_of(request.against) / 8), others, options);
  }
  const std::string page = view_page(glb, options);
  const auto size = static_cast<double>(page.size());
  if (most > 0 && size > most)
    throw Error(ErrorKind::usage, fmt::format("--max-size: the page takes {}", size_text(size)));
  stop_if_interrupted("interrupted: nothing was written");
  too_late_to_stop();
  OutputFile file(request.output);
  file.write(std::string_view(page));
  file.commit();
  fmt::print("{}\n", request.output.string());
  if (most == 0 && size > kLargePage)
    fmt::print(stderr, "sinew: the page is {} large; --max-size 20M keeps less of the original\n", size_text(size));
}

}  // namespace

void add_view(CLI::App& app) {
  CLI::App& command =
      *app.add_subcommand("view", "Make a web page that plays a rig, alone, beside the original or beside other rigs");
  auto request = std::make_shared<ViewRequest>();
  command.add_option("RIG", request->model, "A model, animated or not: .glb, or a rig as " + rig_inputs())->required();
  command.add_option("--against,SEQUENCE", request->against.paths,
                     "What to play beside it: a sequence (sinew evaluate --help), other rigs, or both");
  const std::vector<CLI::Option*> of_sequence{
      command.add_option("--frames", request->against.frames,
                         "Frames of that sequence: FIRST:LAST:STEP, counted from 0"),
      command
          .add_option("--clip", request->against.clips, "Clips of that sequence, by name or number; may be repeated")
          ->allow_extra_args(false),
      command.add_option("--rest", request->against.read.rest, "Rest pose of that sequence: a frame number or a file"),
      command.add_option("--mesh", request->against.read.mesh, "Only its meshes whose name matches, e.g. 'Body*'"),
      command
          .add_option("--fps", request->against.read.frames_per_second,
                      "Frames per second to sample it at, as in the solve (its frames or keys)")
          ->check(above_zero)};
  add_paging_options(command, request->against);
  command.add_option("--max-size", request->max_size,
                     "Largest page, e.g. 20M: the original is kept in fewer bits or frames");
  command.add_option("--report", request->report, "Report of the solve (solve --report), for the plots");
  command.add_option("-o,--output", request->output, "The page to write")->required();
  command.footer(R"(The page is one file without any link to the outside: open it from disk, send it by mail.

Examples:
  sinew view horse.glb -o horse.html
  sinew view horse.glb horse-gallop --report horse.json -o horse.html
  sinew view free.glb skeleton.glb horse-gallop -o compared.html)");
  command.callback([request, of_sequence] {
    request->says_how_to_read = std::any_of(of_sequence.begin(), of_sequence.end(),
                                            [](const CLI::Option* option) { return option->count() > 0; });
    run(*request);
  });
}

}  // namespace sinew::tool
