// lockstep schedule as a user meets it, and every command of docs/schedules.md.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/environment.h>
#include <lockstep/base/text.h>

#include "command.h"
#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// In a terminal that is 80 characters wide and has UTF-8, unless told otherwise.
CommandResult schedule(std::vector<std::string> words, std::map<std::string, std::string> environment = {}) {
  words.insert(words.begin(), {program_path("lockstep"), "schedule"});
  environment.try_emplace("LC_ALL", "C.UTF-8");
  environment.try_emplace("COLUMNS", "80");
  return run_command(words, {.environment = environment});
}

TEST(ScheduleVerb, PrintsACurveAndATable) {
  const CommandResult result = schedule({"step(30)", "--epochs", "90"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("step(30), rate 0.1\n"), HasSubstr("0.1 ┤⠉"), HasSubstr("\n60     0.001\n")));
}

TEST(ScheduleVerb, IsPlainWhereTheLocaleIsAndAsWideAsTheTerminal) {
  const CommandResult result = schedule({"cosine(90)"}, {{"LC_ALL", "C"}, {"COLUMNS", "60"}});
  std::size_t widest = 0;
  for (const std::string& line : split(result.out, '\n')) widest = std::max(widest, line.size());
  EXPECT_EQ(widest, 60U);
  for (const char c : result.out) ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
}

TEST(ScheduleVerb, GivesEveryPointAsJson) {
  const auto json = nlohmann::json::parse(
      schedule({"warmup(5)+cosine(85)", "--rate", "0.1", "--ranks", "8", "--scale", "linear", "--json"}).out);
  ASSERT_EQ(json["points"].size(), 90U);
  EXPECT_EQ(json["points"][0], (nlohmann::json{{"epoch", 0}, {"rate", 0.1}}));
  EXPECT_EQ(json["points"][5]["rate"], json["scaled_rate"]);
  EXPECT_DOUBLE_EQ(json["scaled_rate"], 0.8);
  const auto steps = nlohmann::json::parse(schedule({"polynomial(4)", "--steps", "4", "--json"}).out);
  EXPECT_EQ(steps["points"][3], (nlohmann::json{{"step", 3}, {"rate", 0.025}}));
}

TEST(ScheduleVerb, SaysForWhichMetricAPlateauIsShown) {
  EXPECT_THAT(schedule({"plateau(5)", "--epochs", "30"}).out, HasSubstr("never improves"));
  const TemporaryFolder folder;
  const std::string file = folder.write("loss.txt", "5\n4\n3\n3 3\n3\n").string();
  const CommandResult result = schedule({"plateau(1)", "--metric", file, "--all"});
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("the metrics of " + file), Not(HasSubstr("never")), HasSubstr("\n5      0.01\n")));
}

TEST(ScheduleVerb, ExplainsMistakesInOneMessage) {
  const TemporaryFolder folder;
  const std::string words = folder.write("words.txt", "1.5\n1.2\nnine\n").string();
  const std::string empty = folder.write("empty.txt", "\n").string();
  const auto error = [](const std::vector<std::string>& arguments) {
    const CommandResult result = schedule(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments.front();
    EXPECT_THAT(result.out, IsEmpty()) << arguments.front();
    return result.err;
  };
  EXPECT_THAT(error({"--epochs", "5"}), HasSubstr("schedule"));
  EXPECT_THAT(error({"cosin(90)"}), HasSubstr("did you mean 'cosine'?"));
  EXPECT_THAT(error({"cosine(90"}), HasSubstr("cannot be read"));
  EXPECT_THAT(error({"step(30)"}), HasSubstr("--epochs"));
  EXPECT_THAT(error({"step(30)", "--epochs", "-3"}), HasSubstr("-3"));
  EXPECT_THAT(error({"step(30)", "--epochs", "many"}), HasSubstr("--epochs"));
  EXPECT_THAT(error({"cosine(90)", "--rate", "-1"}), HasSubstr("above 0"));
  EXPECT_THAT(error({"cosine(90)", "--scale", "squrt"}), HasSubstr("did you mean 'sqrt'?"));
  EXPECT_THAT(error({"cosine(90)", "--ranks", "0", "--scale", "linear"}), HasSubstr("0 ranks"));
  EXPECT_THAT(error({"cosine(90)", "--metric", words}), HasSubstr("'nine', after 2 metrics"));
  EXPECT_THAT(error({"plateau", "--metric", empty}), HasSubstr("no metric"));
  EXPECT_THAT(error({"plateau", "--metric", folder.path() / "none.txt"}), HasSubstr("none.txt"));
  EXPECT_THAT(error({"plateau", "--metric", folder.path()}), HasSubstr("regular file"));
}

struct Sample {
  std::string command, output;
};

// The commands behind "$ " with the lines below them, to the end of the block.
std::vector<Sample> samples_of(const std::string& page) {
  std::vector<Sample> samples;
  bool open = false;
  for (const std::string& line : split(page, '\n')) {
    if (line.starts_with("$ ")) {
      samples.push_back({line.substr(2), ""});
      open = true;
    } else if (line.starts_with("```")) {
      open = false;
    } else if (open) {
      samples.back().output += line + "\n";
    }
  }
  return samples;
}

TEST(SchedulesPage, EveryCommandPrintsWhatThePageShows) {
  const auto samples = samples_of(content(test::source_path("docs/schedules.md")));
  const TemporaryFolder folder;
  for (const Sample& sample : samples) {
    const CommandResult result =
        run_command({"bash", "-c", "cd " + folder.path().string() + " && " + sample.command},
                    {.environment = {{"PATH", program_path("") + ":" + env::get("PATH").value_or("")},
                                     {"LC_ALL", "C.UTF-8"},
                                     {"COLUMNS", "80"}}});
    EXPECT_EQ(result.exit_code, 0) << sample.command << result.err;
    EXPECT_EQ(result.out, sample.output) << sample.command;
  }
  EXPECT_GE(samples.size(), 4U);
}

}  // namespace
}  // namespace lockstep::test
