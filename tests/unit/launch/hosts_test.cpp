#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "launch/hosts.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::launch {
namespace {

using test::TemporaryFolder;
using test::ThrowsWith;
using ::testing::ElementsAre;

TEST(Hosts, AreNamesWithAnOptionalNumberOfRanks) {
  EXPECT_THAT(parse_hosts({"a", "user@b.example.org:4", "10.0.0.7:2"}),
              ElementsAre(Host{"a", 0}, Host{"user@b.example.org", 4}, Host{"10.0.0.7", 2}));
}

TEST(Hosts, ThatAreListedTwiceAreRefused) {
  EXPECT_THAT([] { parse_hosts({"a", "b", "a:2"}); }, ThrowsWith<UsageError>("host 'a' is listed twice"));
}

// They go on the command line of ssh.
TEST(Hosts, ThatCouldBeSomethingElseAreRefused) {
  for (const std::string word : {"", "-oProxyCommand=x", "a b", "a;b", "$(a)", "a:0", "a:x", "a:-1", "a:99999", "a:"}) {
    EXPECT_THAT([&] { parse_hosts({word}); }, ThrowsWith<UsageError>("--hosts is not understood")) << word;
  }
}

TEST(Hostfile, MayBeOpenMpisOrMpichs) {
  const TemporaryFolder folder;
  const auto path = folder.write("hosts", "# the cluster\na slots=4 max_slots=8\n\n  b:2 # the new one\nc\n");
  EXPECT_THAT(read_hostfile(path), ElementsAre(Host{"a", 4}, Host{"b", 2}, Host{"c", 0}));
}

TEST(Hostfile, WithAnErrorIsRefusedWithTheLine) {
  const TemporaryFolder folder;
  const auto path = folder.write("hosts", "a\nb slots=many\n");
  EXPECT_THAT([&] { read_hostfile(path); }, ThrowsWith<UsageError>(path.string() + ":2 is not understood"));
  EXPECT_THAT([&] { read_hostfile(folder.write("empty", "# nobody\n")); }, ThrowsWith<UsageError>("lists no host"));
  EXPECT_THAT([&] { read_hostfile(folder.write("twice", "a\na\n")); }, ThrowsWith<UsageError>("listed twice"));
}

TEST(Nodefile, HasAHostOnceForEachRank) {
  const TemporaryFolder folder;
  EXPECT_THAT(read_nodefile(folder.write("nodes", "a\na\nb\na\n")), ElementsAre(Host{"a", 3}, Host{"b", 1}));
}

TEST(ThisHost, IsKnownByNameAndAddress) {
  EXPECT_TRUE(is_this_host("localhost"));
  EXPECT_TRUE(is_this_host("127.0.0.1"));
  EXPECT_FALSE(is_this_host("192.0.2.1"));
  EXPECT_FALSE(is_this_host("no-such-host"));
}

}  // namespace
}  // namespace lockstep::launch
