// The five steps of Horovod's tutorial: two ranks end where one does.
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/files.h>

#include "command.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

class MnistHorovod : public ::testing::Test {
 protected:
  // The accuracy at the end.
  double train(int ranks, const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {
        program_path("lockstep"), "run", "-n", std::to_string(ranks), "--", program_path("mnist_horovod"), "--output",
        folder_.path().string()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    // A core for each rank: threads of OpenMP that wait for one another take long on a busy machine.
    result_ = run_command(command, {.environment = {{"OMP_NUM_THREADS", "1"}, {"MKL_NUM_THREADS", "1"}},
                                    .limit = std::chrono::seconds(100)});
    EXPECT_EQ(result_.exit_code, 0) << result_.out << result_.err;
    std::istringstream lines(files::read(folder_.path() / "metrics.jsonl"));
    double top1 = 0;
    for (std::string line; std::getline(lines, line);) top1 = nlohmann::json::parse(line)["top1"];
    return top1;
  }

  TemporaryFolder folder_;
  CommandResult result_;
};

TEST_F(MnistHorovod, TwoRanksEndAtTheAccuracyOfOne) {
  // Both see 10,240 samples. With seeds 1 to 3 one rank ends at 93.8 to 95.4%, and two end 0.5 to 0.8% below it: they
  // take half as many steps.
  const double one = train(1, {"--epochs", "1", "--warmup", "0.5", "--steps", "160"});
  const double two = train(2, {"--epochs", "1", "--warmup", "0.5", "--steps", "80"});
  EXPECT_GT(one, 0.92);
  EXPECT_NEAR(two, one, 0.015);
  EXPECT_THAT(result_.out, HasSubstr("learning rate 0.01 to 0.02"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "model.pt"));
}

TEST_F(MnistHorovod, AdasumAndHalfPrecisionTrainToo) {
  EXPECT_GT(train(2, {"--epochs", "1", "--steps", "40", "--reduction", "adasum"}), 0.7);
  EXPECT_GT(train(2, {"--epochs", "1", "--steps", "40", "--fp16"}), 0.7);
}

}  // namespace
}  // namespace lockstep::test
