// The main of test programs that run as several ranks under `lockstep run`. Each rank runs every test; only rank 0
// prints those that pass, and all those that fail.
#include <iostream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>

#include "world.h"

namespace lockstep::test {
namespace {

const World* the_world = nullptr;

// Of a rank that does not print what passes.
class PrintFailures : public ::testing::EmptyTestEventListener {
 public:
  explicit PrintFailures(int rank) : rank_(rank) {}
  void OnTestStart(const ::testing::TestInfo& test) override { test_ = &test; }
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed() || test_ == nullptr) return;
    std::cout << fmt::format("rank {}, {}.{}, {}:{}: {}\n", rank_, test_->test_suite_name(), test_->name(),
                             result.file_name() ? result.file_name() : "", result.line_number(), result.message())
              << std::flush;
  }

 private:
  int rank_;
  const ::testing::TestInfo* test_ = nullptr;  // a result is told under a lock that current_test_info() needs too
};

int body(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const World world(
      {.backend = env::get("LOCKSTEP_TEST_BACKEND").value_or("auto"), .timeout = std::chrono::seconds(60)});
  the_world = &world;
  if (world.rank() != 0) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new PrintFailures(world.rank()));
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
