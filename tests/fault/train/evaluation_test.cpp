// lockstep train --evaluate: what a checkpoint is worth; and mistakes that one rank tells of for all.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>

#include "training_run.h"

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A run of one epoch, and evaluations of it.
class Evaluation : public ::testing::Test {
 protected:
  // `resume` empty: the flag is left out.
  CommandResult evaluate(const std::string& resume, const std::vector<std::string>& settings = {},
                         const std::filesystem::path& output = {}) const {
    auto command = training_command(output.empty() ? run_ : output, 1, settings);
    const auto flag = std::find(command.begin(), command.end(), "--resume");
    if (resume.empty()) {
      command.erase(flag, flag + 2);
    } else {
      *(flag + 1) = resume;
    }
    command.push_back("--evaluate");
    return run_command(command);
  }

  std::string line(const std::string& resume, const std::vector<std::string>& settings = {}) const {
    const CommandResult result = evaluate(resume, settings);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out.substr(0, result.out.find(" ("));  // what follows is the rate
  }

  const TemporaryFolder folder_;
  const std::filesystem::path run_ = folder_.path() / "run";
};

TEST_F(Evaluation, IsOfTheCheckpointThatIsNamed) {
  const CommandResult training =
      run_command(training_command(run_, 1, {"steps=16", "optimizer.lr=0.1", "evaluation.every_epochs=1"}));
  ASSERT_EQ(training.exit_code, 0) << training.err;
  std::istringstream metrics(content(run_ / "metrics.jsonl"));
  double loss = 0;
  for (std::string text; std::getline(metrics, text);) {
    const auto json = nlohmann::json::parse(text);
    if (json.at("split") == "test") loss = json.at("loss");
  }
  const std::string newest = line("auto"), path = (run_ / "checkpoints" / "16").string();
  EXPECT_THAT(newest, HasSubstr(fmt::format("loss {:.4f}", loss))) << "as training found it, with the average";
  EXPECT_EQ(line(path), newest);
  EXPECT_EQ(line(run_.string(), {"optimizer.name=adam", "optimizer.momentum=null", "batch_size=6"}), newest)
      << "only the model has to fit";
  EXPECT_EQ(line(run_.string(), {"batch_size=6", "accumulation=4"}), newest) << "no batch is trained";
  EXPECT_NE(line(path, {"ema.decay=null"}), newest) << "the plain weights";
  EXPECT_NE(line((run_ / "checkpoints" / "15").string()), newest);
  EXPECT_NE(line(""), newest) << "fresh weights";
}

TEST_F(Evaluation, OfNothingIsRefused_AndMakesNoFolder) {
  const auto none = folder_.path() / "none";
  const CommandResult newest = evaluate("auto", {}, none);
  EXPECT_EQ(newest.exit_code, kExitUsage);
  EXPECT_THAT(newest.err, HasSubstr("there is no checkpoint to evaluate"));
  const CommandResult wrong = evaluate("not/here", {}, none);
  EXPECT_EQ(wrong.exit_code, kExitUsage);
  EXPECT_THAT(wrong.err, HasSubstr("'not/here' does not exist"));
  EXPECT_FALSE(std::filesystem::exists(none));
}

TEST(Weights, AreNoTrainingToGoOnWith) {
  const TemporaryFolder folder;
  const std::string weights = (folder.path() / "weights.safetensors").string();
  const std::string imported = (folder.path() / "imported").string();
  ASSERT_EQ(run_command(training_command(folder.path(), 1, {"steps=1"})).exit_code, 0);
  const std::string lockstep = program_path("lockstep"), trained = (folder.path() / "checkpoints" / "1").string();
  ASSERT_EQ(run_command({lockstep, "checkpoint", "export", trained, weights}).exit_code, 0);
  ASSERT_EQ(run_command({lockstep, "checkpoint", "import", weights, imported}).exit_code, 0);
  auto command = training_command(folder.path() / "another", 1);
  *(std::find(command.begin(), command.end(), "--resume") + 1) = imported;
  const CommandResult result = run_command(command);
  EXPECT_EQ(result.exit_code, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("has weights alone"));
  EXPECT_THAT(result.err, HasSubstr("--pretrained " + imported));
}

TEST(Mistake, OfAllRanksIsToldByOne) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_command(training_command(folder.path(), 2, {"steps=2"})).exit_code, 0);
  auto command = training_command(folder.path(), 2, {"steps=4"});
  const auto flag = std::find(command.begin(), command.end(), "--resume");
  command.erase(flag, flag + 2);
  const CommandResult result = run_command(command);
  EXPECT_EQ(result.exit_code, kExitUsage) << result.err;
  EXPECT_THAT(result.err, HasSubstr("[0/2] error: '" + folder.path().string() + "' holds a run"));
  EXPECT_THAT(result.err, Not(HasSubstr("[1/2] error: ")));
  EXPECT_THAT(result.err, HasSubstr("rank 0 of 2 failed first"));
}

}  // namespace
}  // namespace lockstep::test
