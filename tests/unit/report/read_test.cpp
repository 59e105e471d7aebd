#include <lockstep/report/read.h>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/report/report.h>

#include "temporary_folder.h"

namespace lockstep::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kLine = R"({"step":1,"epoch":1,"split":"test","span":"epoch","loss":0.5,"top1":0.5})"
                              "\n";

std::filesystem::path make_run(const test::TemporaryFolder& folder, const std::string& name,
                               const std::string& metrics) {
  std::filesystem::create_directories(folder.path() / name);
  folder.write(name + "/metrics.jsonl", metrics);
  return folder.path() / name;
}

TEST(Read, TakesRunsAndBenchmarksTogether) {
  const test::TemporaryFolder folder;
  const auto run = make_run(folder, "a", kLine);
  folder.write("a/config.yaml", "optimizer: {lr: 0.1}\nmodel: {name: lenet, sizes: [1, 2]}\n");
  folder.write("a/machine.json", R"({"cpu":{"model":"a fast one"}})");
  const auto bench = folder.write("l.json", R"({"rungs":[{"rung":"x"}]})");
  const Data data = read({run, bench});
  EXPECT_THAT(data.notes, IsEmpty());
  ASSERT_EQ(data.inputs.size(), 2U);
  const auto& config = std::get<TrainingRun>(data.inputs[0].content).config;
  ASSERT_EQ(config.size(), 3U);
  EXPECT_EQ(config[0].name + "=" + config[0].value, "optimizer.lr=0.1");
  EXPECT_EQ(config[2].name + "=" + config[2].value, "model.sizes=[1, 2]");
  EXPECT_EQ(data.inputs[0].machine.at(0).value, "a fast one");
  EXPECT_EQ(data.inputs[1].name, "l.json");
}

TEST(Read, TellsRunsOfOneNameApart) {
  const test::TemporaryFolder folder;
  const Data data = read(
      {make_run(folder, "monday/a", kLine), make_run(folder, "tuesday/a", kLine) / "", make_run(folder, "b", kLine)});
  ASSERT_EQ(data.inputs.size(), 3U);
  EXPECT_EQ(data.inputs[0].name, "monday/a");
  EXPECT_EQ(data.inputs[1].name, "tuesday/a");
  EXPECT_EQ(data.inputs[2].name, "b");
}

TEST(Read, ShowsTheRestOfWhatCannotBeRead) {
  const test::TemporaryFolder folder;
  const auto good = make_run(folder, "good", kLine);
  folder.write("good/config.yaml", "a: [1\n");
  folder.write("good/machine.json", "[]");
  std::filesystem::create_directories(folder.path() / "empty");
  const auto text = folder.write("text.json", "hello");
  const Data data =
      read({good, good / ".", folder.path() / "empty", folder.path() / "missing", text, make_run(folder, "young", "")});
  ASSERT_EQ(data.inputs.size(), 2U);
  EXPECT_THAT(data.notes,
              ElementsAre(HasSubstr("good/config.yaml"), HasSubstr("machine.json: it is not what lockstep info"),
                          HasSubstr("given twice"), HasSubstr("empty: it is no run"), HasSubstr("cannot read"),
                          HasSubstr("text.json: it is no result of lockstep bench: no JSON"),
                          HasSubstr("young/metrics.jsonl: no metrics are in it yet")));
}

TEST(Read, SaysWhyNothingIsLeft) {
  const test::TemporaryFolder folder;
  try {
    read({folder.path()});
    FAIL() << "an empty folder was taken for a run";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.parts().found, HasSubstr("no metrics.jsonl"));
  }
  EXPECT_THROW(read(std::vector<std::filesystem::path>(kMostInputs + 1, folder.path())), UsageError);
}

TEST(WriteReport, WritesAPageBesideTheRun) {
  const test::TemporaryFolder folder;
  const auto run = make_run(folder, "a", std::string(kLine) + "{");
  const auto notes = write_report({run}, run / "report.html");
  EXPECT_THAT(notes, ElementsAre(HasSubstr("line 2, the last, is cut off")));
  EXPECT_THAT(test::content(run / "report.html"), HasSubstr("</html>"));
}

TEST(WriteRunReport, ThrowsNothing) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(write_run_report(folder.path() / "missing"), std::nullopt);
  const auto run = make_run(folder, "a", kLine);
  EXPECT_EQ(write_run_report(run), run / "report.html");
  std::filesystem::remove(run / "report.html");
  std::filesystem::create_directory(run / "report.html");
  EXPECT_EQ(write_run_report(run), std::nullopt) << "a folder is in the way";
}

}  // namespace
}  // namespace lockstep::report
