// lockstep checkpoint as a user meets it.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <lockstep/checkpoint/weights.h>
#include <lockstep/checkpoint/writer.h>

#include "command.h"
#include "float_tensors.h"
#include "small_checkpoint.h"
#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class CheckpointVerb : public ::testing::Test {
 protected:
  static CommandResult checkpoint(std::vector<std::string> words) {
    words.insert(words.begin(), {program_path("lockstep"), "checkpoint"});
    return run_command(words);
  }
  static std::string made(const std::string& name) { return (test::source_path("tests/data/torch") / name).string(); }
  std::string at(const std::string& name) const { return (folder_.path() / name).string(); }

  const TemporaryFolder folder_;
};

TEST_F(CheckpointVerb, InspectsACheckpointARunAndAFile) {
  write_small(at("checkpoints"), 20);
  write_small(at("checkpoints"), 40);
  std::filesystem::resize_file(at("checkpoints/40/model.safetensors"), 20);
  const CommandResult one = checkpoint({"inspect", at("checkpoints/20"), "--tensors"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.out, AllOf(HasSubstr("step 20, epoch 2, 1 rank"), HasSubstr("loss"), HasSubstr("0.047619"),
                             HasSubstr("model.safetensors"), HasSubstr("conv.weight"), HasSubstr("int64")));
  checkpoint::Writer(at("checkpoints"), 60).commit({.numbers = {{"test.top1", 0.5}, {"schedule.factor", 0.25}}});
  const CommandResult run = checkpoint({"inspect", folder_.path().string()});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, AllOf(HasSubstr("test.top1 0.5"), Not(HasSubstr("schedule.factor"))));
  EXPECT_THAT(run.out, AllOf(HasSubstr("good"), HasSubstr("damaged"), HasSubstr("model.safetensors' is truncated")));
  const CommandResult file = checkpoint({"inspect", made("model_best.pth.tar"), "--tensors"});
  EXPECT_THAT(file.out, AllOf(HasSubstr("PyTorch file, 2 tensors"), HasSubstr("took the state dict under 'state_dict'"),
                              HasSubstr("took 'module.' from all names"), HasSubstr("[1, 2]")));
}

TEST_F(CheckpointVerb, SpeaksJson) {
  write_small(at("checkpoints"), 20);
  const auto one = nlohmann::json::parse(checkpoint({"inspect", at("checkpoints/20"), "--json", "--tensors"}).out);
  EXPECT_EQ(one["kind"], "checkpoint");
  EXPECT_EQ(one["step"], 20);
  EXPECT_EQ(one["good"], true);
  EXPECT_EQ(one["numbers"]["loss"], 1.0 / 21);
  EXPECT_EQ(one["files"][0]["tensors"][1]["name"], "conv.weight");
  EXPECT_EQ(one["files"][0]["tensors"][1]["crc32c"].get<std::string>().size(), 8);
  const auto all = nlohmann::json::parse(checkpoint({"inspect", at("checkpoints"), "--json"}).out);
  EXPECT_EQ(all["kind"], "checkpoints");
  EXPECT_EQ(all["checkpoints"][0]["files"][0]["tensor_count"], 2);
  const auto file = nlohmann::json::parse(checkpoint({"inspect", made("types.pt"), "--json"}).out);
  EXPECT_EQ(file["kind"], "pytorch");
  EXPECT_EQ(file["tensor_count"], 16);
}

TEST_F(CheckpointVerb, VerifyTellsGoodFromBadByItsExitCode) {
  write_small(at("checkpoints"), 20);
  EXPECT_EQ(checkpoint({"verify", at("checkpoints/20")}).exit_code, 0);
  std::string model = content(at("checkpoints/20/model.safetensors"));
  model.back() = static_cast<char>(model.back() ^ 1);
  folder_.write("checkpoints/20/model.safetensors", model);
  const CommandResult bad = checkpoint({"verify", folder_.path().string()});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.out, HasSubstr("tensor 'conv.weight' of"));

  EXPECT_EQ(checkpoint({"verify", made("types.pt")}).exit_code, 0);
  std::string file = content(made("protocol4.pt"));
  const std::size_t values = file.find(std::string("\0\0\x80\x3f", 4));
  file[values + 2] = static_cast<char>(file[values + 2] ^ 1);
  const CommandResult flipped = checkpoint({"verify", folder_.write("a.pt", file).string()});
  EXPECT_EQ(flipped.exit_code, 1);
  EXPECT_THAT(flipped.out, HasSubstr("damaged tensor 'a'"));
  EXPECT_EQ(checkpoint({"verify", folder_.write("a.pt", file.substr(0, 500)).string()}).exit_code, 1);
  for (const std::string name : {"a.pt", "a.pth", "a.safetensors"}) {
    EXPECT_EQ(checkpoint({"verify", folder_.write(name, "").string()}).exit_code, 1) << name;
  }
  EXPECT_EQ(checkpoint({"verify", at("absent")}).exit_code, 2);
  std::filesystem::create_directory(at("empty"));
  EXPECT_EQ(checkpoint({"verify", at("empty")}).exit_code, 2);
  EXPECT_EQ(checkpoint({"verify", folder_.write("text", "hello").string()}).exit_code, 2);
}

TEST_F(CheckpointVerb, ExportsTheModelOrItsAverage) {
  const std::vector<float> own = {1, 2}, average = {3, 4}, updates = {5};
  checkpoint::Writer writer(at("checkpoints"), 7);
  const std::vector model = {float_tensor("w", own)};
  writer.write(checkpoint::kModelFile, model);
  const std::vector training = {float_tensor("ema/w", average), float_tensor("ema/updates", updates)};
  writer.write(checkpoint::kTrainingFile, training);
  writer.commit({});
  const auto floats = [&](const std::string& name) {
    const auto weights = checkpoint::open_weights(at(name));
    EXPECT_EQ(weights.tensors.size(), 1);
    return floats_of(weights.tensors.at(0).tensor);
  };
  for (const std::string ending : {".pt", ".safetensors"}) {
    ASSERT_EQ(checkpoint({"export", at("checkpoints/7"), at("own" + ending)}).exit_code, 0);
    EXPECT_THAT(floats("own" + ending), ElementsAre(1, 2));
    ASSERT_EQ(checkpoint({"export", at("checkpoints/7"), at("average" + ending), "--average"}).exit_code, 0);
    EXPECT_THAT(floats("average" + ending), ElementsAre(3, 4));
  }
  const CommandResult again = checkpoint({"export", at("checkpoints/7"), at("own.pt"), "--average"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, AllOf(HasSubstr("exists"), HasSubstr("--force")));
  EXPECT_EQ(checkpoint({"export", at("checkpoints/7"), at("own.pt"), "--average", "--force"}).exit_code, 0);
  EXPECT_THAT(floats("own.pt"), ElementsAre(3, 4));
  EXPECT_EQ(checkpoint({"export", at("checkpoints/7"), at("own.bin")}).exit_code, 2);
  EXPECT_EQ(checkpoint({"export", at("checkpoints/8"), at("x.pt")}).exit_code, 2);
  const CommandResult nowhere = checkpoint({"export", at("checkpoints/7"), at("nowhere/x.pt")});
  EXPECT_EQ(nowhere.exit_code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("cannot write"));
}

TEST_F(CheckpointVerb, ImportsIntoACheckpointOrAFile) {
  const CommandResult imported = checkpoint({"import", made("model_best.pth.tar"), at("weights")});
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_THAT(imported.out, AllOf(HasSubstr("took 'module.' from all names"), HasSubstr("weights/0: 2 tensors")));
  EXPECT_EQ(checkpoint({"verify", at("weights/0")}).exit_code, 0);
  EXPECT_THAT(floats_of(checkpoint::open_weights(at("weights/0")).tensors.at(0).tensor), ElementsAre(5));
  EXPECT_EQ(checkpoint({"import", made("types.pt"), at("weights")}).exit_code, 2);
  EXPECT_EQ(checkpoint({"import", made("types.pt"), at("weights"), "--force"}).exit_code, 0);
  EXPECT_EQ(checkpoint::open_weights(at("weights/0")).tensors.size(), 16);
  EXPECT_EQ(checkpoint({"import", made("model_best.pth.tar"), at("a.safetensors"), "--key", "ema"}).exit_code, 0);
  EXPECT_THAT(floats_of(checkpoint::open_weights(at("a.safetensors")).tensors.at(0).tensor), ElementsAre(6));
}

TEST_F(CheckpointVerb, ImportRefusesWhatItShould_AndWritesNothing) {
  const auto refused = [&](const std::string& from) {
    const CommandResult result = checkpoint({"import", from, at("out.safetensors")});
    EXPECT_EQ(result.exit_code, 2) << from;
    EXPECT_FALSE(std::filesystem::exists(at("out.safetensors"))) << from;
    return result.err;
  };
  EXPECT_THAT(refused(made("runs_it.pt")), HasSubstr("would run 'posix.system'"));
  EXPECT_FALSE(std::filesystem::exists("ran-it"));
  EXPECT_THAT(refused(made("legacy.pt")), HasSubstr("before 1.6"));
  EXPECT_THAT(refused(made("script.pt")), HasSubstr("TorchScript"));
  EXPECT_THAT(refused(made("two.pt")), HasSubstr("--key"));
  EXPECT_THAT(refused(at("absent.pt")), HasSubstr("No such file"));
  EXPECT_THAT(refused(folder_.path().string()), HasSubstr("is no checkpoint"));
  EXPECT_THAT(refused(folder_.write("a.pt", content(made("types.pt")).substr(0, 3000)).string()),
              HasSubstr("truncated"));
  const CommandResult wrong = checkpoint({"import", made("types.pt"), at("out.onnx")});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr(".safetensors"));
}

TEST_F(CheckpointVerb, HasHelp) {
  EXPECT_THAT(checkpoint({"--help"}).out,
              AllOf(HasSubstr("inspect"), HasSubstr("verify"), HasSubstr("export"), HasSubstr("import")));
  EXPECT_EQ(checkpoint({"inspekt"}).exit_code, 2);
  EXPECT_EQ(checkpoint({}).exit_code, 2);
}

}  // namespace
}  // namespace lockstep::test
