#include "sinew/core/error.h"

namespace sinew {

int exit_code(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage:
      return 2;
    case ErrorKind::input:
    case ErrorKind::output:
      return 3;
    case ErrorKind::unusable:
      return 4;
    case ErrorKind::interrupted:
      return 130;
  }
  return 3;
}

}  // namespace sinew
