#include "report/parse_metrics.h"

#include <gmock/gmock.h>

#include <cmath>

namespace lockstep::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kStep =
    R"({"step":10,"epoch":1,"split":"train","span":"steps","loss":0.5,"top1":0.75,"top5":1.0,"samples":640,)"
    R"("samples_per_second":320.0,"ranks":2,"time":1700000000.5,"lr":0.05,"data_wait":0.25,"compute":0.75,)"
    R"("communication":null})";
constexpr const char* kTest = R"({"step":20,"epoch":1,"split":"test","span":"epoch","loss":0.25,"top1":0.875})";

std::string lines(std::initializer_list<std::string> all) {
  std::string text;
  for (const std::string& line : all) text += line + "\n";
  return text;
}

TEST(ParseMetrics, ReadsEveryNumberOfALine) {
  const Metrics metrics = parse_metrics(lines({kStep, kTest}));
  EXPECT_THAT(metrics.notes, IsEmpty());
  ASSERT_EQ(metrics.rows.size(), 2U);
  const MetricsRow& row = metrics.rows[0];
  EXPECT_EQ(row.step, 10);
  EXPECT_EQ(row.epoch, 1);
  EXPECT_FALSE(row.is_test || row.is_epoch);
  EXPECT_EQ(row.loss, 0.5);
  EXPECT_EQ(row.top1, 0.75);
  EXPECT_EQ(row.top5, 1);
  EXPECT_EQ(row.samples, 640);
  EXPECT_EQ(row.samples_per_second, 320);
  EXPECT_EQ(row.ranks, 2);
  EXPECT_EQ(row.time, 1700000000.5);
  EXPECT_EQ(row.learning_rate, 0.05);
  EXPECT_EQ(row.data, 0.25);
  EXPECT_EQ(row.compute, 0.75);
  EXPECT_TRUE(std::isnan(row.communication));
  EXPECT_TRUE(metrics.rows[1].is_test && metrics.rows[1].is_epoch);
}

TEST(ParseMetrics, KeepsTheRestOfAFileWithACutLine) {
  const Metrics metrics = parse_metrics(lines({kStep, kTest}) + std::string(kTest).substr(0, 30));
  EXPECT_EQ(metrics.rows.size(), 2U);
  EXPECT_THAT(metrics.notes, ElementsAre("line 3, the last, is cut off"));
}

TEST(ParseMetrics, TakesALastLineThatOnlyLacksItsEnd) {
  const Metrics metrics = parse_metrics(lines({kStep}) + kTest);
  EXPECT_EQ(metrics.rows.size(), 2U);
  EXPECT_THAT(metrics.notes, IsEmpty());
}

TEST(ParseMetrics, MakesGapsOfWhatIsNotFinite) {
  const Metrics metrics = parse_metrics(
      lines({R"({"step":1,"epoch":1,"split":"train","loss":NaN,"top1":-Infinity,"top5":0.5,"tag":"NaN \" NaN"})",
             R"({"step":2,"epoch":1,"split":"train","loss":1e999,"top1":null,"top5":"0.5"})"}));
  ASSERT_EQ(metrics.rows.size(), 1U) << "a number that no double holds is no JSON to our parser";
  EXPECT_TRUE(std::isnan(metrics.rows[0].loss) && std::isnan(metrics.rows[0].top1));
  EXPECT_EQ(metrics.rows[0].top5, 0.5);
  EXPECT_THAT(metrics.notes, ElementsAre("line 2 is no JSON"));
}

TEST(ParseMetrics, SaysWhatItLeftOut) {
  const Metrics metrics = parse_metrics(
      lines({"", "no json", "{", kStep, "[1]", R"({"step":-1,"epoch":1,"split":"train"})",
             R"({"step":1e300,"epoch":1,"split":"train"})", R"({"step":3,"epoch":1,"split":"validation"})",
             R"({"step":3,"epoch":1,"split":"train","more":")" + std::string(70'000, 'x') + "\"}"}));
  EXPECT_EQ(metrics.rows.size(), 1U);
  EXPECT_THAT(metrics.notes,
              ElementsAre("2 lines are no JSON, the first of them line 2",
                          "4 lines are not the metrics of a training or a test, the first of them line 5",
                          "line 9 is longer than 64 KiB"));
}

TEST(ParseMetrics, PutsStepsInOrder) {
  const Metrics metrics = parse_metrics(lines({kTest, kStep}));
  EXPECT_EQ(metrics.rows[0].step, 10);
  EXPECT_EQ(metrics.rows[1].step, 20);
}

}  // namespace
}  // namespace lockstep::report
