#pragma once
#include <csetjmp>

namespace lockstep::data {

// The way out of a C library that reports an error by calling a function that must not return. An exception must not
// pass through the library's frames; a jump may, as long as nothing that it leaves behind has a destructor.
class ErrorJump {
 public:
  // Makes the calls. False when one of them ended in jump(). What `calls` makes on its stack must need no destructor.
  template <typename Calls>
  [[nodiscard]] bool run(const Calls& calls) {
    if (setjmp(buffer_) != 0) return false;
    calls();
    return true;
  }

  [[noreturn]] void jump() { std::longjmp(buffer_, 1); }

 private:
  std::jmp_buf buffer_{};
};

}  // namespace lockstep::data
