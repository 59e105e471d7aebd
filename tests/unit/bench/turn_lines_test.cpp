#include "bench/turn_lines.h"

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "throws_with.h"

namespace lockstep::test {
namespace {

using bench::parse_ready;
using bench::parse_turn;

TEST(TurnLines, ReadBackWhatWasSaid) {
  const auto ready = parse_ready(bench::to_line(bench::Ready{.parameters = 1'199'882, .about = "PyTorch 2.11"}));
  EXPECT_EQ(ready.parameters, 1'199'882);
  EXPECT_EQ(ready.about, "PyTorch 2.11");
  const auto turn = parse_turn(bench::to_line(bench::Turn{.samples_per_second = 12.25, .peak_memory = 1LL << 40}));
  EXPECT_EQ(turn.samples_per_second, 12.25);
  EXPECT_EQ(turn.peak_memory, 1LL << 40);
}

TEST(TurnLines, RefuseAllElse) {
  for (const char* line :
       {"", "12.5", "[]", "null", "{", "{}", "Loading...", "{\"samples_per_second\": 1}",
        "{\"samples_per_second\": \"fast\", \"peak_memory\": 1}", "{\"samples_per_second\": 0, \"peak_memory\": 1}",
        "{\"samples_per_second\": -1, \"peak_memory\": 1}", "{\"samples_per_second\": 1e999, \"peak_memory\": 1}",
        "{\"samples_per_second\": NaN, \"peak_memory\": 1}", "{\"samples_per_second\": 1, \"peak_memory\": 1e300}",
        "{\"samples_per_second\": true, \"peak_memory\": 1}", "{\"samples_per_second\": 1, \"peak_memory\": null}"}) {
    EXPECT_THAT([&] { parse_turn(line); }, ThrowsWith<RuntimeError>("is not understood")) << line;
    EXPECT_THAT([&] { parse_ready(line); }, ThrowsWith<RuntimeError>("is not understood")) << line;
  }
  EXPECT_THAT([] { parse_ready("{\"parameters\": 5, \"about\": 7}"); }, ThrowsWith<RuntimeError>("is not understood"));
}

TEST(TurnLines, AreNotReadWithoutALimit) {
  const std::string about(bench::kMostOfALine, 'a');
  EXPECT_THAT([&] { parse_ready("{\"parameters\": 5, \"about\": \"" + about + "\"}"); },
              ThrowsWith<RuntimeError>("is not understood"));
}

TEST(TurnLines, HandOnAnError_WithoutItsControlCharacters) {
  EXPECT_THAT([] { parse_turn("{\"error\": \"no compiler\\n\\u001b[2J\"}"); },
              ThrowsWith<RuntimeError>("no compiler\\n\\x1b[2J"));
}

}  // namespace
}  // namespace lockstep::test
