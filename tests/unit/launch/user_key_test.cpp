#include <barrier>
#include <thread>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "launch/user_key.h"
#include "scoped_variable.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::launch {
namespace {

using std::filesystem::perms;
using test::ScopedVariable;
using test::TemporaryFolder;
using test::ThrowsWith;

class UserKey : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  ScopedVariable home_{"HOME", folder_.path().c_str()};
  const std::filesystem::path key_ = folder_.path() / ".lockstep" / "key";
};

TEST_F(UserKey, IsMadeOnceAndForItsOwnerAlone) {
  const std::string first = job_token("", "a:1").reveal();
  EXPECT_EQ(std::filesystem::status(key_).permissions(), perms::owner_read | perms::owner_write);
  EXPECT_EQ(job_token("", "a:1").reveal(), first);
}

TEST_F(UserKey, GivesEachJobAnotherToken) {
  EXPECT_NE(job_token("", "a:1").reveal(), job_token("", "a:2").reveal());
  EXPECT_EQ(test::content(key_).find(job_token("", "a:1").reveal()), std::string::npos);
}

TEST_F(UserKey, IsTheSameForAllWhoMakeItAtOnce) {
  constexpr int kThreads = 8;
  std::barrier together(kThreads);
  std::vector<std::string> tokens(kThreads);
  std::vector<std::thread> threads;
  for (std::string& token : tokens) {
    threads.emplace_back([&] {
      together.arrive_and_wait();
      token = job_token("", "a:1").reveal();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(tokens, ::testing::Each(tokens.front()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(key_.parent_path()), {}), 1);  // no draft is left
}

TEST_F(UserKey, ThatOthersCanReadIsRefused) {
  job_token("", "a:1");
  std::filesystem::permissions(key_, perms::group_read, std::filesystem::perm_options::add);
  EXPECT_THAT([] { job_token("", "a:1"); }, ThrowsWith<UsageError>("key"));
}

TEST_F(UserKey, IsNotNeededWithATokenFile) {
  const auto file = folder_.write("token", std::string(64, 'a') + "\n");
  std::filesystem::permissions(file, perms::owner_read);
  EXPECT_EQ(job_token(file, "a:1").reveal(), std::string(64, 'a'));
  EXPECT_FALSE(std::filesystem::exists(key_));
}

TEST(UserKeyWithoutAHome, SaysWhatToDo) {
  const ScopedVariable home("HOME", nullptr);
  EXPECT_THAT([] { job_token("", "a:1"); }, ThrowsWith<UsageError>("give all nodes one --token-file"));
}

}  // namespace
}  // namespace lockstep::launch
