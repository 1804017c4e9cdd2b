// Reading and writing, in bytes of CPU time per second and as a ratio to a plain read of the same bytes: the two take
// turns in every iteration. What was read or written is verified after timing.
//   io_bench [--benchmark_filter=REGEX]
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>

#include "sinew/io/fbx.h"
#include "sinew/io/gltf.h"
#include "sinew/io/io.h"
#include "sinew/io/mdd.h"
#include "sinew/io/npz.h"
#include "sinew/io/obj.h"
#include "sinew/io/output_file.h"
#include "sinew/io/pc2.h"
#include "sinew/io/usd.h"

namespace {

namespace fs = std::filesystem;
using namespace sinew;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// A wavy sheet of quads, 200,000 vertices with coordinates that use all digits of a float, and 10 frames of it.
constexpr Index kWide = 500;
constexpr Index kHigh = 400;

Sequence make_sequence(Index wide = kWide, Index high = kHigh) {
  Sequence sequence;
  sequence.frames = Frames(10, std::size_t{wide} * high);
  for (std::size_t f = 0; f < 10; ++f)
    for (Index y = 0; y < high; ++y)
      for (Index x = 0; x < wide; ++x) {
        const float u = static_cast<float>(x) * 0.0131F;
        const float v = static_cast<float>(y) * 0.0173F;
        sequence.frames[f].col(y * wide + x) =
            Vector3(u, std::sin(3 * u + v + 0.1F * static_cast<float>(f)), v + 0.1F * std::cos(5 * v * u));
      }
  sequence.rest.positions = sequence.frames[0];
  for (Index y = 0; y + 1 < high; ++y)
    for (Index x = 0; x + 1 < wide; ++x) {
      const Index v = y * wide + x;
      sequence.rest.face_sizes.push_back(4);
      sequence.rest.corners.insert(sequence.rest.corners.end(), {v, v + 1, v + wide + 1, v + wide});
    }
  sequence.times = uniform_times(10);
  return sequence;
}

/// The sheet as a rig: 20 bones that turn, four neighbouring ones for each vertex.
Rig make_rig(const Sequence& sequence) {
  constexpr std::size_t kBones = 20;
  Rig rig;
  rig.rest = sequence.rest;
  rig.times = sequence.times;
  rig.transforms = Transforms::rigid;
  rig.motion = Motion(sequence.frame_count(), kBones);
  for (std::size_t b = 0; b < kBones; ++b) {
    rig.bones.push_back({"bone" + std::to_string(b), -1, Vector3::Zero(), Vector3::UnitY()});
    for (std::size_t f = 0; f < sequence.frame_count(); ++f) {
      const float angle = 0.02F * static_cast<float>(f * (b + 1));
      rig.motion(f, b).leftCols<3>() << std::cos(angle), 0, std::sin(angle), 0, 1, 0, -std::sin(angle), 0,
          std::cos(angle);
      rig.motion(f, b).col(3) = Vector3(angle, 0.5F, static_cast<float>(b));
    }
  }
  rig.weights.influences = 4;
  for (std::size_t v = 0; v < sequence.vertex_count(); ++v)
    for (std::size_t k = 0; k < 4; ++k) {
      rig.weights.bones.push_back(static_cast<Index>((v * 20 / sequence.vertex_count() + k) % kBones));
      rig.weights.values.push_back(std::array{0.5F, 0.25F, 0.1875F, 0.0625F}[k]);
    }
  return rig;
}

/// The sequence and files of it in a folder that goes with the program.
struct Files {
  Sequence sequence = make_sequence();
  Rig rig = make_rig(sequence);
  fs::path folder = fs::temp_directory_path() / ("sinew-io-bench-" + std::to_string(getpid()));

  Files() {
    fs::create_directories(folder);
    write_obj(folder / "a.obj", sequence.rest);
    write_pc2(folder / "a.pc2", sequence.frames, sequence.times);
    write_mdd(folder / "a.mdd", sequence.frames, sequence.times);
    write_npz(folder / "a.npz", sequence);
    write_glb(folder / "a.glb", rig);
    write_fbx(folder / "a.fbx", rig);
    write_usd_rig(folder / "a.usda", rig);
    write_usd_sequence(folder / "s.usda", sequence);
  }
  ~Files() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
};

Files& files() {
  static Files all;
  return all;
}

/// Reads a file through a small buffer, as a program that only looks at every byte once would.
std::size_t read_plainly(const fs::path& path) {
  static std::array<char, 1 << 17> buffer;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::size_t bytes = 0;
  for (ssize_t got = 0; (got = read(file, buffer.data(), buffer.size())) > 0;) bytes += static_cast<std::size_t>(got);
  close(file);
  return bytes;
}

/// Times `action`, which handles the bytes of `path`, in turns with a plain read of them.
void run(benchmark::State& state, const std::string& path, std::size_t vertices, const std::function<void()>& action,
         const std::function<bool()>& is_right) {
  const fs::path file = files().folder / path;
  double plain = 0;
  double acting = 0;
  for (auto _ : state) {
    const double start = cpu_seconds();
    benchmark::DoNotOptimize(read_plainly(file));
    const double between = cpu_seconds();
    action();
    const double end = cpu_seconds();
    state.SetIterationTime(end - between);
    plain += between - start;
    acting += end - between;
  }
  const auto turns = static_cast<double>(state.iterations());
  state.SetBytesProcessed(static_cast<std::int64_t>(turns * static_cast<double>(fs::file_size(file))));
  state.counters["vertices/s"] = turns * static_cast<double>(vertices) / acting;
  state.counters["of_plain_read"] = plain / acting;
  state.counters["file_bytes"] = static_cast<double>(fs::file_size(file));
  if (!is_right()) state.SkipWithError("the result is wrong");
}

std::size_t mesh_vertices() {
  return files().sequence.vertex_count();
}

std::size_t frame_vertices() {
  return mesh_vertices() * files().sequence.frame_count();
}

void read_obj_mesh(benchmark::State& state) {
  Mesh mesh;
  run(
      state, "a.obj", mesh_vertices(), [&] { mesh = read_obj(files().folder / "a.obj"); },
      [&] {
        return mesh.positions == files().sequence.rest.positions && mesh.corners == files().sequence.rest.corners;
      });
}

void read_obj_frame(benchmark::State& state) {
  Points points;
  run(
      state, "a.obj", mesh_vertices(),
      [&] { points = parse_obj_frame(read_file(files().folder / "a.obj"), "a.obj", files().sequence.rest); },
      [&] { return points == files().sequence.rest.positions; });
}

void write_obj_mesh(benchmark::State& state) {
  run(
      state, "a.obj", mesh_vertices(), [&] { write_obj(files().folder / "b.obj", files().sequence.rest); },
      [&] { return read_obj(files().folder / "b.obj").positions == files().sequence.rest.positions; });
}

template <auto read_cache>
void read_points(benchmark::State& state, const char* name) {
  PointCache cache;
  run(
      state, name, frame_vertices(), [&] { cache = read_cache(files().folder / name, {}, {}); },
      [&] { return cache.frames == files().sequence.frames; });
}

template <auto write_cache, auto read_cache>
void write_points(benchmark::State& state, const char* name) {
  const fs::path target = files().folder / (std::string("b") + (name + 1));
  run(
      state, name, frame_vertices(), [&] { write_cache(target, files().sequence.frames, files().sequence.times, {}); },
      [&] { return read_cache(target, {}, {}).frames == files().sequence.frames; });
}

void read_npz_sequence(benchmark::State& state) {
  Sequence sequence;
  run(
      state, "a.npz", frame_vertices(), [&] { sequence = read_npz(files().folder / "a.npz"); },
      [&] { return sequence.frames == files().sequence.frames; });
}

void write_npz_sequence(benchmark::State& state) {
  run(
      state, "a.npz", frame_vertices(), [&] { write_npz(files().folder / "b.npz", files().sequence); },
      [&] { return read_npz(files().folder / "b.npz").frames == files().sequence.frames; });
}

/// A rig of a million vertices with files of it, made when it is asked for.
struct LargeRig {
  Rig rig = make_rig(make_sequence(1000, 1000));

  LargeRig() {
    write_glb(files().folder / "large.glb", rig);
    write_fbx(files().folder / "large.fbx", rig);
    write_usd_rig(files().folder / "large.usda", rig);
  }
};

const Rig& large_rig() {
  static const LargeRig large;
  return large.rig;
}

bool same_rig(const Rig& rig, const Rig& made) {
  return rig.rest.positions == made.rest.positions && rig.weights.bones == made.weights.bones &&
         rig.weights.values == made.weights.values && rig.frame_count() == made.frame_count();
}

const Rig& small_rig() {
  return files().rig;
}

/// Rigs by the extension of their file, as the program reads and writes them.
void read_rig_file(benchmark::State& state, const Rig& made, const std::string& name) {
  Rig rig;
  run(
      state, name, made.vertex_count(), [&] { rig = read_rig(files().folder / name); },
      [&] { return same_rig(rig, made); });
}

void write_rig_file(benchmark::State& state, const Rig& made, const std::string& name) {
  const fs::path target = files().folder / ("b_" + name);
  run(
      state, name, made.vertex_count(), [&] { write_rig(target, made); },
      [&] { return same_rig(read_rig(target), made); });
}

void read_usd_frames(benchmark::State& state) {
  Sequence sequence;
  run(
      state, "s.usda", frame_vertices(), [&] { sequence = read_usd_sequence(files().folder / "s.usda"); },
      [&] { return sequence.frames == files().sequence.frames; });
}

void write_usd_frames(benchmark::State& state) {
  run(
      state, "s.usda", frame_vertices(), [&] { write_usd_sequence(files().folder / "t.usda", files().sequence); },
      [&] { return read_usd_sequence(files().folder / "t.usda").frames == files().sequence.frames; });
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& function) {
  benchmark::RegisterBenchmark(name.c_str(), function)->UseManualTime()->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  add("read OBJ mesh", read_obj_mesh);
  add("read OBJ frame", read_obj_frame);
  add("write OBJ", write_obj_mesh);
  add("read PC2", [](benchmark::State& state) { read_points<read_pc2>(state, "a.pc2"); });
  add("write PC2", [](benchmark::State& state) { write_points<write_pc2, read_pc2>(state, "a.pc2"); });
  add("read MDD", [](benchmark::State& state) { read_points<read_mdd>(state, "a.mdd"); });
  add("write MDD", [](benchmark::State& state) { write_points<write_mdd, read_mdd>(state, "a.mdd"); });
  add("read NPZ", read_npz_sequence);
  add("write NPZ", write_npz_sequence);
  for (const auto& [format, extension] : {std::pair("GLB", ".glb"), {"FBX", ".fbx"}, {"USD", ".usda"}})
    for (const bool large : {false, true}) {
      const auto made = large ? large_rig : small_rig;  // called when it is wanted: it writes the files
      const std::string file = (large ? "large" : "a") + std::string(extension);
      const std::string what = format + std::string(large ? " rig, 1M vertices" : " rig");
      add("read " + what, [=](benchmark::State& state) { read_rig_file(state, made(), file); });
      add("write " + what, [=](benchmark::State& state) { write_rig_file(state, made(), file); });
    }
  add("read USD sequence", read_usd_frames);
  add("write USD sequence", write_usd_frames);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
