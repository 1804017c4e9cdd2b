#pragma once

namespace sinew {

/// How much work a solver spends on its result.
enum class Quality {
  fast,      // one start, few iterations
  balanced,  // iterates until it converges
  best,      // then goes on searching, as long as that helps
};

}  // namespace sinew
