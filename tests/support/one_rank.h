#pragma once
#include <lockstep/comm/world.h>

namespace lockstep::test {

// The group of a test that is its only rank.
inline const World& one_rank() {
  static const World world({.backend = "local"});
  return world;
}

}  // namespace lockstep::test
