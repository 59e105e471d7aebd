// The main of test programs that run as several ranks under `lockstep run`. Each rank runs every test; only rank 0
// prints those that pass.
#include <gtest/gtest.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>

#include "world.h"

namespace lockstep::test {
namespace {

const World* the_world = nullptr;

int body(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const World world(
      {.backend = env::get("LOCKSTEP_TEST_BACKEND").value_or("auto"), .timeout = std::chrono::seconds(60)});
  the_world = &world;
  if (world.rank() != 0) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  return RUN_ALL_TESTS();
}

}  // namespace

const World& world() {
  return *the_world;
}

}  // namespace lockstep::test

int main(int argc, char** argv) {
  return lockstep::report_errors(lockstep::discover_placement().rank, lockstep::test::body, argc, argv);
}
