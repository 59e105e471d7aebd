// lockstep report as a user meets it.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "command.h"
#include "sample_runs.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

CommandResult report(std::vector<std::string> words, const std::map<std::string, std::string>& environment = {}) {
  words.insert(words.begin(), {program_path("lockstep"), "report"});
  return run_command(words, {.environment = environment});
}

TEST(ReportVerb, PutsThePageIntoTheFolderOfTheOnlyRun) {
  const TemporaryFolder folder;
  const auto run = make_sample_run(folder, "first", 0.75);
  const CommandResult result = report({run.string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_EQ(result.err, "wrote " + (run / "report.html").string() + "\n");
  EXPECT_THAT(content(run / "report.html"), AllOf(StartsWith("<!doctype html>"), HasSubstr("75.00%")));
}

TEST(ReportVerb, WritesThePageToStdoutAndNotesToStderr) {
  const TemporaryFolder folder;
  const auto run = make_sample_run(folder, "first", 0.75);
  folder.write("cut.json", "{\"kind\":");
  const CommandResult result = report({run.string(), (folder.path() / "cut.json").string(), "-o", "-"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, AllOf(StartsWith("<!doctype html>"), HasSubstr("cut.json: it is no result")));
  EXPECT_THAT(result.err, AllOf(StartsWith("note: "), HasSubstr("cut.json")));
}

TEST(ReportVerb, GivesAllNumbersAsJson) {
  const TemporaryFolder folder;
  const auto run = make_sample_run(folder, "first", 0.75);
  const auto value = nlohmann::json::parse(report({run.string(), make_sample_scaling(folder).string(), "--json"}).out);
  EXPECT_EQ(value["inputs"][0]["metrics"].size(), 36U);
  EXPECT_EQ(value["inputs"][1]["rows"][1]["efficiency"], 0.9375);
  EXPECT_FALSE(std::filesystem::exists(run / "report.html"));
  const std::string file = (folder.path() / "numbers.json").string();
  EXPECT_EQ(report({run.string(), "--json=" + file}).exit_code, 0);
  EXPECT_EQ(nlohmann::json::parse(content(file))["inputs"][0]["name"], "first");
}

std::string png_signature() {
  return "\x89PNG\r\n\x1a\n";
}

TEST(ReportVerb, DrawsPicturesIntoAFolderOrOnOneSheet) {
  const TemporaryFolder folder;
  const auto run = make_sample_run(folder, "first", 0.75);
  const std::string pictures = (folder.path() / "new" / "pictures").string();
  const CommandResult result = report({run.string(), "--png", pictures});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* name : {"loss.png", "top1.png", "top5.png", "rate.png", "throughput.png", "time.png"}) {
    EXPECT_THAT(content(std::filesystem::path(pictures) / name), StartsWith(png_signature())) << name;
  }
  const std::string sheet = (folder.path() / "sheet.png").string();
  EXPECT_EQ(report({run.string(), "--png", sheet}).exit_code, 0);
  EXPECT_THAT(content(sheet), StartsWith(png_signature()));
}

TEST(ReportVerb, NamesThePackageThatPicturesNeed) {
  const TemporaryFolder folder;
  const auto run = make_sample_run(folder, "first", 0.75);
  const CommandResult result =
      report({run.string(), "--png", folder.path().string()}, {{"PATH", folder.path().string()}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("rsvg-convert"), HasSubstr("librsvg2-bin")));
}

TEST(ReportVerb, SaysWhatItCannotUse) {
  const TemporaryFolder folder;
  const CommandResult nothing = report({folder.path().string(), (folder.path() / "missing").string()});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, AllOf(HasSubstr("nothing to report on"), HasSubstr("no metrics.jsonl"),
                                 HasSubstr("No such file"), HasSubstr("lockstep bench --json")));
  const auto run = make_sample_run(folder, "first", 0.75);
  const CommandResult unwritable = report({run.string(), "-o", (folder.path() / "no" / "report.html").string()});
  EXPECT_EQ(unwritable.exit_code, 1);
  EXPECT_THAT(unwritable.err, HasSubstr("check that the folder exists"));
  const CommandResult both = report({run.string(), "-o", "-", "--json"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("--json=FILE"));
  EXPECT_THAT(report({}).err, HasSubstr("RUN"));
}

}  // namespace
}  // namespace lockstep::test
