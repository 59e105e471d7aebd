// A node with another version of Lockstep, which is told so, and ends the job.
#include <fcntl.h>

#include <lockstep/base/token.h>

#include "base/rendezvous_connect.h"
#include "launch/channel.h"
#include "launch/message_json.h"
#include "running_job.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Version, OfANodeThatIsNotTheLeadersIsNamedToBoth) {
  const TemporaryFolder folder;
  const Token token = Token::generate();
  const std::string file = (folder.path() / "token").string();
  token.write(UniqueFd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)).get());
  const std::string port = free_port();
  RunningCommand leader(run_words(
      {"--nnodes", "2", "--node-rank", "0", "--master-addr", "127.0.0.1", "--master-port", port, "--token-file", file},
      {"true"}));

  launch::EventLoop loop;
  launch::Message answer;
  launch::Channel channel(
      rendezvous::connect_as_member(token, {.port = std::stoi(port)}), loop,
      {.on_message = [&](const launch::Message& message) { answer = message; }, .on_loss = [](const auto&) {}});
  launch::NodeInfo info;
  info.version = "0.0.1";
  info.host = "older";
  info.number = 1;
  channel.send(launch::message("hello", info));
  EXPECT_TRUE(eventually(
      [&] {
        loop.turn(launch::Clock::now() + 10ms);
        return !answer.is_null();
      },
      20s));
  EXPECT_EQ(answer["is"], "refuse");
  EXPECT_EQ(leader.wait(20s), 2);
  EXPECT_THAT(leader.err(), AllOf(HasSubstr("the nodes do not agree on the version of Lockstep"),
                                  HasSubstr("found: 0.0.1 on node 1 (older")));
}

}  // namespace
}  // namespace lockstep::test
