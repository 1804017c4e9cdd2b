#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include "sinew/io/io.h"
#include "sinew/make/character.h"
#include "support/support.h"

/// The program as tests run it.
namespace sinew {

namespace fs = std::filesystem;

struct Result {
  int status = -1;
  std::string out;
  std::string err;
};

inline std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A folder with a small sequence in it, and the program run inside it.
class Program : public ::testing::Test {
 protected:
  void SetUp() override {
    CharacterOptions options;
    options.vertices = 500;
    options.walk_frames = 5;
    options.wave_frames = 3;
    options.components = false;
    sequence_ = make_character(options).sequence;
    write_sequence(folder_ / "walk.pc2", sequence_);
    files_ = files();
  }

  /// Starts the program, or another, in the folder; `prepare` is called in the new process before the program runs.
  pid_t start(const std::vector<std::string>& arguments, const std::function<void()>& prepare = {},
              const char* path = SINEW_PROGRAM) {
    const int program = open(path, O_RDONLY | O_CLOEXEC);
    const pid_t child = fork();
    if (child != 0) {
      close(program);
      return child;
    }
    if (chdir(folder_.path().c_str()) != 0) _exit(99);
    const int out = open("/dev/null", O_RDONLY);
    dup2(out, 0);
    dup2(open((streams_ / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open((streams_ / "err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    std::vector<char*> argv;
    std::string name = path;
    argv.push_back(name.data());
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    if (prepare) prepare();
    fexecve(program, argv.data(), environ);
    _exit(98);
  }

  Result finish(pid_t child) {
    int state = 0;
    waitpid(child, &state, 0);
    Result result;
    result.status = WIFEXITED(state) ? WEXITSTATUS(state) : 1000 + WTERMSIG(state);
    result.out = text_of(streams_ / "out");
    result.err = text_of(streams_ / "err");
    return result;
  }

  Result run(const std::vector<std::string>& arguments, const std::function<void()>& prepare = {}) {
    return finish(start(arguments, prepare));
  }

  std::set<std::string> files() const {
    std::set<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
      out.insert(fs::relative(entry.path(), folder_.path()).string());
    return out;
  }

  /// Runs and expects this status, a sentence on stderr that holds `part`, no data and no file.
  void expect_refused(int status, const std::string& part, const std::vector<std::string>& arguments) {
    std::string line;
    for (const std::string& argument : arguments) line += " " + argument;
    SCOPED_TRACE("sinew" + line);
    const std::set<std::string> before = files();
    const Result result = run(arguments);
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << "stderr: " << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(files(), before);
  }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  test::TemporaryFolder folder_;
  test::TemporaryFolder streams_;
  Sequence sequence_;
  std::set<std::string> files_;
};

}  // namespace sinew
