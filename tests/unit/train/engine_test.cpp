// The switch between our code and libtorch's, from where it is set to where models ask for it.
#include <gmock/gmock.h>

#include <ATen/record_function.h>

#include <lockstep/base/errors.h>
#include <lockstep/bench/step.h>
#include <lockstep/kernels/engine.h>
#include <lockstep/train/arguments.h>
#include <lockstep/train/run.h>

#include "one_rank.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::test {
namespace {

using kernels::Engine;

train::RunOptions short_run(const std::string& engine, const TemporaryFolder& folder) {
  train::Arguments arguments;
  arguments.assignments = {"model.name=mnist",
                           "data.path=synthetic",
                           "data.samples=4",
                           "batch_size=2",
                           "steps=1",
                           "device=cpu",
                           "deterministic=true",
                           "evaluation.every_epochs=0",
                           "checkpoint.every_epochs=0",
                           "checkpoint.at_end=false",
                           "output=" + folder.path().string(),
                           "engine=" + engine};
  return train::compose_run(arguments);
}

TEST(EngineOfARun, IsWhatItsConfigSays) {
  for (const Engine engine : {Engine::kReference, Engine::kFused}) {
    const TemporaryFolder folder;
    EXPECT_EQ(train::run(short_run(kernels::to_text(engine), folder)), kExitSuccess);
    EXPECT_EQ(kernels::engine(), engine);
  }
}

TEST(EngineOfARun, IsFusedUnlessSaid) {
  EXPECT_EQ(train::RunConfig{}.engine, kernels::to_text(Engine::kFused));
}

TEST(EngineOfARun, RefusesAnotherWithTheNearest) {
  const TemporaryFolder folder;
  EXPECT_THAT([&] { short_run("referenc", folder); }, ThrowsWith<UsageError>("did you mean 'reference'?"));
  EXPECT_THAT([] { kernels::parse_engine("fuse"); }, ThrowsWith<UsageError>("did you mean 'fused'?"));
}

// What the engine was while operations ran.
std::atomic<int> operations_of_reference, operations_of_fused;

std::unique_ptr<at::ObserverContext> count(const at::RecordFunction&) {
  ++(kernels::engine() == Engine::kReference ? operations_of_reference : operations_of_fused);
  return nullptr;
}

TEST(EngineOfABenchmark, IsItsRecipesWhileItRuns) {
  kernels::set_engine(Engine::kFused);
  bench::StepOptions options{.model = "mnist",
                             .batch = 1,
                             .recipe = {.engine = Engine::kReference},
                             .modes = {train::Mode::kNone},
                             .rounds = 1,
                             .time_per_round = std::chrono::milliseconds(1)};
  operations_of_reference = operations_of_fused = 0;
  const auto handle =
      at::addGlobalCallback(at::RecordFunctionCallback(count).scopes({at::RecordScope::BACKWARD_FUNCTION}));
  bench::measure_step(one_rank(), options);
  at::removeCallback(handle);
  EXPECT_GT(operations_of_reference, 0);
  EXPECT_EQ(operations_of_fused, 0);
  EXPECT_EQ(kernels::engine(), Engine::kFused);
}

}  // namespace
}  // namespace lockstep::test
