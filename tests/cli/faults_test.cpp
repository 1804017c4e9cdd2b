#include <grp.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "cli/program.h"
#include "sinew/view/page.h"

/// Disks that fill up, folders that are closed, inputs that go away, signals and too little memory: the output is the
/// complete old file or the complete new one, the status is the documented one, and nothing else is left behind.
namespace sinew {
namespace {

using Clock = std::chrono::steady_clock;

void limit_files_to(rlim_t bytes) {
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
}

void limit_memory_to(rlim_t bytes) {
  alarm(100);  // a program that waits for good is a failure, not the end of the test
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
}

/// Root writes anywhere: become nobody.
void become_nobody() {
  constexpr uid_t kNobody = 65534;
  if (geteuid() != 0) return;
  if (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(97);
}

class Faults : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    ASSERT_EQ(run({"solve", "walk.pc2", "-o", "rig.glb", "--method", "clusters", "--bones", "5"}).status, 0);
  }

  /// Every command that writes, each into files that are there already.
  std::vector<std::vector<std::string>> writing_commands() const {
    std::vector<std::vector<std::string>> commands{
        {"solve", "walk.pc2", "-o", "out.glb", "--bones", "4", "--quality", "fast"},
        {"correct", "rig.glb", "walk.pc2", "-o", "out.glb"},
        {"reduce", "rig.glb", "-o", "out.glb", "--influences", "1"},
        {"compress", "rig.glb", "-o", "out.glb", "--force"}};
    if (has_viewer()) {
      commands.push_back({"view", "rig.glb", "-o", "out.html"});
      commands.push_back({"crowd", "rig.glb", "-o", "out.html"});
    }
    commands.push_back({"convert", "rig.glb", "--positions", "-o", "out.exr"});
    for (const char* name : {"out.pc2", "out.mdd", "out.npz", "out.abc", "out.glb"})
      commands.push_back({"convert", "rig.glb", "-o", name});
    return commands;
  }

  /// The files of the folder with their contents.
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> out;
    for (const std::string& name : files())
      if (fs::is_regular_file(folder_ / name)) out[name] = text_of(folder_ / name);
    return out;
  }

  static std::string line_of(const std::vector<std::string>& arguments) {
    std::string line = "sinew";
    for (const std::string& argument : arguments) line += " " + argument;
    return line;
  }
};

TEST_F(Faults, ShortWritesLeaveTheOldFile) {
  for (const char* name : {"out.glb", "out.pc2", "out.obj", "out.mdd", "out.npz", "out.abc", "out.html", "out.json"})
    write(name, "old");
  const auto before = contents();
  for (const auto& command : writing_commands()) {
    SCOPED_TRACE(line_of(command));
    const Result result = run(command, [] { limit_files_to(1500); });
    EXPECT_EQ(result.status, 3) << result.err;
    EXPECT_NE(result.err.find("cannot be written"), std::string::npos) << result.err;
    EXPECT_EQ(contents(), before);
  }
}

TEST_F(Faults, AFullDiskLeavesTheOldFile) {
  const fs::path disk = folder_ / "disk";
  fs::create_directory(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=8k") != 0)
    GTEST_SKIP() << "a small disk cannot be mounted here: " << std::strerror(errno);
  write("disk/out.glb", "old");
  for (auto command : writing_commands()) {
    if (std::find(command.begin(), command.end(), "out.glb") == command.end()) continue;
    for (std::string& argument : command)
      if (argument == "out.glb") argument = "disk/out.glb";
    SCOPED_TRACE(line_of(command));
    const auto before = contents();
    const Result result = run(command);
    EXPECT_EQ(result.status, 3) << result.err;
    EXPECT_NE(result.err.find("No space left"), std::string::npos) << result.err;
    EXPECT_EQ(contents(), before);
  }
  umount(disk.c_str());
}

TEST_F(Faults, AFullStandardOutputIsSaid) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"info", "rig.glb", "--json"}, {"evaluate", "rig.glb", "walk.pc2"}, {"--help"}}) {
    SCOPED_TRACE(line_of(command));
    const Result result = run(command, [] { dup2(open("/dev/full", O_WRONLY), 1); });
    EXPECT_EQ(result.status, 3) << result.err;
    EXPECT_NE(result.err.find("standard output"), std::string::npos) << result.err;
  }
}

TEST_F(Faults, AClosedFolderIsRefusedBeforeTheWork) {
  fs::create_directory(folder_ / "closed");
  write("closed/out.glb", "old");
  fs::permissions(folder_.path(), fs::perms(0755));
  fs::permissions(folder_ / "closed", fs::perms(0555));
  for (auto command : writing_commands()) {
    for (std::string& argument : command)
      if (argument.rfind("out.", 0) == 0) argument = "closed/" + argument;
    SCOPED_TRACE(line_of(command));
    const auto before = contents();
    const Result result = run(command, become_nobody);
    EXPECT_EQ(result.status, 3) << result.err;
    EXPECT_NE(result.err.find("cannot be written"), std::string::npos) << result.err;
    EXPECT_EQ(contents(), before);
  }
  fs::permissions(folder_ / "closed", fs::perms(0755));
}

TEST_F(Faults, AnInputThatShrinksOrVanishesWhileItIsReadIsRefusedOrWasReadWhole) {
  CharacterOptions options;
  options.vertices = 3000;
  options.walk_frames = 60;
  options.wave_frames = 60;
  const Sequence sequence = make_character(options).sequence;
  std::mt19937 random(7);
  for (const std::string name : {"big.abc", "big.pc2", "big.npz", "big"}) {
    for (int trial = 0; trial < 4; ++trial) {
      SCOPED_TRACE(name + ", trial " + std::to_string(trial));
      fs::remove_all(folder_ / name);
      write_sequence(folder_ / name, sequence);
      const pid_t child = start({"info", name, "--frames", "0:100000"});
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 40000));
      if (fs::is_directory(folder_ / name)) {
        fs::remove_all(folder_ / name);
      } else if (trial % 2 == 0) {
        fs::resize_file(folder_ / name, fs::file_size(folder_ / name) / (2 + random() % 9));
      } else {
        fs::remove(folder_ / name);
      }
      const Result result = finish(child);
      EXPECT_TRUE(result.status == 0 || result.status == 3) << result.status << ": " << result.err;
      EXPECT_TRUE(result.status == 0 || result.err.find("big") != std::string::npos) << result.err;
    }
  }
}

/// Signals at random moments of a solve over an old output. `trials` for each of the methods.
class Signals : public Faults {
 protected:
  void expect_old_or_new(const std::vector<std::string>& method, int trials, unsigned seed) {
    std::vector<std::string> command{"solve", "walk.pc2", "-o", "out.glb", "--report", "out.json"};
    command.insert(command.end(), method.begin(), method.end());
    SCOPED_TRACE(line_of(command));
    const auto begin = Clock::now();
    ASSERT_EQ(run(command).status, 0);
    const double whole = std::chrono::duration<double>(Clock::now() - begin).count();
    const std::string complete = text_of(folder_ / "out.glb");
    std::mt19937 random(seed);
    for (int trial = 0; trial < trials; ++trial) {
      write("out.glb", "old");
      write("out.json", "old");
      const std::set<std::string> before = files();
      const double moment = whole * std::uniform_real_distribution<double>(0, 1.1)(random);
      const pid_t child = start(command);
      std::this_thread::sleep_for(std::chrono::duration<double>(moment));
      kill(child, random() % 2 == 0 ? SIGINT : SIGTERM);
      const Result result = finish(child);
      SCOPED_TRACE("signal after " + std::to_string(moment) + " s: " + result.err);
      const std::string now = text_of(folder_ / "out.glb");
      EXPECT_EQ(files(), before);
      if (result.status == 0) {
        EXPECT_TRUE(now == complete);
        EXPECT_NE(text_of(folder_ / "out.json"), "old");
      } else if (result.status != 1000 + SIGINT && result.status != 1000 + SIGTERM) {  // before it could listen
        EXPECT_EQ(result.status, 130);
        EXPECT_NE(result.err.find("interrupted"), std::string::npos);
        EXPECT_EQ(now, "old");
        EXPECT_EQ(text_of(folder_ / "out.json"), "old");
      } else {
        EXPECT_EQ(now, "old");
      }
    }
  }
};

const std::vector<std::vector<std::string>> kMethods{{"--method", "clusters", "--bones", "9"},
                                                     {"--bones", "9"},
                                                     {"--bones", "6", "--quality", "best", "--corrections", "2"},
                                                     {"--method", "kavan", "--bones", "6"},
                                                     {"--method", "flats", "--bones", "6"},
                                                     {"--method", "skeleton", "--clusters", "12"},
                                                     {"--method", "sma"}};

TEST_F(Signals, AtAFewMomentsLeaveTheOldOrTheNewFile) {
  for (unsigned m = 0; m < kMethods.size(); ++m) expect_old_or_new(kMethods[m], 2, m);
}

TEST_F(Signals, DISABLED_AtAHundredMomentsLeaveTheOldOrTheNewFile) {
  for (unsigned m = 0; m < kMethods.size(); ++m) expect_old_or_new(kMethods[m], 15, 100 + m);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Faults, TooLittleMemoryIsSaid) {
  for (const auto& method : kMethods) {
    int refused = 0;
    for (rlim_t limit = rlim_t{48} << 20; limit < rlim_t{2} << 30; limit += limit / 3) {
      std::vector<std::string> command{"solve", "walk.pc2", "-o", "out.glb", "--threads", "2"};
      command.insert(command.end(), method.begin(), method.end());
      SCOPED_TRACE(line_of(command) + " with " + std::to_string(limit >> 20) + " MB");
      const std::set<std::string> before = files();
      const Result result = run(command, [&] { limit_memory_to(limit); });
      if (result.status == 127) continue;  // not enough to load the program itself
      if (result.status == 0) {
        fs::remove(folder_ / "out.glb");
        break;
      }
      EXPECT_EQ(result.status, 4) << result.err;
      EXPECT_NE(result.err.find("memory"), std::string::npos) << result.err;
      EXPECT_EQ(files(), before);
      ++refused;
    }
    EXPECT_GT(refused, 0);
  }
}
#endif

}  // namespace
}  // namespace sinew
