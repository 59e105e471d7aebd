// From the words of a command line to a run.
#include <filesystem>

#include <gmock/gmock.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/command_line.h>
#include <lockstep/base/errors.h>
#include <lockstep/train/arguments.h>

#include "scoped_variable.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

train::Arguments parse(std::vector<std::string> words) {
  CLI::App program("", "lockstep");
  train::Arguments arguments;
  train::add_arguments(*program.add_subcommand("train"), arguments);
  words.insert(words.begin(), {"lockstep", "train"});
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  parse_command_line(program, static_cast<int>(argv.size()), argv.data());
  return arguments;
}

train::RunOptions compose(const std::vector<std::string>& words) {
  return train::compose_run(parse(words));
}

std::string refusal(const std::vector<std::string>& words) {
  try {
    compose(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "it was composed";
}

class ComposeRun : public ::testing::Test {
 protected:
  ComposeRun() {
    config_ = folder_
                  .write("net.yaml",
                         "model: {name: mnist}\ndata: {path: synthetic}\nbatch_size: 256\noptimizer: {lr: 0.1}\n"
                         "sections:\n  big: {batch_size: 512, optimizer: {lr: 0.2}}\n")
                  .string();
  }

  const TemporaryFolder folder_;
  std::string config_;
};

TEST_F(ComposeRun, TakesASectionInTwoWays) {
  EXPECT_EQ(compose({config_}).config.batch_size, 256);
  EXPECT_EQ(compose({config_ + ":big"}).config.batch_size, 512);
  const auto options = compose({config_, "--config", "big"});
  EXPECT_EQ(options.config.batch_size, 512);
  EXPECT_EQ(options.name, "net-big");
  EXPECT_EQ(compose({config_}).name, "net");
  EXPECT_EQ(compose({config_, "--set", "name=mine"}).name, "mine");
}

TEST_F(ComposeRun, PutsWhatWasTypedOverTheFile_AndSetOverAll) {
  const auto options = compose({config_ + ":big", "--lr", "0.3", "--epochs", "4", "--set", "optimizer.lr=0.4"});
  EXPECT_EQ(options.config.optimizer.lr, 0.4);
  EXPECT_EQ(options.config.epochs, 4);
  EXPECT_EQ(compose({config_, "--lr", "0.3"}).config.optimizer.lr, 0.3);
}

TEST_F(ComposeRun, RemembersWhereEachValueCameFrom) {
  const std::string text = train::print_config(parse({config_ + ":big", "-j", "3", "--set", "seed=7", "/data/x"}));
  EXPECT_THAT(text, HasSubstr("batch_size: 512                           # " + config_ + ":6\n"));
  EXPECT_THAT(text, HasSubstr("  workers: 3                              # -j\n"));
  EXPECT_THAT(text, HasSubstr("seed: 7                                   # --set seed\n"));
  EXPECT_THAT(text, HasSubstr("  path: /data/x                           # DATA\n"));
  EXPECT_THAT(text, HasSubstr("epochs: 90                                # default\n"));
}

TEST_F(ComposeRun, ABatchOfEachRankTakesThePlaceOfTheConfigs) {
  for (const char* flag : {"-b", "--b", "--batch", "--batch-size"}) {
    const auto config = compose({config_, flag, "64"}).config;
    EXPECT_EQ(config.batch_size, std::nullopt) << flag;
    EXPECT_EQ(config.batch_size_per_rank, 64) << flag;
  }
  EXPECT_THAT(refusal({config_, "-b", "64", "--set", "batch_size=128"}), HasSubstr("the batch size is given twice"));
}

TEST_F(ComposeRun, TakesTheFlagsOfTheImageNetScript) {
  const auto options = compose({"-a",         "resnet18",
                                "-j",         "4",
                                "-b",         "32",
                                "--lr",       "0.2",
                                "--momentum", "0.8",
                                "--wd",       "1e-5",
                                "--epochs",   "3",
                                "-e",         "--pretrained",
                                "w.pt",       "--desired-acc",
                                "0.75",       "--opt-level",
                                "O2",         "--loss-scale",
                                "128.0",      "--keep-batchnorm-fp32",
                                "True",       "--dist-backend",
                                "gloo",       "--seed",
                                "5",          "-p",
                                "10",         "--multiprocessing-distributed",
                                "--sync_bn",  "/data/imagenet"});
  const auto& config = options.config;
  EXPECT_EQ(config.model.name, "resnet18");
  EXPECT_EQ(config.model.pretrained, "w.pt");
  EXPECT_EQ(config.data.path, "/data/imagenet");
  EXPECT_EQ(config.data.workers, 4);
  EXPECT_EQ(config.batch_size_per_rank, 32);
  EXPECT_EQ(config.optimizer.lr, 0.2);
  EXPECT_EQ(config.optimizer.momentum, 0.8);
  EXPECT_EQ(config.optimizer.weight_decay, 1e-5);
  EXPECT_EQ(config.epochs, 3);
  EXPECT_EQ(config.stop.accuracy, 0.75);
  EXPECT_EQ(config.precision.level, "O2");
  EXPECT_EQ(config.precision.loss_scale, "128.0");
  EXPECT_EQ(config.precision.keep_batchnorm_fp32, true);
  EXPECT_EQ(config.parallel.backend, "gloo");
  EXPECT_TRUE(config.parallel.sync_batch_norm);
  EXPECT_EQ(config.seed, 5);
  EXPECT_EQ(config.log_every, 10);
  EXPECT_TRUE(options.evaluate);
  EXPECT_EQ(options.name, "resnet18");
}

TEST_F(ComposeRun, WithoutAFile_IsTheScriptsRecipe) {
  const auto config = compose({"-a", "resnet50", "/data/imagenet"}).config;
  EXPECT_EQ(config.batch_size, 256);
  EXPECT_EQ(config.optimizer.lr, 0.1);
  EXPECT_EQ(config.optimizer.momentum, 0.9);
  EXPECT_EQ(config.optimizer.weight_decay, 1e-4);
  EXPECT_EQ(config.schedule.rate, "step(30)");
  EXPECT_EQ(config.epochs, 90);
  EXPECT_EQ(compose({"-b", "64", "/data/imagenet"}).config.batch_size, std::nullopt);
  EXPECT_EQ(compose({"/data/imagenet", "--set", "optimizer.name=adam"}).config.optimizer.momentum, std::nullopt);
}

TEST_F(ComposeRun, ReadsAPathAsItStands) {
  EXPECT_EQ(compose({"a: b"}).config.data.path, "a: b");
  EXPECT_EQ(compose({"--data", "[~"}).config.data.path, "[~");
}

TEST_F(ComposeRun, NamesTheFlagOfAValueThatDoesNotFit) {
  EXPECT_THAT(refusal({config_, "--epochs", "ten"}),
              AllOf(StartsWith("--epochs: 'epochs' does not fit"), HasSubstr("a whole number")));
  EXPECT_THAT(refusal({config_, "--opt-level", "O7"}), StartsWith("--opt-level: 'precision.level' cannot be 'O7'"));
  EXPECT_THAT(refusal({config_, "--set", "optimizer.lrr=1"}),
              HasSubstr("--set optimizer.lrr: unknown key 'lrr' in 'optimizer'; did you mean 'lr'?"));
  EXPECT_THAT(refusal({config_, "--set", "lr"}), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(refusal({config_, "--set", "optimizer=adam"}),
              AllOf(HasSubstr("'optimizer' is a section; did you mean 'optimizer.name'?"),
                    HasSubstr("expected: a key of it: optimizer.KEY=VALUE")));
}

TEST_F(ComposeRun, RefusesKeysThatDoNotFit_InSectionsThatNobodyAskedForToo) {
  const auto with = [&](const std::string& section) {
    return folder_.write("my.yaml", "data: {path: synthetic}\nsections:\n  a: {seed: 1}\n  b: " + section + "\n")
        .string();
  };
  for (const char* asked : {"", ":a"}) {
    EXPECT_THAT(refusal({with("{optimizer: {lrr: 1}}") + asked}),
                HasSubstr("my.yaml:4: unknown key 'lrr' in 'optimizer'; did you mean 'lr'?"));
    EXPECT_THAT(refusal({with("{epochs: many}") + asked}),
                AllOf(HasSubstr("my.yaml:4: 'epochs' does not fit"), HasSubstr("a whole number")));
    EXPECT_THAT(refusal({with("{extends: {a: 1}}") + asked}), HasSubstr("my.yaml:4: 'extends' takes the name"));
    EXPECT_THAT(refusal({with("{sections: {c: {}}}") + asked}), HasSubstr("my.yaml:4: a section has no sections"));
  }
}

TEST_F(ComposeRun, RefusesAValueThatDoesNotFit_WhereAnotherTakesItsPlaceToo) {
  const auto file = [&](const std::string& text) {
    return folder_.write("my.yaml", "data: {path: synthetic}\n" + text + "\nsections: {a: {epochs: 3}}\n").string();
  };
  EXPECT_THAT(refusal({file("epochs: many") + ":a"}), HasSubstr("my.yaml:2: 'epochs' does not fit"));
  EXPECT_THAT(refusal({file("epochs: many"), "--epochs", "3"}), HasSubstr("my.yaml:2: 'epochs' does not fit"));
}

TEST_F(ComposeRun, TakesAFileWithSectionsThatAreNoConfigsByThemselves) {
  const std::string file = folder_
                               .write("my.yaml",
                                      "data: {path: synthetic}\nbatch_size: 64\nsections:\n"
                                      "  part: {batch_size_per_rank: 8}\n  none:\n  far: {extends: nowhere.yaml:x}\n"
                                      "  whole: {extends: part, batch_size: null}\n")
                               .string();
  EXPECT_EQ(compose({file}).config.batch_size, 64);
  EXPECT_EQ(compose({file + ":whole"}).config.batch_size_per_rank, 8);
}

TEST_F(ComposeRun, RefusesWordsThatMakeNoSenseTogether) {
  EXPECT_THAT(refusal({config_, config_}), HasSubstr("two configs"));
  EXPECT_THAT(refusal({config_, "/data/a", "--data", "/data/b"}), HasSubstr("the data is given twice"));
  EXPECT_THAT(refusal({"--config", "big"}), HasSubstr("there is no config"));
  EXPECT_THAT(refusal({config_ + ":big", "--config", "small"}), HasSubstr("two sections"));
  EXPECT_THAT(refusal({config_ + ":bgi"}), HasSubstr("did you mean 'big'?"));
  EXPECT_THAT(refusal({"-a", "resnet50"}), HasSubstr("there is no data to train on"));
}

TEST_F(ComposeRun, RefusesWhatIsEmpty) {
  EXPECT_THAT(refusal({config_, ""}), HasSubstr("an empty word is neither a config nor data"));
  EXPECT_THAT(refusal({config_, "--data", ""}), HasSubstr("--data: its value is empty"));
  EXPECT_THAT(refusal({config_, "--output", ""}), HasSubstr("--output: its value is empty"));
  EXPECT_THAT(refusal({config_, "--set", "epochs="}),
              AllOf(HasSubstr("--set epochs: there is no value"), HasSubstr("or epochs=null to take back")));
  EXPECT_THAT(refusal({config_ + ":"}), HasSubstr("there is no section behind '" + config_ + ":'"));
}

TEST_F(ComposeRun, SaysHowAKeyIsChangedThatIsNoFlag) {
  EXPECT_THAT(refusal({config_, "--steps", "20"}),
              AllOf(HasSubstr("there is no flag --steps"), HasSubstr("next: --set steps=20")));
  EXPECT_THAT(refusal({config_, "--checkpoint.keep_last=3"}), HasSubstr("next: --set checkpoint.keep_last=3"));
  EXPECT_THAT(refusal({config_, "--accumulation"}), HasSubstr("next: --set accumulation=VALUE"));
  EXPECT_THAT(refusal({config_, "--stpes", "20"}), HasSubstr("unknown flag '--stpes'"));
}

TEST_F(ComposeRun, SaysWhatTakesThePlaceOfTheScriptsGpu) {
  EXPECT_THAT(refusal({config_, "--gpu", "1"}), HasSubstr("next: CUDA_VISIBLE_DEVICES=1 lockstep train"));
}

TEST_F(ComposeRun, TakesOneAssignmentBehindEachSet) {
  EXPECT_THAT(refusal({config_, "--set", "seed=1", "epochs=2"}),
              AllOf(HasSubstr("--set takes one KEY=VALUE"), HasSubstr("found: epochs=2"),
                    HasSubstr("next: --set seed=1 --set epochs=2")));
  EXPECT_THAT(refusal({"--set", "seed=1", "epochs=2"}), HasSubstr("--set takes one KEY=VALUE"));
  EXPECT_THAT(refusal({config_, "epochs=2"}), HasSubstr("next: --set epochs=2"));
}

TEST_F(ComposeRun, TakesDataWithAnEqualsSignInItsName) {
  const std::string data = (folder_.path() / "date=2026").string();
  EXPECT_EQ(compose({config_, data}).config.data.path, data) << "another node may have it";
  EXPECT_EQ(compose({config_, "--data", "date=2026"}).config.data.path, "date=2026");
  std::filesystem::create_directory(data);
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  EXPECT_EQ(compose({config_, "date=2026"}).config.data.path, "date=2026");
  std::filesystem::current_path(here);
}

TEST_F(ComposeRun, TellsAConfigFromDataOfItsName) {
  EXPECT_THAT(refusal({"mnist"}), HasSubstr("did you mean 'mnist.yaml'?"));
  EXPECT_EQ(compose({"-a", "mnist", "mnist"}).config.data.path, "mnist");
  EXPECT_EQ(compose({config_, "mnist"}).config.data.path, "mnist");
  EXPECT_EQ(compose({"nowhere"}).config.data.path, "nowhere");
}

TEST_F(ComposeRun, SaysWhereAConfigWasLookedFor) {
  const std::string missing = (folder_.path() / "nte.yaml").string();
  EXPECT_THAT(refusal({missing}), AllOf(HasSubstr("there is no config"), HasSubstr("did you mean 'net.yaml'?")));
  EXPECT_THAT(refusal({"no-such.yaml"}), HasSubstr("share/lockstep/configs"));
}

TEST_F(ComposeRun, FindsDataThatLiesWithTheCopies) {
  std::filesystem::create_directories(folder_.path() / "copies/tiny");
  const ScopedVariable copies("LOCKSTEP_DATA_DIR", (folder_.path() / "copies").c_str());
  EXPECT_EQ(compose({"data/tiny"}).config.data.path, (folder_.path() / "copies/tiny").string());
  EXPECT_EQ(compose({"data/none"}).config.data.path, "data/none");
  EXPECT_EQ(compose({"/x", "--set", "data.test_path=data/tiny"}).config.data.test_path,
            (folder_.path() / "copies/tiny").string());
  // Nodes may have it elsewhere: what is written is what they have in common.
  for (const auto& setting : compose({"data/tiny"}).settings) {
    if (setting.path != "data.path") continue;
    EXPECT_EQ(setting.value, "data/tiny");
  }
}

TEST(TrainArguments, OfRanksAreKeptForWhoStartsThem) {
  const auto ranks =
      parse({"-n", "4", "--dist-url", "tcp://a:1", "--world-size", "2", "--rank", "1", "--ranks-per-node", "2"}).ranks;
  EXPECT_EQ(ranks.ranks, 4);
  EXPECT_EQ(ranks.dist_url, "tcp://a:1");
  EXPECT_EQ(ranks.nodes, 2);
  EXPECT_EQ(ranks.node, 1);
  EXPECT_EQ(ranks.ranks_per_node, 2);
  EXPECT_FALSE(ranks.each_gpu);
}

}  // namespace
}  // namespace lockstep::test
