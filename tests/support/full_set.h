#pragma once
#include <lockstep/base/environment.h>

namespace lockstep::test {

// Whether `scripts/test --full` runs the tests: the long campaigns too.
inline bool full_set() {
  return env::get_bool("LOCKSTEP_TEST_FULL").value_or(false);
}

// How often a rank is killed, or stopped, in one test.
inline int repetitions() {
  return full_set() ? 20 : 1;
}

}  // namespace lockstep::test
