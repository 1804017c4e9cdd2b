#pragma once

#include <string>

#include "sinew/core/error.h"

namespace sinew {

/// Ends a check of given data with the sentence that says what is wrong with it.
[[noreturn]] inline void refuse(const std::string& sentence) {
  throw Error(ErrorKind::input, sentence);
}

}  // namespace sinew
