#pragma once

#include <filesystem>

namespace sinew::tool {

/// Prints what an Alembic archive holds to stdout: the tree of its objects, or the same as JSON.
void print_alembic_info(const std::filesystem::path& path, bool json);

}  // namespace sinew::tool
