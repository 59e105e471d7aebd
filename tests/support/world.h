#pragma once
#include <lockstep/comm/world.h>

namespace lockstep::test {

// The one World of a test program that runs as several ranks; LOCKSTEP_TEST_BACKEND names its backend.
const World& world();

}  // namespace lockstep::test
