// Timelines with what the GPU itself did.
#include <gmock/gmock.h>
#include <torch/torch.h>
#include <nlohmann/json.hpp>

#include <lockstep/gpu/kernel_trace.h>
#include <lockstep/gpu/work_stream.h>
#include <lockstep/nn/registry.h>
#include <lockstep/train/step_trace.h>
#include <lockstep/train/training_step.h>

#include "temporary_folder.h"
#include "world.h"

namespace lockstep::test {
namespace {

using ::testing::StartsWith;

const at::Device kGpu(at::kCUDA, 0);

// Of all tracks, in order of their beginning.
std::vector<trace::Event> all_events(const trace::Recording& recording) {
  std::vector<trace::Event> events;
  for (const trace::Track& track : recording.tracks) {
    EXPECT_THAT(track.name, StartsWith("cuda:0 stream "));
    events.insert(events.end(), track.events.begin(), track.events.end());
  }
  std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.began < b.began; });
  return events;
}

TEST(KernelTrace, HasKernelsAtTheTimeOfTheHostsClock) {
  const auto a = torch::ones({2048, 2048}, kGpu);
  a.mm(a);  // what is done once is done
  gpu::finish(kGpu);
  gpu::KernelTrace kernels(kGpu);
  const std::int64_t before = trace::Clock::now().time_since_epoch().count();
  for (int i = 0; i < 10; ++i) a.mm(a);
  gpu::finish(kGpu);
  const std::int64_t after = trace::Clock::now().time_since_epoch().count();
  const auto events = all_events(kernels.finish());
  ASSERT_GE(events.size(), 10U);
  constexpr std::int64_t kClocks = 200'000;  // nanoseconds by which the GPU's clock may be off
  EXPECT_GE(events.front().began, before - kClocks);
  EXPECT_LE(events.back().ended, after + kClocks);
  for (const auto& event : events) EXPECT_LE(event.began, event.ended);
}

TEST(KernelTrace, CanBeMadeAgain) {
  for (int i = 0; i < 2; ++i) {
    gpu::KernelTrace kernels(kGpu);
    torch::ones({64}, kGpu).add_(1);
    EXPECT_FALSE(all_events(kernels.finish()).empty());
  }
  { const gpu::KernelTrace dropped(kGpu); }
}

class TracedStep : public ::testing::TestWithParam<bool> {};

TEST_P(TracedStep, HasItsKernelsBesideItsSpans) {
  const bool graph = GetParam();
  const TemporaryFolder folder;
  const auto file = folder.path() / "trace.json";
  const auto model = nn::make_model("resnet18", {.num_classes = 10, .stem = nn::Stem::kCifar3x3});
  train::TrainingStep step(model, world(), {.device = kGpu, .graph = graph});
  const data::Batch batch{
      torch::randn({8, 3, 32, 32}, kGpu), torch::randint(10, {8}, at::TensorOptions(kGpu).dtype(at::kLong)), {}};
  train::StepTrace trace(world(), {.steps = {6, 9}, .file = file, .device = kGpu});
  const gpu::Ranges ranges;
  for (std::int64_t i = 0; i < 10; ++i) {
    trace.reach(i);
    const auto iteration = ranges.range("iteration");
    step.run(batch);
  }
  trace.finish();
  ASSERT_EQ(trace.problem(), "");
  const auto recording = trace::read_chrome_trace(content(file), 0);
  std::size_t kernels = 0, iterations = 0, backwards = 0;
  std::int64_t began = 0, ended = 0;
  for (const trace::Track& track : recording.tracks) {
    for (const trace::Event& event : track.events) {
      if (track.name.starts_with("cuda:")) ++kernels;
      if (event.name == "backward") ++backwards;
      if (event.name != "iteration") continue;
      if (iterations++ == 0) began = event.began;
      ended = event.ended;
    }
  }
  EXPECT_EQ(iterations, 3U);
  EXPECT_EQ(backwards, graph ? 0U : 3U);  // a graph is replayed as a whole
  EXPECT_GT(kernels, 300U);               // a ResNet-18 has more than a hundred in each step
  constexpr std::int64_t kClocks = 200'000;
  for (const trace::Track& track : recording.tracks) {
    if (!track.name.starts_with("cuda:")) continue;
    for (const trace::Event& event : track.events) {
      EXPECT_GE(event.began, began - kClocks);
      EXPECT_LE(event.ended, ended + kClocks);
    }
  }
  EXPECT_GT(trace.summary()->ranks.at(0).own, 0);
}

INSTANTIATE_TEST_SUITE_P(PlainAndAsAGraph, TracedStep, ::testing::Bool());

}  // namespace
}  // namespace lockstep::test
