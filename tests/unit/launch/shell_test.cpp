// Words that bash must read as they are.
#include <gmock/gmock.h>

#include <launch/submit/shell.h>

#include "command.h"

namespace lockstep::launch {
namespace {

const std::vector<std::string> kWords = {"plain",
                                         "a b",
                                         "it's",
                                         "$HOME",
                                         "`id`",
                                         "a\nb",
                                         "tab\there",
                                         "back\\slash",
                                         "",
                                         "~",
                                         "*",
                                         "a;b&c|d",
                                         "!x",
                                         "#no",
                                         "\"quoted\"",
                                         "\x01\x7f"
                                         "9",
                                         "größe",
                                         "--set",
                                         "lr=0.1",
                                         "-n",
                                         "$'x'",
                                         "end\\",
                                         "{a,b}",
                                         "<(x)"};

TEST(Quote, EveryWordArrivesUnchanged) {
  std::string line = "printf '[%s]'", expected;
  for (const std::string& word : kWords) {
    line += " " + quote(word);
    expected += "[" + word + "]";
  }
  EXPECT_EQ(test::run_command({"bash", "-c", line}).out, expected);
}

TEST(Quote, LeavesPlainWordsAlone) {
  for (const char* word : {"lockstep", "/data/a.yaml:s", "--set", "lr=0.1", "a,b", "user@host"})
    EXPECT_EQ(quote(word), word);
  EXPECT_EQ(quote("a b"), "'a b'");
  EXPECT_EQ(quote("$HOME\n"), "$'$HOME\\n'");
}

TEST(OneCommand, StaysOnOneLineWhileItFits) {
  EXPECT_EQ(one_command({{"srun", "-n 2"}, {"program"}}), "srun -n 2 program");
}

TEST(OneCommand, ContinuesLongPartsOnLinesThatBashReadsAsOne) {
  const std::vector<std::string> many(40, "argument");
  const std::string text = one_command({{"printf '[%s]'"}, many, {"last"}});
  EXPECT_GT(std::count(text.begin(), text.end(), '\n'), 3);
  std::string expected;
  for (const std::string& word : many) expected += "[" + word + "]";
  EXPECT_EQ(test::run_command({"bash", "-c", text}).out, expected + "[last]");
}

}  // namespace
}  // namespace lockstep::launch
