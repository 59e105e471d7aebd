// Two families of errors: UsageError, which the user can mend, and RuntimeError, when the world broke. An error is a
// text for a person: what failed, the value found, the value expected, and the next step to take.
#pragma once
#include <concepts>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <lockstep/base/rank.h>

namespace lockstep {

// What a program returns to its caller; docs/running.md is the list for scripts.
enum ExitCode : int {
  kExitSuccess = 0,
  kExitFailure = 1,
  kExitUsage = 2,
  kExitTryAgain = 75,  // stopped with a checkpoint; may be started again
};

// All but `message` may stay empty. Text that comes from outside (a file's content, an environment variable) needs no
// preparation: control characters are escaped when the error is made.
struct ErrorParts {
  std::string message;         // one sentence, with the values involved
  std::string operation;       // what was being done, if the message does not say it
  std::string found;           // the value that is wrong
  std::string expected;        // what would have been right
  std::string next;            // what to do now
  std::optional<RankId> rank;  // the rank that failed, if it is not this process
};

class Error : public std::runtime_error {
 public:
  const ErrorParts& parts() const { return parts_; }
  virtual int exit_code() const = 0;

 protected:
  explicit Error(ErrorParts parts);

 private:
  ErrorParts parts_;
};

class UsageError : public Error {
 public:
  explicit UsageError(ErrorParts parts) : Error(std::move(parts)) {}
  explicit UsageError(const std::convertible_to<std::string> auto& message) : Error({.message = message}) {}
  int exit_code() const override { return kExitUsage; }
};

class RuntimeError : public Error {
 public:
  explicit RuntimeError(ErrorParts parts) : Error(std::move(parts)) {}
  explicit RuntimeError(const std::convertible_to<std::string> auto& message) : Error({.message = message}) {}
  int exit_code() const override { return kExitFailure; }
};

// Something did not happen in time; the error says what was waited for.
class TimeoutError : public RuntimeError {
 public:
  using RuntimeError::RuntimeError;
};

// "cannot open 'x': No such file or directory", from errno.
[[nodiscard]] RuntimeError system_error(const std::string& action, int error_number);

// Prints an error that escaped from a program's body on stderr, tells the rank's launcher of it, and returns the exit
// code. `self` labels the message when the program is one of several ranks.
int report_error(RankId self, const std::exception& error);

// Runs a program's body and turns what escapes from it into a message on stderr and an exit code: the one place where
// errors are printed.
int report_errors(RankId self, int (*body)(int, char**), int argc, char** argv);

}  // namespace lockstep
