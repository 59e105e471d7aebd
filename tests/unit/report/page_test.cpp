#include <lockstep/report/report.h>

#include <cmath>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "report/draw.h"
#include "report/markup.h"
#include "report/run_progress.h"
#include "report/tables.h"

namespace lockstep::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TrainingRun two_epochs() {
  TrainingRun run;
  run.rows = {
      {.step = 5, .epoch = 1, .loss = 2, .learning_rate = 0.1, .samples = 100, .samples_per_second = 50, .time = 102},
      {.step = 10,
       .epoch = 1,
       .is_epoch = true,
       .loss = 1.5,
       .top1 = 0.5,
       .samples = 200,
       .samples_per_second = 50,
       .ranks = 2,
       .time = 104,
       .data = 0.25,
       .compute = 0.75},
      {.step = 10, .epoch = 1, .is_test = true, .is_epoch = true, .loss = 1.25, .top1 = 0.625, .time = 105},
      {.step = 20,
       .epoch = 2,
       .is_epoch = true,
       .loss = 1,
       .top1 = 0.75,
       .samples = 200,
       .samples_per_second = 100,
       .ranks = 2,
       .time = 107,
       .data = 0.25,
       .compute = 0.75},
      {.step = 20, .epoch = 2, .is_test = true, .is_epoch = true, .loss = 1.5, .top1 = 0.5, .time = 108}};
  return run;
}

TEST(EscapeMarkup, LeavesNoWayOut) {
  EXPECT_EQ(escape_markup("<b a=\"x\" c='y'>&"), "&lt;b a=&quot;x&quot; c=&#39;y&#39;&gt;&amp;");
  EXPECT_THAT(escape_markup("a\x1b[2J\xff"), Not(HasSubstr("\x1b")));
  EXPECT_EQ(escape_script(R"({"a":"</script><!--"})"), R"({"a":"\u003c/script>\u003c!--"})");
}

TEST(FillIn, DoesNotLookAtWhatItPutIn) {
  EXPECT_EQ(fill_in("a {{x}} b {{y}}", {{"x", "{{y}}"}, {"y", "2"}}), "a {{y}} b 2");
}

TEST(ToHtml, ShowsHostileNamesAsText) {
  const std::string hostile = R"(</script><script>alert(1)</script>"onload='x' {{script}})";
  TrainingRun run = two_epochs();
  run.config = {{hostile, hostile}};
  const Data data{.inputs = {{.name = hostile, .path = hostile, .content = run, .machine = {{"cpu", hostile}}},
                             {.name = "l",
                              .path = "l",
                              .content = Ladder{.model = hostile, .rungs = {{.name = hostile}}},
                              .machine = {}}},
                  .notes = {hostile}};
  const std::string page = to_html(data);
  const std::size_t data_at = page.find("<script type=");  // from here on quotes are JSON's
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_GT(page.find("\"onload="), data_at);
  EXPECT_LT(page.find("{{script}}"), data_at);
  const std::string open = "<script";
  int scripts = 0;
  for (auto at = page.find(open); at != std::string::npos; at = page.find(open, at + 1)) ++scripts;
  EXPECT_EQ(scripts, 2);
}

TEST(ToHtml, HasAPageForARunWithoutMetrics) {
  const Data data{.inputs = {{.name = "young", .path = "young", .content = TrainingRun{}, .machine = {}}}, .notes = {}};
  EXPECT_THAT(to_html(data), HasSubstr("<td>young</td>"));
}

TEST(RunProgress, KnowsEpochsOnlyWhenOneHasEnded) {
  const TrainingRun run = two_epochs();
  const RunProgress progress(run.rows);
  EXPECT_DOUBLE_EQ(progress.epochs(run.rows[0]), 0.5);
  EXPECT_DOUBLE_EQ(progress.epochs(run.rows[3]), 2);
  EXPECT_DOUBLE_EQ(progress.seconds(run.rows[0]), 2);
  EXPECT_TRUE(std::isnan(RunProgress({run.rows[0]}).epochs(run.rows[0])));
}

TEST(Summarize, TakesTheBestTestAndWeighsByTime) {
  TrainingRun run = two_epochs();
  run.rows[3].data = 0.75;
  const RunSummary summary = summarize(run);
  EXPECT_EQ(summary.best_top1, 0.625);
  EXPECT_EQ(summary.best_epoch, 1);
  EXPECT_EQ(summary.test_loss, 1.5);
  EXPECT_EQ(summary.steps, 20);
  EXPECT_EQ(summary.seconds, 8);
  EXPECT_DOUBLE_EQ(summary.split.data, (4 * 0.25 + 2 * 0.75) / 6);
}

TEST(TableOf, HasARowForEachPlaceAndNoColumnForBackgrounds) {
  const LineChart chart{.x = {.title = "epoch"},
                        .y = {.title = "loss"},
                        .series = {{.name = "a", .points = {{1, 0.5}, {2, 0.25}}},
                                   {.name = "noise", .stroke = Stroke::kFaint, .points = {{1.5, 3}}},
                                   {.name = "b", .points = {{2, 0.75}}}}};
  const TextTable table = table_of(chart);
  EXPECT_THAT(table.head, ElementsAre("epoch", "a", "b"));
  EXPECT_THAT(table.rows, ElementsAre(ElementsAre("1", "0.5", ""), ElementsAre("2", "0.25", "0.75")));
}

TEST(ConfigTable, MarksWhatDiffers) {
  TrainingRun one, two;
  one.config = {{"lr", "0.1"}, {"model", "lenet"}};
  two.config = {{"lr", "0.2"}, {"model", "lenet"}, {"new", "1"}};
  const Data data{.inputs = {{.name = "one", .path = "", .content = one, .machine = {}},
                             {.name = "two", .path = "", .content = two, .machine = {}}},
                  .notes = {}};
  const TextTable table = config_table(data);
  EXPECT_THAT(table.marked, ElementsAre(true, false, true));
  EXPECT_THAT(table.rows[2], ElementsAre("new", "", "1"));
}

TEST(ScalingFigures, DrawTheIdealAndFillInTheEfficiency) {
  Scaling scaling{.kind = "strong"};
  scaling.rows = {{.ranks = 4, .rate = {.median = 300}, .milliseconds = 30},
                  {.ranks = 1, .rate = {.median = 100}, .milliseconds = 100}};
  const Data data{.inputs = {{.name = "s", .path = "", .content = scaling, .machine = {}}}, .notes = {}};
  const auto figures = scaling_figures(data);
  ASSERT_EQ(figures.size(), 3U);
  const auto last_y = [&](std::size_t figure, std::size_t series) {
    return std::get<LineChart>(figures[figure].views[0].chart).series[series].points.back().y;
  };
  EXPECT_DOUBLE_EQ(last_y(0, 0), 300);
  EXPECT_DOUBLE_EQ(last_y(0, 1), 400);
  EXPECT_DOUBLE_EQ(last_y(1, 0), 0.75);
  EXPECT_DOUBLE_EQ(last_y(2, 1), 25);
}

TEST(ToJson, HasEveryNumberAndNullForUnknown) {
  const Data data{.inputs = {{.name = "a", .path = "runs/a", .content = two_epochs(), .machine = {}}}, .notes = {"n"}};
  const auto value = nlohmann::json::parse(to_json(data));
  EXPECT_EQ(value["inputs"][0]["kind"], "run");
  EXPECT_EQ(value["inputs"][0]["metrics"].size(), 5U);
  EXPECT_EQ(value["inputs"][0]["metrics"][2]["top1"], 0.625);
  EXPECT_TRUE(value["inputs"][0]["metrics"][0]["top1"].is_null());
  EXPECT_EQ(value["notes"][0], "n");
}

}  // namespace
}  // namespace lockstep::report
