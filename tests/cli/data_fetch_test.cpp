// `lockstep data fetch` as a user, and a rank that waits for it, meets it: exit codes and messages.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/files.h>

#include "command.h"
#include "http_server.h"
#include "running_command.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Where nothing listens, so that no test depends on a network: names are not even resolved.
const std::map<std::string, std::string> kNoNetwork = {{"https_proxy", "http://127.0.0.1:1"},
                                                       {"no_proxy", "127.0.0.1"}};

class DataFetch : public ::testing::Test {
 protected:
  DataFetch() {
    for (int i = 0; i < 100'000; ++i) content_ += std::to_string(i);
    const nlohmann::json file = {{"name", "file.bin"},
                                 {"size", content_.size()},
                                 {"digest", "sha256:" + files::sha256(content_)},
                                 {"urls", {"https://nowhere.invalid/file.bin"}}};
    const nlohmann::json catalog = {{"sets", {{{"name", "own"}, {"title", "One of ours"}, {"files", {file}}}}}};
    catalog_ = folder_.write("catalog.json", catalog.dump());
  }

  std::vector<std::string> words(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {program_path("lockstep"), "data", "fetch"});
    arguments.insert(arguments.end(), {"--catalog", catalog_.string()});
    return arguments;
  }

  CommandResult fetch(const std::vector<std::string>& arguments) const {
    return run_command(words(arguments), {.environment = kNoNetwork});
  }

  std::filesystem::path target() const { return folder_.path() / "data"; }
  std::string mirror() const { return server_.address(); }

  TemporaryFolder folder_;
  HttpServer server_;
  std::string content_;
  std::filesystem::path catalog_;
};

TEST_F(DataFetch, ListsWhatThereIs) {
  const CommandResult result = fetch({"--list"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("mnist"), HasSubstr("fashion-mnist"), HasSubstr("cifar10"),
                                HasSubstr("cifar100"), HasSubstr("162.6 MiB"), HasSubstr("One of ours")));
}

TEST_F(DataFetch, BringsASetFromAMirror_AndTheSecondTimeDoesNothing) {
  server_.serve("file.bin", {.content = content_});
  const CommandResult first = fetch({"own", target(), "--mirror", mirror()});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, AllOf(HasSubstr("own is now in " + target().string()), Not(HasSubstr("\x1b"))));
  EXPECT_EQ(content(target() / "file.bin"), content_);
  const CommandResult second = fetch({"own", target(), "--mirror", mirror()});
  EXPECT_EQ(second.exit_code, 0);
  EXPECT_EQ(second.out, "own is in " + target().string() + "/\n");
  EXPECT_EQ(server_.requests().size(), 1);
}

TEST_F(DataFetch, WithoutANetworkSaysWhatToBringFromWhereAndWhereTo) {
  const CommandResult result = fetch({"mnist", target()});
  EXPECT_EQ(result.exit_code, 1);
  for (const char* file : {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz",
                           "t10k-labels-idx1-ubyte.gz"}) {
    EXPECT_THAT(result.err, HasSubstr(std::string("https://ossci-datasets.s3.amazonaws.com/mnist/") + file));
  }
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("these files are missing in " + target().string() + ":\n"),
                    HasSubstr("train-images-idx3-ubyte.gz  9912422 bytes  sha256:440fcabf73cc546fa21475e81ea370265"),
                    HasSubstr("error: cannot download 'train-images-idx3-ubyte.gz'"), HasSubstr("next: ")));
}

TEST_F(DataFetch, UsesWhatWasBrought) {
  std::filesystem::create_directory(target());
  folder_.write("data/file.bin", content_);
  const CommandResult result = fetch({"own", target()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(DataFetch, SaysThatWhatWasBroughtIsDamaged) {
  std::filesystem::create_directory(target());
  folder_.write("data/train-images-idx3-ubyte.gz", "<!DOCTYPE html>");
  const CommandResult result = fetch({"mnist", target()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("is not the file it should be"), HasSubstr("found: 15 bytes"),
                                HasSubstr("expected: 9912422")));
}

TEST_F(DataFetch, TwoAtOnceDoNotMix) {
  server_.serve("file.bin", {.content = content_, .breaks = 1});
  RunningCommand first(words({"own", target(), "--mirror", mirror()}), kNoNetwork);
  RunningCommand second(words({"own", target(), "--mirror", mirror()}), kNoNetwork);
  EXPECT_EQ(first.wait(std::chrono::seconds(30)), 0) << first.err();
  EXPECT_EQ(second.wait(std::chrono::seconds(30)), 0) << second.err();
  EXPECT_EQ(content(target() / "file.bin"), content_);
  EXPECT_EQ(server_.requests().size(), 2);
}

TEST_F(DataFetch, WaitsForAnotherOnlySoLong) {
  server_.serve("file.bin", {.content = content_, .falls_silent = true});
  const RunningCommand stuck(words({"own", target(), "--mirror", mirror(), "--timeout", "60"}), kNoNetwork);
  ASSERT_TRUE(
      eventually([&] { return std::filesystem::exists(target() / "file.bin.partial"); }, std::chrono::seconds(20)));
  const CommandResult result = fetch({"own", target(), "--mirror", mirror(), "--wait", "0"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("another process writes into"));
}

TEST_F(DataFetch, GoesOnAfterItWasKilled) {
  server_.serve("file.bin", {.content = content_, .tag = "v1", .falls_silent = true});
  {
    const RunningCommand killed(words({"own", target(), "--mirror", mirror(), "--timeout", "60"}), kNoNetwork);
    ASSERT_TRUE(eventually([&] { return content(target() / "file.bin.partial").size() == content_.size() / 2; },
                           std::chrono::seconds(20)));
  }
  server_.serve("file.bin", {.content = content_, .tag = "v1"});
  EXPECT_EQ(fetch({"own", target(), "--mirror", mirror()}).exit_code, 0);
  EXPECT_EQ(content(target() / "file.bin"), content_);
  EXPECT_EQ(server_.requests().back().range, "bytes=" + std::to_string(content_.size() / 2) + "-");
  EXPECT_EQ(server_.requests().back().if_range, "\"v1\"");
}

TEST_F(DataFetch, MistakesAreUsageErrors) {
  const CommandResult unknown = fetch({"cifar11", target()});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("there is no data set 'cifar11' to fetch; did you mean 'cifar10'?"),
                                 HasSubstr("lockstep data fetch --list")));
  EXPECT_EQ(fetch({}).exit_code, 2);
  EXPECT_EQ(fetch({"mnist"}).exit_code, 2);
  EXPECT_EQ(fetch({"mnist", target(), "--timeout", "0"}).exit_code, 2);
  folder_.write("catalog.json", "<html>");
  EXPECT_THAT(fetch({"mnist", target()}).err, HasSubstr("is no catalog of data sets"));
  EXPECT_EQ(fetch({"mnist", target()}).exit_code, 2);
}

TEST_F(DataFetch, AFolderThatCannotBeMadeIsAnError) {
  const auto file = folder_.write("file", "");
  const CommandResult result = fetch({"own", file / "below"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("cannot fetch into"));
}

}  // namespace
}  // namespace lockstep::test
