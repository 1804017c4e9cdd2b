#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// docs/architecture.md is read and held: its tables are the rules.
namespace sinew {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = SINEW_SOURCE_DIR;

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" `");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" `") - first + 1);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) out.push_back(trimmed(part));
  return out;
}

using Row = std::vector<std::string>;

/// The rows of the table whose header begins with this cell.
std::vector<Row> table(const std::string& first_header) {
  std::ifstream file(kRoot / "docs/architecture.md");
  std::vector<Row> rows;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("| " + first_header + " |", 0) == 0) {
      inside = true;
    } else if (inside && line.rfind('|', 0) != 0) {
      break;
    } else if (inside && line.rfind("|---", 0) != 0) {
      rows.push_back(split(line.substr(1, line.find_last_of('|') - 1), '|'));
    }
  }
  return rows;
}

/// Libraries by the names that the table gives them, and how their headers begin.
const std::map<std::string, std::string> kLibraries{
    {"Eigen", "Eigen/"},
    {"fmt", "fmt/"},
    {"oneTBB", "tbb/"},
    {"nlohmann", "nlohmann/"},
    {"Highway", "hwy/"},
    {"meshoptimizer", "meshopt"},
    {"zlib", "zlib.h"},
    {"zstd", "zstd"},
    {"nanoflann", "nanoflann"},
    {"CLI11", "CLI/"},
    {"CUDA", "cuda_"},
    {"GoogleTest", "gtest/"},
    {"Google Benchmark", "benchmark/"},
};

struct Folder {
  std::set<std::string> may_use;
  std::set<std::string> libraries;
};

std::map<std::string, Folder> folders() {
  std::map<std::string, Folder> out;
  for (const Row& row : table("folder")) {
    if (row.size() != 4) continue;
    Folder& folder = out[row[0]];
    for (const std::string& name : split(row[2], ',')) folder.may_use.insert(name);
    for (const std::string& name : split(row[3], ',')) folder.libraries.insert(name);
  }
  return out;
}

/// The row that a path below src or include/sinew belongs to: the longest that it lies in; empty if there is none.
std::string row_of(const std::string& path, const std::map<std::string, Folder>& rows) {
  std::string best;
  for (const auto& [name, folder] : rows)
    if (path.rfind(name + "/", 0) == 0 && name.size() > best.size()) best = name;
  return best;
}

bool allowed(const std::string& user, const std::string& used, const std::map<std::string, Folder>& rows) {
  if (user == used) return true;
  const std::set<std::string>& may = rows.at(user).may_use;
  return std::any_of(may.begin(), may.end(),
                     [&](const std::string& name) { return used == name || used.rfind(name + "/", 0) == 0; });
}

struct Source {
  fs::path file;
  std::string inside;  // path below src or include/sinew
};

std::vector<Source> sources() {
  std::vector<Source> out;
  for (const fs::path& base : {kRoot / "src", kRoot / "include/sinew"})
    for (const auto& entry : fs::recursive_directory_iterator(base)) {
      const fs::path& path = entry.path();
      const std::string inside = fs::relative(path, base).generic_string();
      const std::string kind = path.extension().string();
      if ((kind == ".cpp" || kind == ".h" || kind == ".cu") && inside.find('/') != std::string::npos)
        out.push_back({path, inside});
    }
  return out;
}

/// What the #include lines of a file name, with the bracket or quote before it.
std::vector<std::string> includes(const fs::path& file) {
  static const std::regex line_form(R"(^\s*#\s*include\s*([<"][^>"]+))");
  std::vector<std::string> out;
  std::ifstream stream(file);
  std::smatch found;
  for (std::string line; std::getline(stream, line);)
    if (std::regex_search(line, found, line_form)) out.push_back(found[1]);
  return out;
}

TEST(Architecture, EveryFolderOfSourcesHasARow) {
  const auto rows = folders();
  ASSERT_GE(rows.size(), 10U);
  for (const Source& source : sources()) EXPECT_NE(row_of(source.inside, rows), "") << source.file;
}

TEST(Architecture, EveryNameInTheTableIsAFolderOrALibrary) {
  const auto rows = folders();
  for (const auto& [name, folder] : rows) {
    EXPECT_TRUE(fs::is_directory(kRoot / "src" / name) || fs::is_directory(kRoot / name)) << name;
    for (const std::string& used : folder.may_use)
      EXPECT_TRUE(used == "-" || used == "all" || rows.count(used) == 1) << used;
    for (const std::string& library : folder.libraries)
      EXPECT_TRUE(library == "-" || library == "any" || kLibraries.count(library) == 1) << library;
  }
}

TEST(Architecture, FoldersIncludeOnlyWhatTheTableAllows) {
  const auto rows = folders();
  for (const Source& source : sources()) {
    const std::string user = row_of(source.inside, rows);
    if (user.empty()) continue;
    for (const std::string& include : includes(source.file)) {
      std::string name = include.substr(1);
      const bool face = name.rfind("sinew/", 0) == 0;
      if (face) name = name.substr(6);
      const std::string used = include[0] == '"' ? row_of(name, rows) : "";
      // A room knows the public headers of the hall that it is in.
      const bool own_face = face && user.rfind(used + "/", 0) == 0;
      if (!used.empty() && !own_face) {
        EXPECT_TRUE(allowed(user, used, rows))
            << source.file << " includes " << name << ", but " << user << " may not use " << used;
      }
    }
  }
}

TEST(Architecture, FoldersIncludeOnlyTheLibrariesOfTheTable) {
  const auto rows = folders();
  for (const Source& source : sources()) {
    const std::string user = row_of(source.inside, rows);
    if (user.empty()) continue;
    for (const std::string& include : includes(source.file))
      for (const auto& [library, prefix] : kLibraries)
        if (include.substr(1).rfind(prefix, 0) == 0) {
          EXPECT_EQ(rows.at(user).libraries.count(library), 1U)
              << source.file << " includes " << include.substr(1) << ", but " << user << " has not " << library;
        }
  }
}

TEST(Architecture, EverySectionOfAPaperIsWhereTheTableSays) {
  const std::vector<Row> rows = table("section");
  ASSERT_GE(rows.size(), 10U);
  for (const Row& row : rows) {
    ASSERT_EQ(row.size(), 3U) << row[0];
    for (const std::string& file : split(row[2], ','))
      EXPECT_TRUE(fs::is_regular_file(kRoot / "src" / file)) << row[0] << ": there is no src/" << file;
  }
}

TEST(Architecture, HeadersThatUsersIncludeDoNotIncludeInternalOnes) {
  for (const Source& source : sources()) {
    if (source.file.string().find("/include/") == std::string::npos) continue;
    for (const std::string& include : includes(source.file))
      if (include[0] == '"') {
        EXPECT_EQ(include.rfind("\"sinew/", 0), 0U) << source.file << ": " << include;
      }
  }
}

/// What the precompiled header brings that sources name often, and how the header begins that they are to include for
/// it.
const std::vector<std::pair<std::string, std::vector<std::string>>> kPrecompiled{
    {"<algorithm", {"std::sort(", "std::find_if(", "std::any_of(", "std::max_element(", "std::max(", "std::min("}},
    {"<array", {"std::array<"}},
    {"<cmath", {"std::sqrt(", "std::isfinite(", "std::pow("}},
    {"<cstdint", {"std::uint8_t", "std::uint32_t", "std::uint64_t", "std::int64_t"}},
    {"<Eigen/", {"Eigen::"}},
    {"<filesystem", {"std::filesystem"}},
    {"<fmt/", {"fmt::"}},
    {"<functional", {"std::function<"}},
    {"<map", {"std::map<"}},
    {"<memory", {"std::unique_ptr<", "std::make_unique<", "std::shared_ptr<", "std::make_shared<"}},
    {"<numeric", {"std::accumulate(", "std::iota("}},
    {"<optional", {"std::optional<"}},
    {"<random", {"std::mt19937"}},
    {"<span", {"std::span<"}},
    {"<string", {"std::string ", "std::string(", "std::string&", "std::to_string"}},
    {"<vector", {"std::vector<"}},
};

/// The headers of others that a file includes, by way of our own headers too.
const std::set<std::string>& foreign_includes(const fs::path& file, std::map<fs::path, std::set<std::string>>& known) {
  const auto [entry, is_new] = known.try_emplace(file);
  if (!is_new) return entry->second;
  std::set<std::string> out;
  for (const std::string& include : includes(file)) {
    if (include[0] == '<') out.insert(include);
    for (const fs::path& base : {file.parent_path(), kRoot / "src", kRoot / "include"}) {
      const fs::path path = (base / include.substr(1)).lexically_normal();
      if (include[0] != '"' || !fs::is_regular_file(path)) continue;
      const std::set<std::string> more = foreign_includes(path, known);
      out.insert(more.begin(), more.end());
      break;
    }
  }
  return known[file] = out;
}

TEST(Architecture, SourcesIncludeWhatTheyUseThoughItIsPrecompiled) {
  static const std::regex comment("//[^\n]*");
  std::map<fs::path, std::set<std::string>> known;
  for (const Source& source : sources()) {
    std::ostringstream all;
    all << std::ifstream(source.file).rdbuf();
    const std::string text = std::regex_replace(all.str(), comment, "");
    const std::set<std::string>& included = foreign_includes(source.file.lexically_normal(), known);
    for (const auto& [header, names] : kPrecompiled) {
      const auto used = std::find_if(names.begin(), names.end(),
                                     [&](const std::string& name) { return text.find(name) != std::string::npos; });
      const auto found = included.lower_bound(header);
      if (used == names.end()) continue;
      EXPECT_TRUE(found != included.end() && found->rfind(header, 0) == 0)
          << source.file << " uses " << *used << " without " << header << '>';
    }
  }
}

}  // namespace
}  // namespace sinew
