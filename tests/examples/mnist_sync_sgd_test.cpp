// First light: two ranks train, and do the same as one.
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/files.h>

#include "command.h"
#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Epoch {
  double loss = 0;
  double top1 = 0;
};

class MnistSyncSgd : public ::testing::Test {
 protected:
  std::vector<Epoch> train(int ranks, std::vector<std::string> arguments) {
    const CommandResult result = start(ranks, std::move(arguments));
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    std::vector<Epoch> epochs;
    std::istringstream lines(files::read(folder_.path() / "metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const auto json = nlohmann::json::parse(line);
      epochs.push_back({json["loss"], json["top1"]});
    }
    return epochs;
  }

  CommandResult start(int ranks, std::vector<std::string> arguments) {
    std::vector<std::string> command = {
        program_path("lockstep"), "run", "-n", std::to_string(ranks), "--", program_path("mnist_sync_sgd"), "--output",
        folder_.path().string()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_command(command, {.limit = std::chrono::seconds(280)});
  }

  TemporaryFolder folder_;
};

TEST_F(MnistSyncSgd, TwoRanksReach985InThreeEpochs) {
  EXPECT_GE(train(2, {"--epochs", "3"}).back().top1, 0.985);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "model.pt"));
}

TEST_F(MnistSyncSgd, OneRankWithTheWholeBatchHasTheSameLosses) {
  const std::vector<std::string> arguments = {"--float64", "--epochs", "2", "--steps", "20"};
  const auto one = train(1, arguments);
  for (const int ranks : {2, 4}) {
    const auto many = train(ranks, arguments);
    ASSERT_EQ(many.size(), one.size());
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(many[i].loss, one[i].loss, 1e-5) << ranks << " ranks";
    EXPECT_EQ(many.back().top1, one.back().top1);
  }
}

TEST_F(MnistSyncSgd, InSinglePrecisionTheFirstStepsAgreeToo) {
  // Later the order of rounding shows: training amplifies a difference of 1e-7.
  const std::vector<std::string> arguments = {"--epochs", "1", "--steps", "10"};
  EXPECT_NEAR(train(2, arguments).back().loss, train(1, arguments).back().loss, 1e-5);
}

TEST_F(MnistSyncSgd, BadInputIsOneMessageFromEachRankThatMetIt) {
  EXPECT_EQ(start(1, {"--backend", "carrier-pigeon"}).exit_code, 2);
  EXPECT_THAT(start(1, {"--backend", "glo"}).err, HasSubstr("did you mean 'gloo'?"));
  EXPECT_THAT(start(2, {"--batch", "3"}).err,
              AllOf(HasSubstr("/2] error: the batch cannot be divided"), HasSubstr("--batch 3 on 2 ranks")));
  EXPECT_THAT(start(1, {"--data", "/nowhere"}).err, HasSubstr("/nowhere/train-images-idx3-ubyte.gz"));
  EXPECT_THAT(start(1, {"--epocs", "3"}).err, HasSubstr("did you mean '--epochs'?"));
}

TEST_F(MnistSyncSgd, ATruncatedFileEndsTheJobWithItsName) {
  const auto source = test::source_path("data/mnist");
  for (const auto& entry : std::filesystem::directory_iterator(source)) {
    std::filesystem::copy(entry, folder_.path() / entry.path().filename());
  }
  std::filesystem::resize_file(folder_.path() / "t10k-images-idx3-ubyte.gz", 10000);
  const CommandResult result = start(2, {"--data", folder_.path().string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("t10k-images-idx3-ubyte.gz' is truncated"));
}

}  // namespace
}  // namespace lockstep::test
