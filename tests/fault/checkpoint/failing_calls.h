// File calls that fail when a test says so. The linker puts them before those of the C library (-Wl,--wrap), for the
// library as for the test; nothing in the library knows of them.
#pragma once
#include <string>
#include <vector>

namespace lockstep::test {

enum class Failing { kOnce, kFromThenOn };

// Counts the file calls of its lifetime, and lets the one with number `which` (from 0 on) fail with `error`; a write
// does a part of its work before it fails, and with the error 0 it says so instead of failing. An fsync does nothing
// more: no crash of the machine is simulated, and on a busy disk thousands of them take a minute.
class FailingCalls {
 public:
  FailingCalls(int which, int error, Failing how);
  ~FailingCalls();
  FailingCalls(const FailingCalls&) = delete;
  FailingCalls& operator=(const FailingCalls&) = delete;

  int count() const;
  // The names of the calls, as "fsync", in order.
  const std::vector<std::string>& names() const;
};

}  // namespace lockstep::test
