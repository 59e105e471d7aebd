// lockstep data verify as a user meets it.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "command.h"
#include "made_pictures.h"
#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DataVerify : public ::testing::Test {
 protected:
  DataVerify() {
    std::filesystem::create_directories(root() / "cat");
    for (int i = 0; i < 5; ++i) add(std::to_string(i) + ".jpg", jpeg_text(32, 24, static_cast<std::uint64_t>(i)));
  }
  std::filesystem::path root() const { return folder_.path() / "set"; }
  void add(const std::string& name, const std::string& text) const { folder_.write("set/cat/" + name, text); }
  static CommandResult data(std::vector<std::string> words) {
    words.insert(words.begin(), {program_path("lockstep"), "data"});
    return run_command(words);
  }

  const TemporaryFolder folder_;
};

TEST_F(DataVerify, TellsGoodFromBadByItsExitCode) {
  const auto packed = (folder_.path() / "set.lsp").string();
  ASSERT_EQ(data({"pack", root().string(), packed}).exit_code, 0);
  EXPECT_EQ(data({"verify", root().string()}).exit_code, 0);
  const CommandResult good = data({"verify", packed, "--decode"});
  EXPECT_EQ(good.exit_code, 0);
  EXPECT_THAT(good.out, HasSubstr("5 pictures, 1 class,"));
  EXPECT_THAT(good.out, HasSubstr("all good"));
  std::string file = content(packed);
  file[4096 + 7] ^= 1;
  folder_.write("set.lsp", file);
  const CommandResult bad = data({"verify", packed});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.out, AllOf(HasSubstr("bad: cat/0.jpg"), HasSubstr("1 bad picture")));
  folder_.write("set.lsp", file.substr(0, file.size() - 1));
  const CommandResult truncated = data({"verify", packed});
  EXPECT_EQ(truncated.exit_code, 1);
  EXPECT_THAT(truncated.out, HasSubstr("truncated"));
  EXPECT_EQ(data({"verify", (folder_.path() / "absent").string()}).exit_code, 2);
}

TEST_F(DataVerify, ATruncatedFileOfCifarIsBadAndNotAMistakeOfTheUser) {
  const auto cifar = folder_.path() / "cifar-10-batches-bin";
  std::filesystem::copy(test::source_path("tests/data/cifar/cifar-10-batches-bin"), cifar);
  EXPECT_EQ(data({"verify", cifar.string()}).exit_code, 0);
  std::filesystem::resize_file(cifar / "test_batch.bin", 100);
  const CommandResult truncated = data({"verify", cifar.string()});
  EXPECT_EQ(truncated.exit_code, 1);
  EXPECT_THAT(truncated.out, AllOf(HasSubstr("damaged: "), HasSubstr("test_batch.bin")));
}

TEST_F(DataVerify, SpeaksJson) {
  add("two\nlines.png", "no picture");
  const CommandResult result = data({"verify", root().string(), "--json"});
  EXPECT_EQ(result.exit_code, 1);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["kind"], "folder");
  EXPECT_EQ(json["samples"], 6);
  EXPECT_EQ(json["bad_count"], 1);
  EXPECT_EQ(json["bad"][0]["name"], "cat/two\\nlines.png");
}

}  // namespace
}  // namespace lockstep::test
