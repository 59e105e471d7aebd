#include <array>
#include <future>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "rendezvous_fixture.h"

namespace lockstep {
namespace {

using namespace std::chrono_literals;
using test::Rendezvous;
using test::ThrowsRuntimeError;
using test::ThrowsTimeoutError;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(Rendezvous, Get_ReturnsWhatWasSetAsItWas) {
  const std::string value("a\0b\xff\n", 5);
  client.set("key", value);
  client.set("", "empty key");
  client.set("empty value", "");
  EXPECT_EQ(another().get("key", 0ms), value);
  EXPECT_EQ(client.get("", 0ms), "empty key");
  EXPECT_EQ(client.get("empty value", 0ms), "");
  client.set("key", "new");
  EXPECT_EQ(client.get("key", 0ms), "new");
}

TEST_F(Rendezvous, Get_ReturnsTheLargestValue) {
  const std::string value = std::string(16 << 20, 'x');
  client.set("key", value);
  EXPECT_EQ(another().get("key", 0ms), value);
}

TEST_F(Rendezvous, Get_WaitsForTheKey) {
  auto value = std::async(std::launch::async, [this] { return another().get("later", 10s); });
  client.set("other", "1");
  client.set("later", "2");
  EXPECT_EQ(value.get(), "2");
}

TEST_F(Rendezvous, Get_ThatTimesOutNamesTheKeyAndLeavesTheClientUsable) {
  EXPECT_THAT([&] { client.get("never", 20ms); },
              ThrowsTimeoutError(AllOf(HasSubstr("'never' is missing"), HasSubstr("20 ms"))));
  client.set("never", "now");
  EXPECT_EQ(client.get("never", 0ms), "now");
}

TEST_F(Rendezvous, Add_StartsAtZeroAndIsReadAsDecimal) {
  EXPECT_EQ(client.add("n", 5), 5);
  EXPECT_EQ(client.add("n", -7), -2);
  EXPECT_EQ(client.get("n", 0ms), "-2");
}

TEST_F(Rendezvous, Add_RefusesWhatIsNoNumberOrTooLarge) {
  client.set("text", "abc");
  EXPECT_THAT([&] { client.add("text", 1); }, ThrowsRuntimeError(HasSubstr("not a number")));
  client.add("max", std::numeric_limits<std::int64_t>::max());
  EXPECT_THAT([&] { client.add("max", 1); }, ThrowsRuntimeError(HasSubstr("64 bits")));
  EXPECT_EQ(client.add("max", 0), std::numeric_limits<std::int64_t>::max());
}

TEST_F(Rendezvous, Add_FromManyThreadsAddsUpExactly) {
  constexpr int kThreads = 8;
  constexpr int kTimes = 200;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      RendezvousClient own = another();
      for (int n = 0; n < kTimes; ++n) own.add("sum", 1);
      for (int n = 0; n < kTimes; ++n) client.add("sum", 1);  // shared by all threads
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(client.add("sum", 0), 2 * kThreads * kTimes);
}

TEST_F(Rendezvous, CompareSet_ReplacesOnlyWhatWasExpected) {
  EXPECT_EQ(client.compare_set("key", "old", "new"), "old");
  EXPECT_FALSE(client.check(std::array<std::string, 1>{"key"}));
  EXPECT_EQ(client.compare_set("key", "", "first"), "first");
  EXPECT_EQ(client.compare_set("key", "other", "second"), "first");
  EXPECT_EQ(client.compare_set("key", "first", "second"), "second");
  EXPECT_EQ(client.get("key", 0ms), "second");
}

TEST_F(Rendezvous, Check_IsTrueWhenAllKeysAreSet) {
  client.set("a", "");
  EXPECT_FALSE(client.check(std::array<std::string, 2>{"a", "b"}));
  client.set("b", "");
  EXPECT_TRUE(client.check(std::array<std::string, 2>{"a", "b"}));
  EXPECT_TRUE(client.check({}));
}

TEST_F(Rendezvous, DeleteKey_SaysWhetherItWasSet) {
  client.set("a", "");
  client.set("b", "");
  EXPECT_EQ(client.num_keys(), 2);
  EXPECT_TRUE(client.delete_key("a"));
  EXPECT_FALSE(client.delete_key("a"));
  EXPECT_EQ(client.num_keys(), 1);
}

TEST_F(Rendezvous, Wait_ReturnsOnceEveryKeyHasBeenSetByWhateverMeans) {
  client.set("set before", "");
  auto waited = std::async(std::launch::async, [this] {
    another().wait(std::array<std::string, 4>{"set before", "set", "added", "compared"}, 10s);
  });
  client.set("set", "");
  client.add("added", 1);
  EXPECT_EQ(waited.wait_for(20ms), std::future_status::timeout);
  client.compare_set("compared", "", "x");
  EXPECT_NO_THROW(waited.get());
}

TEST_F(Rendezvous, Wait_ThatTimesOutNamesUpToTenMissingKeys) {
  client.set("k0", "");
  std::vector<std::string> keys(13);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = "k" + std::to_string(i);
  EXPECT_THAT([&] { client.wait(keys, 20ms); },
              ThrowsTimeoutError(AllOf(HasSubstr("12 keys"), HasSubstr("'k1', 'k10'"), HasSubstr("and 2 more"),
                                       testing::Not(HasSubstr("'k0'")))));
  EXPECT_EQ(client.num_keys(), 1);
}

TEST_F(Rendezvous, Limits_AreToldAndChangeNothing) {
  EXPECT_THAT([&] { client.set(std::string(5000, 'k'), ""); }, ThrowsRuntimeError(HasSubstr("at most 4.0 KiB")));
  EXPECT_THAT([&] { client.get(std::string(5000, 'k'), 10s); }, ThrowsRuntimeError(HasSubstr("at most 4.0 KiB")));
  EXPECT_THAT([&] { client.set("key", std::string((16 << 20) + 1, 'v')); },
              ThrowsRuntimeError(HasSubstr("at most 16.0 MiB")));
  EXPECT_THAT([&] { client.set("key", std::string(40 << 20, 'v')); }, ThrowsRuntimeError(HasSubstr("too large")));
  EXPECT_THAT([&] { client.wait(std::vector<std::string>(65537), 0ms); },
              ThrowsRuntimeError(HasSubstr("at most 65,536")));
  EXPECT_EQ(client.num_keys(), 0);
}

TEST(RendezvousLimits, OfAllKeysAndBytesAreKept) {
  const Token token = Token::generate();
  const RendezvousServer server(token, {.limits = {.keys = 3, .bytes = 100}});
  RendezvousClient client(token, {.port = server.port()});
  for (const char* key : {"a", "b", "c"}) client.set(key, "");
  EXPECT_THAT([&] { client.set("d", ""); }, ThrowsRuntimeError(HasSubstr("3 keys")));
  client.delete_key("c");
  EXPECT_THAT([&] { client.set("a", std::string(99, 'x')); }, ThrowsRuntimeError(HasSubstr("at most 100 B")));
  client.set("a", std::string(98, 'x'));
  EXPECT_THAT([&] { client.add("d", 1); }, ThrowsRuntimeError(HasSubstr("no room")));
  client.set("a", "x");
  EXPECT_EQ(client.add("d", 1), 1);
}

}  // namespace
}  // namespace lockstep
