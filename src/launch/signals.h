#pragma once
#include <signal.h>

#include <chrono>
#include <initializer_list>
#include <optional>

#include <lockstep/base/fd.h>

namespace lockstep::launch {

// While it lives, the given signals are not delivered but wait to be read here. Restores the mask at the end.
class SignalReader {
 public:
  explicit SignalReader(std::initializer_list<int> signals);
  SignalReader(const SignalReader&) = delete;
  SignalReader& operator=(const SignalReader&) = delete;
  ~SignalReader();

  int fd() const { return fd_.get(); }  // can be read when one waits

  // The next signal, or nothing when none came within `timeout`.
  std::optional<int> next(std::chrono::milliseconds timeout);

 private:
  sigset_t previous_{};
  UniqueFd fd_;
};

}  // namespace lockstep::launch
