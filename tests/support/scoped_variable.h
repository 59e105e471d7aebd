#pragma once
#include <cstdlib>
#include <string>
#include <utility>

namespace lockstep::test {

// Sets an environment variable, or removes it when `value` is null, until the end of the scope.
class ScopedVariable {
 public:
  ScopedVariable(std::string name, const char* value) : name_(std::move(name)) {
    if (const char* previous = std::getenv(name_.c_str())) {
      had_ = true;
      previous_ = previous;
    }
    set(value);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;
  ~ScopedVariable() { set(had_ ? previous_.c_str() : nullptr); }

 private:
  void set(const char* value) {
    if (value != nullptr) {
      ::setenv(name_.c_str(), value, 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }
  std::string name_, previous_;
  bool had_ = false;
};

}  // namespace lockstep::test
