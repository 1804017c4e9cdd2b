#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/program.h"

/// `mpiexec -n N sinew-mpi solve` is `sinew solve`.
namespace sinew {
namespace {

using nlohmann::json;

class Mpi : public Program {
 protected:
  void SetUp() override {
    if (std::string(SINEW_MPI_PROGRAM).empty())
      GTEST_SKIP() << "built without SINEW_MPI: script/bootstrap --mpi installs what it needs";
    Program::SetUp();
  }

  void write_creature(int vertices, int frames) {
    CharacterOptions options;
    options.vertices = vertices;
    options.walk_frames = frames / 2;
    options.wave_frames = frames - frames / 2;
    options.bulge = 0.2;
    options.noise = 0.0005;
    write_sequence(folder_ / "creature.pc2", make_character(options).sequence);
  }

  /// Starts processes with the same arguments.
  pid_t start_processes(int count, std::vector<std::string> arguments, const char* program = SINEW_MPI_PROGRAM) {
    arguments.insert(arguments.begin(), {"-n", std::to_string(count), program});
    const auto prepare =
        [] {  // OpenMPI asks for words where there are more processes than cores, and for the root user
          setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
          setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
          setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
        };
    return start(arguments, prepare, SINEW_MPIEXEC);
  }

  Result run_processes(int count, const std::vector<std::string>& arguments, const char* program = SINEW_MPI_PROGRAM) {
    return finish(start_processes(count, arguments, program));
  }

  /// The processes of the program that `launcher` has started.
  static std::vector<pid_t> processes_below(pid_t launcher) {
    std::vector<pid_t> out;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename().string();
      if (!std::all_of(name.begin(), name.end(), ::isdigit)) continue;
      const std::string status = text_of(entry.path() / "status");
      if (status.rfind("Name:\tsinew-mpi\n", 0) != 0) continue;
      for (pid_t above = std::stoi(name); above > 1;) {
        const std::string text = text_of(fs::path("/proc") / std::to_string(above) / "status");
        const std::size_t at = text.find("PPid:");
        if (at == std::string::npos) break;
        above = std::stoi(text.substr(at + 5));
        if (above == launcher) out.push_back(std::stoi(name));
      }
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  static std::vector<pid_t> wait_for_processes(pid_t launcher, std::size_t count) {
    std::vector<pid_t> found;
    for (int i = 0; i < 6000 && found.size() < count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      found = processes_below(launcher);
    }
    return found;
  }
};

TEST_F(Mpi, OneToFourProcessesWriteTheBytesOfTheProgram) {
  write_creature(2500, 40);
  const std::vector<std::vector<std::string>> solves{
      {"--bones", "12"},
      {"--bones", "9", "--quality", "fast", "--smoothness", "0.01"},
      {"--method", "kavan", "--bones", "8", "--quality", "fast"},
      {"--skeleton", "--bones", "8", "--quality", "fast"},
      {"--method", "flats", "--bones", "6", "--quality", "fast"},
  };
  for (const std::vector<std::string>& options : solves) {
    std::vector<std::string> command{"solve", "creature.pc2", "--threads", "1", "-o", "alone.glb"};
    command.insert(command.end(), options.begin(), options.end());
    ASSERT_EQ(run(command).status, 0);
    for (int count = 1; count <= 4; ++count) {
      SCOPED_TRACE(testing::Message() << count << " processes, " << options[0] << " " << options[1]);
      command[5] = "together.glb";
      const Result result = run_processes(count, command);
      ASSERT_EQ(result.status, 0) << result.err;
      EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), options[0] == "--skeleton" ? 3 : 2)
          << "one of them talks: " << result.out;
      EXPECT_EQ(text_of(folder_ / "together.glb"), text_of(folder_ / "alone.glb"));
      fs::remove(folder_ / "together.glb");
    }
  }
}

TEST_F(Mpi, MoreProcessesThanPartsWriteTheSameBytes) {
  const std::vector<std::string> solve{"solve", "walk.pc2",  "--threads", "1", "--bones",
                                       "5",     "--quality", "fast",      "-o"};
  const auto to = [&](const std::string& file) {
    std::vector<std::string> command = solve;
    command.push_back(file);
    return command;
  };
  ASSERT_EQ(run(to("alone.glb")).status, 0);
  const Result result = run_processes(6, to("together.glb"));
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(text_of(folder_ / "together.glb"), text_of(folder_ / "alone.glb"));
}

TEST_F(Mpi, AProcessTakesLessMemoryWhereThereAreMore) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  write_creature(12000, 250);  // 36 MB of frames, and as much of trajectories
  const std::vector<std::string> solve{"solve",     "creature.pc2", "--threads",      "1",    "--bones", "6",
                                       "--quality", "fast",         "--memory-limit", "300M", "--json",  "-o"};
  const auto peak = [&](int count) {
    std::vector<std::string> command = solve;
    command.push_back("rig.glb");
    const Result result = run_processes(count, command);
    EXPECT_EQ(result.status, 0) << result.err;
    const json ranks = json::parse(result.out)["ranks"];
    EXPECT_EQ(ranks["count"], count);
    EXPECT_EQ(ranks["peak_memory_bytes"].size(), static_cast<std::size_t>(count));
    return ranks["peak_memory_bytes"].back().get<double>();
  };
  EXPECT_LT(peak(4), peak(2) - 0.2 * 36e6) << "a quarter of the frames and of the trajectories instead of a half";
  fs::remove(folder_ / "creature.pc2");
}

TEST_F(Mpi, AKilledProcessEndsTheOthersAndNothingIsWritten) {
  write_creature(6000, 60);
  const std::set<std::string> before = files();
  const pid_t launcher =
      start_processes(3, {"solve", "creature.pc2", "--threads", "1", "--quality", "best", "-o", "rig.glb"});
  const std::vector<pid_t> processes = wait_for_processes(launcher, 3);
  ASSERT_EQ(processes.size(), 3U);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  kill(processes[1], SIGKILL);
  const Result result = finish(launcher);
  EXPECT_NE(result.status, 0);
  EXPECT_NE(result.err + result.out, "");
  EXPECT_EQ(files(), before);
}

TEST_F(Mpi, AProcessThatFailsAloneSaysWhyAndEndsTheOthers) {
  write_creature(2500, 12);
  std::fstream frames(folder_ / "creature.pc2", std::ios::in | std::ios::out | std::ios::binary);
  frames.seekp(-4, std::ios::end);  // of the last vertex
  frames.write("\0\0\xc0\x7f", 4);
  frames.close();
  const std::set<std::string> before = files();
  const Result result = run_processes(3, {"solve", "creature.pc2", "--threads", "1", "-o", "rig.glb"});
  EXPECT_EQ(result.status, 3);
  EXPECT_NE(result.err.find("rank 2: sinew: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("position is not finite"), std::string::npos) << result.err;
  EXPECT_EQ(files(), before);
}

TEST_F(Mpi, WhenOneIsInterruptedAllStopAndAnotherNumberOfThemGoesOn) {
  write_creature(6000, 60);
  const std::vector<std::string> solve{
      "solve", "creature.pc2",         "--threads", "1", "--bones", "14", "-o", "rig.glb", "--json", "--checkpoint",
      "state", "--checkpoint-seconds", "0.2"};
  const pid_t launcher = start_processes(3, solve);
  for (int i = 0; i < 60000 && !fs::exists(folder_ / "state"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::vector<pid_t> processes = processes_below(launcher);
  ASSERT_EQ(processes.size(), 3U);
  kill(processes[1], SIGINT);
  const Result stopped = finish(launcher);
  EXPECT_EQ(stopped.status, 130) << stopped.err;
  EXPECT_NE(stopped.err.find("the same command continues"), std::string::npos) << stopped.err;
  EXPECT_FALSE(fs::exists(folder_ / "rig.glb"));
  ASSERT_TRUE(fs::exists(folder_ / "state"));
  const Result result = run_processes(2, solve);
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("continuing from"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(folder_ / "state"));
}

TEST_F(Mpi, WhatTheyCannotShareIsRefusedByOneSentence) {
  const std::set<std::string> before = files();
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{"--method", "sma"}, {"--corrections", "5"}}) {
    std::vector<std::string> command{"solve", "walk.pc2", "-o", "rig.glb"};
    command.insert(command.end(), options.begin(), options.end());
    const Result result = run_processes(3, command);
    EXPECT_EQ(result.status, 2) << result.err;
    const std::size_t at = result.err.find("several processes");
    ASSERT_NE(at, std::string::npos) << result.err;
    EXPECT_EQ(result.err.find("several processes", at + 1), std::string::npos) << result.err;
  }
  EXPECT_EQ(files(), before);
}

TEST_F(Mpi, ThePlainProgramBecomesOneOfThemForASolve) {
  const std::vector<std::string> solve{"solve", "walk.pc2", "--threads", "1", "--bones", "5", "--json", "-o"};
  const auto to = [&](const std::string& file) {
    std::vector<std::string> command = solve;
    command.push_back(file);
    return command;
  };
  ASSERT_EQ(run(to("alone.glb")).status, 0);
  const Result result = run_processes(3, to("together.glb"), SINEW_PROGRAM);
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["ranks"]["count"], 3);
  EXPECT_EQ(text_of(folder_ / "together.glb"), text_of(folder_ / "alone.glb"));
  // Where nobody can join them they would each write the same file.
  fs::create_directory(folder_ / "elsewhere");
  fs::copy_file(SINEW_PROGRAM, folder_ / "elsewhere" / "sinew");
  const std::set<std::string> before = files();
  const Result refused = run_processes(3, to("r.glb"), (folder_ / "elsewhere" / "sinew").c_str());
  EXPECT_EQ(refused.status, 2) << refused.err;
  EXPECT_NE(refused.err.find("no sinew-mpi beside"), std::string::npos) << refused.err;
  EXPECT_EQ(files(), before);
}

TEST_F(Mpi, ProcessesThatWereAskedForDifferentThingsAreRefused) {
  const std::set<std::string> before = files();
  const Result result = run_processes(
      1, {"solve", "walk.pc2", "-o", "a.glb", ":", "-n", "2", SINEW_MPI_PROGRAM, "solve", "walk.pc2", "-o", "b.glb"});
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_NE(result.err.find("the same command line"), std::string::npos) << result.err;
  EXPECT_EQ(files(), before);
}

TEST_F(Mpi, OtherCommandsRunOnce) {
  const Result result = run_processes(3, {"info", "walk.pc2"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, run({"info", "walk.pc2"}).out);
}

}  // namespace
}  // namespace sinew
