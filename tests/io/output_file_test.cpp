#include "sinew/io/output_file.h"

#include <iterator>

#include "support/support.h"

namespace sinew {
namespace {

std::string text_of(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::ptrdiff_t entries(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

TEST(OutputFile, IsAbsentUntilCommittedAndLeavesNothingBehind) {
  const test::TemporaryFolder folder;
  {
    OutputFile file(folder / "a.txt");
    file.write("half");
    EXPECT_FALSE(std::filesystem::exists(folder / "a.txt"));
  }
  EXPECT_EQ(entries(folder.path()), 0);
  {
    OutputFile file(folder / "a.txt");
    file.write("whole");
    file.commit();
  }
  EXPECT_EQ(text_of(folder / "a.txt"), "whole");
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(OutputFile, KeepsTheOldFileWhenAbandoned) {
  const test::TemporaryFolder folder;
  OutputFile first(folder / "a.txt");
  first.write("old");
  first.commit();
  {
    OutputFile second(folder / "a.txt");
    second.write("new");
  }
  EXPECT_EQ(text_of(folder / "a.txt"), "old");
}

TEST(OutputFile, OverwritesBytesWithoutMovingTheEnd) {
  const test::TemporaryFolder folder;
  OutputFile file(folder / "a.txt");
  file.write("head? and");
  file.overwrite(4, std::as_bytes(std::span("!", 1)));
  file.write(" tail");
  file.commit();
  EXPECT_EQ(text_of(folder / "a.txt"), "head! and tail");
}

TEST(OutputFile, MissingFolderIsAnOutputErrorThatNamesTheTarget) {
  test::expect_error(ErrorKind::output, "/nowhere/x.glb: cannot be written: No such file",
                     [] { OutputFile("/nowhere/x.glb"); });
}

TEST(ReadFile, NamesThePathAndTheReason) {
  test::expect_error(ErrorKind::input, "/nowhere/x: cannot be read: No such file", [] { read_file("/nowhere/x"); });
  const test::TemporaryFolder folder;
  test::expect_error(ErrorKind::input, "not a file", [&] { read_file(folder.path()); });
}

}  // namespace
}  // namespace sinew
