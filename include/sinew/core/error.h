#pragma once

#include <stdexcept>
#include <string>

namespace sinew {

/// What went wrong: one kind for each way in which a caller may want to react.
enum class ErrorKind {
  usage,        // an option outside its documented range, or options that exclude each other
  input,        // a file or array that cannot be accepted
  output,       // a result that cannot be written
  unusable,     // a solve that ended without a usable model
  interrupted,  // the caller asked to stop
};

/// The one exception type of the library: a kind and a sentence that names the object, what was found and what was
/// expected.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& sentence) : std::runtime_error(sentence), kind_(kind) {}

  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace sinew
