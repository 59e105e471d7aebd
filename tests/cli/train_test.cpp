// lockstep train as a user meets it, up to the moment in which ranks begin: a stand-in for lockstep-torch says what
// each rank was given.
#include <filesystem>
#include <list>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>

#include "command.h"
#include "running_command.h"
#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const std::filesystem::path kSource = test::source_path();
const std::string kMnist = (kSource / "configs/mnist.yaml").string();

CommandResult lockstep_train(std::vector<std::string> words) {
  words.insert(words.begin(), {program_path("lockstep"), "train"});
  return run_command(words);
}

TEST(Train, HelpHasTheFlagsForRanksToo) {
  const CommandResult result = lockstep_train({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("-n,--ranks"), HasSubstr("--dist-url"), HasSubstr("--set"),
                                HasSubstr("--resume"), HasSubstr("-a,--arch"), HasSubstr("lockstep train [OPTIONS]")));
}

TEST(Train, PrintsAConfigThatReadsBackAsTheSame) {
  const TemporaryFolder folder;
  const std::vector<std::string> words = {"--print-config", "-b", "32", "--set", "name='a b'"};
  auto first = words;
  first.push_back(kMnist);
  const CommandResult printed = lockstep_train(first);
  EXPECT_EQ(printed.exit_code, 0) << printed.err;
  EXPECT_THAT(printed.out, AllOf(HasSubstr("# " + kMnist + ":"), HasSubstr("# -b\n"), HasSubstr("# --set name\n"),
                                 HasSubstr("# default\n")));
  const std::string copy = folder.write("copy.yaml", printed.out).string();
  const CommandResult again = lockstep_train({"--print-config", copy});
  const auto without_comments = [](const std::string& text) {
    std::string values;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      values += line.substr(0, line.find("  # ")) + "\n";
      at = end + 1;
    }
    return values;
  };
  EXPECT_EQ(without_comments(again.out), without_comments(printed.out));
}

TEST(Train, FindsTheConfigsOfTheInstallationByName) {
  EXPECT_THAT(lockstep_train({"cifar100.yaml:bs2048-warmup-opt", "--print-config"}).out,
              AllOf(HasSubstr("batch_size: 2048 "), HasSubstr("warmup: 16 ")));
}

TEST(Train, ExtendsTheConfigsOfTheInstallationByName_WhereNoneOfThatNameLiesBeside) {
  const TemporaryFolder folder;
  const std::string own = folder.write("own.yaml", "extends: cifar100.yaml:bs256\nseed: 7\n").string();
  const CommandResult shipped = lockstep_train({own, "--print-config"});
  EXPECT_EQ(shipped.exit_code, 0) << shipped.err;
  EXPECT_THAT(shipped.out, AllOf(HasSubstr("batch_size: 256 "), HasSubstr("share/lockstep/configs/cifar100.yaml:"),
                                 HasSubstr("seed: 7 ")));
  const std::string lost = folder.write("lost.yaml", "seed: 7\nextends: nowhere.yaml\n").string();
  EXPECT_THAT(lockstep_train({lost, "--print-config"}).err,
              AllOf(HasSubstr(lost + ":2: there is no file '" + (folder.path() / "nowhere.yaml").string() + "', nor '"),
                    HasSubstr("share/lockstep/configs/nowhere.yaml'")));
  folder.write("cifar100.yaml", "sections: {bs256: {batch_size: 12}}\n");
  EXPECT_THAT(lockstep_train({own, "--print-config"}).out, HasSubstr("batch_size: 12 "));
}

// The page is what the command prints.
TEST(Train, ListsTheKeysThatThePageLists) {
  const CommandResult page = lockstep_train({"--list-keys", "--markdown"});
  EXPECT_EQ(page.out, content(kSource / "docs/config-keys.md"))
      << "lockstep train --list-keys --markdown > docs/config-keys.md";
  const CommandResult table = lockstep_train({"--list-keys"});
  EXPECT_THAT(table.out, AllOf(StartsWith("key "), HasSubstr("\noptimizer.lr "), HasSubstr("a number above 0")));
}

std::vector<std::string> flags_in(const std::string& text) {
  static const std::regex flag("(^|[ ,`\n])(--?[a-z][a-z0-9_-]*)");
  std::vector<std::string> flags;
  for (std::sregex_iterator match(text.begin(), text.end(), flag), end; match != end; ++match) {
    flags.push_back((*match)[2]);
  }
  return flags;
}

TEST(TrainPage, HasEveryFlag_AndNoOther) {
  const std::string page = content(kSource / "docs/training.md");
  const std::string help = lockstep_train({"--help"}).out;
  const auto documented = flags_in(page), known = flags_in(help);
  for (const std::string& flag : known) {
    if (flag != "-h" && flag != "--help" && flag != "--nproc-per-node" && flag != "--ranks") {
      EXPECT_THAT(documented, Contains(flag));
    }
  }
  const std::size_t begin = page.find("| flag |");
  const std::string table =
      page.substr(begin, page.find("\n## ", begin) - begin);  // other chapters name other commands
  for (const std::string& flag : flags_in(table)) {
    if (flag == "--gpu") continue;  // of which the page says that it is not there
    EXPECT_THAT(known, Contains(flag));
  }
}

TEST(TrainPage, ShowsWhatTheCommandPrints) {
  const std::string page = content(kSource / "docs/training.md");
  const std::string start = "$ lockstep train";
  const std::size_t begin = page.find(start), end = page.find("```", begin);
  std::istringstream sample(page.substr(begin + 2, end - begin - 2));
  std::string command;
  std::getline(sample, command);
  const CommandResult result =
      run_command({"bash", "-c", "cd " + kSource.string() + " && " + program_path("") + command});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (std::string line; std::getline(sample, line);) {
    if (line == "...") continue;
    EXPECT_THAT(result.out, HasSubstr("\n" + line + "\n"));
  }
}

TEST(TrainPage, HasAConfigThatCanBeRead) {
  const std::string page = content(kSource / "docs/training.md"), fence = "```yaml\n";
  const std::size_t begin = page.find(fence) + fence.size();
  const TemporaryFolder folder;
  const std::string file = folder.write("my.yaml", page.substr(begin, page.find("```", begin) - begin)).string();
  EXPECT_THAT(lockstep_train({file + ":bs256-amp", "--print-config"}).out,
              AllOf(HasSubstr("batch_size: 256 "), HasSubstr("lr: 0.14 "), HasSubstr("level: O1 ")));
}

TEST(Train, ExplainsMistakesInOneMessageAndStartsNothing) {
  const TemporaryFolder folder;
  const auto error = [](const std::vector<std::string>& words) {
    const CommandResult result = lockstep_train(words);
    EXPECT_EQ(result.exit_code, 2) << words.back();
    EXPECT_THAT(result.out, IsEmpty()) << words.back();
    EXPECT_THAT(result.err, StartsWith("error: ")) << words.back();
    EXPECT_THAT(result.err.substr(1), Not(HasSubstr("error: "))) << result.err;
    return result.err;
  };
  EXPECT_THAT(error({kMnist, "--epoch", "3"}), HasSubstr("unknown flag '--epoch'; did you mean '--epochs'?"));
  EXPECT_THAT(error({"-n", "2", kMnist, "--set", "optimizer.lrr=1"}), HasSubstr("did you mean 'lr'?"));
  EXPECT_THAT(error({"-n", "3", kMnist}), AllOf(HasSubstr("128 over 3 ranks"), HasSubstr("126 or 129")));
  EXPECT_THAT(error({"-n", "zero", kMnist}), HasSubstr("zero"));
  EXPECT_THAT(error({"mnits.yaml"}), HasSubstr("did you mean 'mnist.yaml'?"));
  EXPECT_THAT(error({kMnist + ":smok"}), HasSubstr("did you mean 'smoke'?"));
  EXPECT_THAT(error({kMnist, "--markdown"}), HasSubstr("--list-keys"));
  EXPECT_THAT(error({kMnist, "--set", "seed=1", "epochs=2", "steps=3"}),
              AllOf(HasSubstr("--set takes one KEY=VALUE"), HasSubstr("next: --set seed=1 --set epochs=2")));
  EXPECT_THAT(error({"a", "b", "c"}), HasSubstr("'c'"));
  EXPECT_THAT(error({kMnist, "--pretrained", "--set", "steps=1"}),
              HasSubstr("--pretrained: a value is missing before '--set'"));
  EXPECT_THAT(error({}), HasSubstr("there is no data to train on"));

  const auto with = [&](const std::string& text) { return error({"-n", "2", folder.write("a.yaml", text).string()}); };
  EXPECT_THAT(with("model: [\n"), HasSubstr("a.yaml:"));
  EXPECT_THAT(with("seed: 1\nepochs: many\n"), AllOf(HasSubstr("a.yaml:2: 'epochs'"), HasSubstr("a whole number")));
  EXPECT_THAT(with("optimiser: {lr: 1}\n"), HasSubstr("a.yaml:1: unknown key 'optimiser'; did you mean 'optimizer'?"));
  EXPECT_THAT(with("seed: " + std::string(100, '[') + std::string(100, ']')),
              HasSubstr("a.yaml:1: more than 32 levels"));
  EXPECT_THAT(with(std::string(3 << 20, '#')), HasSubstr("a.yaml"));
  EXPECT_THAT(with("schedule: {rate: sine(4)}\n"), HasSubstr("a.yaml:1: 'schedule.rate'"));
}

TEST(Train, SaysWhatIsMissingForSeveralNodes) {
  const auto error = [](const std::vector<std::string>& flags) {
    std::vector<std::string> words = {kMnist};
    words.insert(words.end(), flags.begin(), flags.end());
    const CommandResult result = lockstep_train(words);
    EXPECT_EQ(result.exit_code, 2);
    return result.err;
  };
  EXPECT_THAT(error({"--world-size", "2"}), HasSubstr("add --dist-url tcp://HOST:PORT"));
  EXPECT_THAT(error({"--rank", "0"}), HasSubstr("add --dist-url"));
  EXPECT_THAT(error({"--dist-url", "tcp://127.0.0.1:29500"}), HasSubstr("no --world-size"));
  EXPECT_THAT(error({"--dist-url", "tcp://127.0.0.1:29500", "--world-size", "2"}), HasSubstr("no --rank"));
  EXPECT_THAT(error({"--dist-url", "tcp://a:1", "--world-size", "2", "--rank", "2"}), HasSubstr("--rank 0 to 1"));
  EXPECT_THAT(error({"--dist-url", "env://", "--world-size", "2"}), HasSubstr("from the environment"));
  EXPECT_THAT(error({"--dist-url", "tcp://nowhere"}), HasSubstr("tcp://HOST:PORT"));
  EXPECT_THAT(error({"--dist-url", "file:///tmp/x"}), HasSubstr("cannot be a file"));
}

// A copy of the command with a program beside it that prints what a rank was given.
class TrainRanks : public ::testing::Test {
 protected:
  TrainRanks() {
    std::filesystem::create_directory(folder_.path() / "bin");
    std::filesystem::copy_file(program_path("lockstep"), program_);
    const auto stand_in =
        folder_.write("bin/lockstep-torch", "#!/bin/sh\necho \"${RANK-none}/${WORLD_SIZE-none}: $*\"\n");
    std::filesystem::permissions(stand_in, std::filesystem::perms::owner_all);
  }

  std::vector<std::string> words(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), {program_, "train", kMnist});
    return flags;
  }
  std::string output(const std::vector<std::string>& flags, const CommandOptions& options = {}) const {
    const CommandResult result = run_command(words(flags), options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

  const TemporaryFolder folder_;
  const std::string program_ = (folder_.path() / "bin/lockstep").string();
};

TEST_F(TrainRanks, AreAsManyAsAskedFor_AndGetTheWordsAsTheyWereTyped) {
  EXPECT_EQ(output({"--lr", "0.2"}), "none/none: train " + kMnist + " --lr 0.2\n");
  const std::string two = output({"-n", "2", "--set", "name=a b"});
  EXPECT_THAT(two, AllOf(HasSubstr("0/2: train " + kMnist + " -n 2 --set name=a b\n"), HasSubstr("1/2: train ")));
  EXPECT_THAT(output({"--ranks-per-node", "3"}), AllOf(HasSubstr("0/3: "), HasSubstr("2/3: ")));
}

TEST_F(TrainRanks, StartNone) {
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"-n", "2"},
                                                {"-n", "1"},
                                                {"--ranks-per-node", "2"},
                                                {"--multiprocessing-distributed"}}) {
    auto command = words(flags);
    command.insert(command.begin(), {program_, "run", "-n", "2", "--"});
    const CommandResult result = run_command(command);
    EXPECT_EQ(result.exit_code, 2) << flags.front();
    EXPECT_THAT(result.out, IsEmpty()) << flags.front();
    EXPECT_THAT(result.err, AllOf(HasSubstr(" of 2 already, and a rank starts no ranks"), HasSubstr(flags.front())));
  }
  auto measuring = std::vector<std::string>{program_, "run", "-n", "2", "--", program_, "bench", "step", "-n", "2"};
  EXPECT_THAT(run_command(measuring).err, HasSubstr("a rank starts no ranks"));
}

TEST_F(TrainRanks, OfEnv_AreWhatTheEnvironmentSays) {
  EXPECT_THAT(output({"--dist-url", "env://"}, {.environment = {{"RANK", "1"}, {"WORLD_SIZE", "4"}}}),
              StartsWith("1/4: "));
}

TEST_F(TrainRanks, OfOneNode_NeedNoOther) {
  EXPECT_THAT(output({"--dist-url", "tcp://127.0.0.1:29500", "--world-size", "1", "--rank", "0", "--ranks-per-node",
                      "2", "--multiprocessing-distributed"}),
              AllOf(HasSubstr("0/2: "), HasSubstr("1/2: ")));
}

// `lockstep train` as several nodes, each in a terminal of its own.
class TrainTerminals : public TrainRanks {
 protected:
  RunningCommand& start(int node, int nodes) {
    return terminals_.emplace_back(words({"--dist-url", "tcp://" + place_, "--world-size", std::to_string(nodes),
                                          "--rank", std::to_string(node), "--ranks-per-node", "2"}),
                                   std::map<std::string, std::string>{{"HOME", folder_.path().string()}});
  }

  const std::string place_ = "127.0.0.1:" + free_port();
  std::list<RunningCommand> terminals_;
};

TEST_F(TrainTerminals, MeetAndCountThrough) {
  const RunningCommand &second = start(1, 2), &first = start(0, 2);
  for (RunningCommand& terminal : terminals_) EXPECT_EQ(terminal.wait(30s), 0) << terminal.err();
  EXPECT_THAT(second.out(), AllOf(HasSubstr("2/4: "), HasSubstr("3/4: "), Not(HasSubstr("0/4: "))));
  EXPECT_THAT(first.out(), AllOf(HasSubstr("0/4: "), HasSubstr("1/4: ")));
}

TEST_F(TrainTerminals, SayForWhomTheyWaitAndUntilWhen) {
  const auto says = [](const RunningCommand& terminal, const std::string& form) {
    return eventually([&] { return std::regex_search(terminal.err(), std::regex(form)); }, 30s);
  };
  const std::string until = ", until [0-9]{2}:[0-9]{2}:[0-9]{2}: ";
  const RunningCommand& second = start(1, 3);
  EXPECT_TRUE(says(second, "waiting for the node that leads, at " + place_ + until + "nobody answers there yet\n"))
      << second.err();
  const RunningCommand& first = start(0, 3);
  EXPECT_TRUE(says(first, "waiting for nodes at " + place_ + until + "2 of 3 here, not yet node 2\n")) << first.err();
  EXPECT_TRUE(says(second, "waiting for " + place_ + ", which leads, to start the job")) << second.err();
  start(2, 3);
  for (RunningCommand& terminal : terminals_) EXPECT_EQ(terminal.wait(30s), 0) << terminal.err();
}

}  // namespace
}  // namespace lockstep::test
