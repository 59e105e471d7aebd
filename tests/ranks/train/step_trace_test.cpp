// Timelines of real steps on several ranks.
#include <lockstep/train/step_trace.h>

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <torch/torch.h>
#include <nlohmann/json.hpp>

#include <lockstep/gpu/ranges.h>
#include <lockstep/nn/registry.h>
#include <lockstep/train/training_step.h>

#include "temporary_folder.h"
#include "trace_processes.h"
#include "train/clock_offset.h"
#include "world.h"

namespace lockstep::test {
namespace {

using nlohmann::json;
using train::Mode;

constexpr std::int64_t kFirst = 3, kEnd = 6;

struct Traced {
  json trace;  // on rank 0
  std::int64_t gradient_bytes = 0;
};

Traced trace_steps(Mode mode) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "trace.json";
  torch::manual_seed(1);
  const auto model = nn::make_model("mnist", {});
  train::TrainingStep step(model, world(), {.mode = mode});
  train::StepTrace trace(world(), {.steps = {kFirst, kEnd}, .file = file});
  const gpu::Ranges ranges;
  const data::Batch batch{torch::randn({4, 1, 28, 28}), torch::randint(10, {4}), {}};
  for (std::int64_t i = 0; i < kEnd + 2; ++i) {
    trace.reach(i);
    const auto iteration = ranges.range("iteration");
    step.run(batch);
  }
  trace.finish();
  Traced traced;
  for (const auto& parameter : model->parameters())
    traced.gradient_bytes += static_cast<std::int64_t>(parameter.nbytes());
  if (world().rank() == 0) {
    EXPECT_EQ(trace.problem(), "");
    EXPECT_EQ(trace.summary().value().steps, kEnd - kFirst);
    traced.trace = json::parse(content(file));
  } else {
    EXPECT_FALSE(std::filesystem::exists(file)) << "only rank 0 writes";
  }
  return traced;
}

const Traced& traced_once(Mode mode) {
  static std::map<Mode, Traced> all;
  const auto found = all.find(mode);
  return found != all.end() ? found->second : all[mode] = trace_steps(mode);
}

// The spans of a rank with this name, or all, in order of their beginning.
std::vector<json> spans(const json& trace, int rank, const std::string& name = "") {
  std::vector<json> found;
  const std::int64_t process = process_of(trace, rank);
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X" || event.at("pid") != process) continue;
    if (name.empty() || event.at("name") == name) found.push_back(event);
  }
  std::stable_sort(found.begin(), found.end(), [](const json& a, const json& b) { return a.at("ts") < b.at("ts"); });
  return found;
}

double begin_of(const json& span) {
  return span.at("ts");
}
double end_of(const json& span) {
  return span.at("ts").get<double>() + span.at("dur").get<double>();
}

class EveryTracedMode : public ::testing::TestWithParam<Mode> {};

TEST_P(EveryTracedMode, HasThePartsOfEachStepOfEachRank) {
  const Traced& traced = traced_once(GetParam());
  if (world().rank() != 0) return;
  for (int rank = 0; rank < world().size(); ++rank) {
    for (const char* name : {"iteration", "zero_grad", "forward", "loss", "backward", "optimizer.step"}) {
      EXPECT_EQ(spans(traced.trace, rank, name).size(), static_cast<std::size_t>(kEnd - kFirst)) << rank << name;
    }
  }
}

TEST_P(EveryTracedMode, HasSpansThatLieInsideOrBesideOneAnother) {
  const Traced& traced = traced_once(GetParam());
  if (world().rank() != 0) return;
  constexpr double kRounding = 0.002;  // of times to whole nanoseconds
  for (int rank = 0; rank < world().size(); ++rank) {
    const auto all = spans(traced.trace, rank);
    for (const json& a : all) {
      for (const json& b : all) {
        if (a.at("tid") != b.at("tid") || begin_of(a) > begin_of(b)) continue;
        const bool beside = end_of(a) <= begin_of(b) + kRounding, inside = end_of(b) <= end_of(a) + kRounding;
        EXPECT_TRUE(beside || inside || begin_of(a) == begin_of(b)) << a << b;
      }
    }
  }
}

TEST_P(EveryTracedMode, HasEveryByteOfTheGradientsInSomeBucket) {
  const Traced& traced = traced_once(GetParam());
  if (world().rank() != 0) return;
  for (int rank = 0; rank < world().size(); ++rank) {
    std::int64_t bytes = 0;
    for (const json& span : spans(traced.trace, rank, "all_reduce"))
      bytes += span.at("args").at("bytes").get<std::int64_t>();
    EXPECT_EQ(bytes, (kEnd - kFirst) * traced.gradient_bytes);
  }
}

TEST_P(EveryTracedMode, HasNoCollectiveOfNothing) {
  const Traced& traced = traced_once(GetParam());
  if (world().rank() != 0) return;
  for (const json& span : spans(traced.trace, 0)) {
    if (!span.contains("args") || !span.at("args").contains("bytes")) continue;
    EXPECT_GT(span.at("args").at("bytes"), 0) << span;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, EveryTracedMode,
                         ::testing::Values(Mode::kDdp, Mode::kSync, Mode::kOptimizer, Mode::kZero));

TEST(StepTrace, ShowsRanksMeetInTheirCollectives) {
  const Traced& traced = traced_once(Mode::kDdp);
  if (world().rank() != 0) return;
  const auto first = spans(traced.trace, 0, "all_reduce");
  for (int rank = 1; rank < world().size(); ++rank) {
    const auto other = spans(traced.trace, rank, "all_reduce");
    ASSERT_EQ(other.size(), first.size());
    // None can end before all have come.
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_GT(end_of(other[i]), begin_of(first[i]));
      EXPECT_GT(end_of(first[i]), begin_of(other[i]));
    }
  }
}

TEST(StepTrace, SaysWhenTheStepsDoNotCome) {
  const TemporaryFolder folder;
  train::StepTrace trace(world(), {.steps = {10, 12}, .file = folder.path() / "trace.json"});
  for (std::int64_t i = 0; i < 5; ++i) trace.reach(i);
  trace.finish();
  if (world().rank() == 0) {
    EXPECT_THAT(trace.problem(), ::testing::HasSubstr("no step was traced"));
  }
}

TEST(StepTrace, GoesOnWhereTheFileCannotBeWritten) {
  train::StepTrace trace(world(), {.steps = {0, 1}, .file = "/nowhere/trace.json"});
  trace.reach(0);
  trace.reach(1);
  trace.finish();
  if (world().rank() == 0) {
    EXPECT_THAT(trace.problem(), ::testing::HasSubstr("/nowhere"));
  }
}

// All ranks of this test have one clock, which is what an estimate has to find.
TEST(ClockOffset, IsFoundWithinItsUncertainty) {
  const trace::ClockOffset measured = train::measure_clock_offset(world(), /*each=*/true);
  EXPECT_LE(std::abs(measured.nanoseconds), measured.uncertainty);
  if (world().rank() > 0) {
    EXPECT_GT(measured.uncertainty, 0);
  }
  const trace::ClockOffset known = train::measure_clock_offset(world());
  EXPECT_EQ(known.nanoseconds, 0);
  EXPECT_EQ(known.uncertainty, 0);
}

TEST(ClockOffset, ComesFromTheShortestRoundTrip) {
  // Rank 0 is 1,000 ahead; of three round trips the second is the shortest, and its answer came late in it.
  const auto offset = train::offset_from({{100, 1150, 300}, {400, 1418, 420}, {500, 1900, 900}});
  EXPECT_EQ(offset.nanoseconds, 1008);
  EXPECT_EQ(offset.uncertainty, 10);
}

}  // namespace
}  // namespace lockstep::test
