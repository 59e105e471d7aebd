// lockstep data pack as a user meets it: help, mistakes, interruptions.
#include <sys/resource.h>

#include <csignal>

#include <gmock/gmock.h>

#include <lockstep/data/packed.h>

#include "command.h"
#include "made_pictures.h"
#include "running_command.h"
#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class DataPack : public ::testing::Test {
 protected:
  DataPack() {
    for (const char* name : {"cat", "dog"}) std::filesystem::create_directories(folder_.path() / "set" / name);
    for (int i = 0; i < 20; ++i) {
      folder_.write("set/" + std::string(i % 2 == 0 ? "cat/" : "dog/") + std::to_string(i) + ".jpg",
                    jpeg_text(64, 48, static_cast<std::uint64_t>(i)));
    }
  }

  std::vector<std::string> words(std::vector<std::string> flags, const std::string& out = "out.lsp") const {
    flags.insert(flags.begin(), {program_path("lockstep"), "data", "pack", (folder_.path() / "set").string(),
                                 (folder_.path() / out).string()});
    return flags;
  }
  CommandResult pack(const std::vector<std::string>& flags = {}, const std::string& out = "out.lsp") const {
    return run_command(words(flags, out));
  }

  const TemporaryFolder folder_;
};

TEST_F(DataPack, SaysWhatItDidInAFewLines) {
  const CommandResult result = pack();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("20 pictures of 2 classes"), HasSubstr("packed 20 pictures into")));
  EXPECT_THAT(result.out, Not(HasSubstr("\r")));
  EXPECT_EQ(data::PackedSet(folder_.path() / "out.lsp").size(), 20);
}

TEST_F(DataPack, TakesThePartThatIsAskedFor) {
  const auto cifar = test::source_path("tests/data/cifar/cifar-10-batches-py").string();
  const auto samples = [&](const std::vector<std::string>& flags) {
    const auto target = folder_.path() / (std::to_string(flags.size()) + ".lsp");
    std::vector<std::string> all = {program_path("lockstep"), "data", "pack", cifar, target.string()};
    all.insert(all.end(), flags.begin(), flags.end());
    EXPECT_EQ(run_command(all).exit_code, 0);
    return data::PackedSet(target).size();
  };
  EXPECT_EQ(samples({}), 5);
  EXPECT_EQ(samples({"--split", "test"}), 1);
  const CommandResult refused = pack({"--split", "test"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("has no parts"));
}

TEST_F(DataPack, HelpAndMistakesAreAsWithOtherVerbs) {
  EXPECT_THAT(run_command({program_path("lockstep"), "data", "pack", "--help"}).out,
              AllOf(HasSubstr("lockstep data pack SRC OUT.lsp"), HasSubstr("--quality")));
  EXPECT_THAT(run_command({program_path("lockstep"), "data", "--help"}).out,
              AllOf(HasSubstr("pack"), HasSubstr("verify"), HasSubstr("prepare")));
  const CommandResult mistyped = pack({"--worker", "2"});
  EXPECT_EQ(mistyped.exit_code, 2);
  EXPECT_THAT(mistyped.err, HasSubstr("unknown flag '--worker'; did you mean '--workers'?"));
  EXPECT_THAT(run_command({program_path("lockstep"), "data", "pakc"}).err, HasSubstr("did you mean 'pack'?"));
  EXPECT_EQ(pack({"--raw", "--jpeg"}).exit_code, 2);
  EXPECT_EQ(pack({"--size", "0"}).exit_code, 2);
  EXPECT_EQ(pack({}, "out.zip").exit_code, 2);
}

TEST_F(DataPack, AFileThatExistsIsReplacedOnlyWhenAsked) {
  ASSERT_EQ(pack().exit_code, 0);
  const CommandResult again = pack();
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("exists already"));
  EXPECT_EQ(pack({"--replace", "--raw", "--size", "16"}).exit_code, 0);
}

TEST_F(DataPack, BadPicturesStopItOrAreNamedAtTheEnd) {
  folder_.write("set/cat/page.jpg", "<html>");
  const CommandResult stopped = pack();
  EXPECT_EQ(stopped.exit_code, 2);
  EXPECT_THAT(stopped.err, AllOf(HasSubstr("cat/page.jpg"), HasSubstr("--on-error skip")));
  const CommandResult skipped = pack({"--on-error", "skip"});
  EXPECT_EQ(skipped.exit_code, 0) << skipped.err;
  EXPECT_THAT(skipped.out,
              AllOf(HasSubstr("packed 20 pictures"), HasSubstr("left out 1 bad picture"), HasSubstr("cat/page.jpg")));
  EXPECT_EQ(pack({"--on-error", "skip", "--max-bad", "0"}, "other.lsp").exit_code, 2);
}

TEST_F(DataPack, KilledAnywhereItGoesOnAndTheResultIsTheSame) {
  // Large enough to be committed now and then: 20 pictures of 12 MB.
  const std::vector<std::string> flags = {"--raw", "--size", "1600", "--workers", "2"};
  ASSERT_EQ(pack(flags, "expected.lsp").exit_code, 0);
  const auto partial = folder_.path() / "out.lsp.partial";
  const auto journal = folder_.path() / "out.lsp.partial.journal";
  std::uintmax_t before = 0;
  for (const std::uintmax_t size : {std::uintmax_t{1}, std::uintmax_t{60'000'000}, std::uintmax_t{130'000'000}}) {
    RunningCommand running(words(flags));
    const auto reached = [&] {
      std::error_code absent;
      const auto now = std::filesystem::file_size(partial, absent);
      return !absent && now >= size;
    };
    ASSERT_TRUE(eventually(reached, std::chrono::seconds(60)));
    running.signal(SIGKILL);
    ASSERT_EQ(running.wait(std::chrono::seconds(20)), 128 + SIGKILL);
    const auto told = std::filesystem::file_size(journal);
    EXPECT_GE(told, before);
    before = told;
  }
  const CommandResult finished = pack(flags);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("went on after"));
  EXPECT_TRUE(content(folder_.path() / "out.lsp") == content(folder_.path() / "expected.lsp"));
}

TEST_F(DataPack, AFileSizeLimitIsSaidInWordsAndGoneOnWith) {
  ASSERT_EQ(pack({"--raw"}, "expected.lsp").exit_code, 0);
  std::vector<std::string> limited = words({"--raw"});
  limited.insert(limited.begin(), {"bash", "-c", "ulimit -f 100; exec \"$0\" \"$@\""});
  const CommandResult full = run_command(limited);
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.err, AllOf(HasSubstr("there is no room for"), HasSubstr("make room")));
  EXPECT_EQ(pack({"--raw"}).exit_code, 0);
  EXPECT_EQ(content(folder_.path() / "out.lsp"), content(folder_.path() / "expected.lsp"));
}

}  // namespace
}  // namespace lockstep::test
