// The demo under mpiexec.hydra: ranks from PMI_RANK and PMI_SIZE.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <regex>

#include <gmock/gmock.h>

#include <lockstep/base/fd.h>

#include "command.h"

namespace lockstep::test {
namespace {

// A port that was free a moment ago.
int free_port() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ::ntohs(address.sin_port);
}

CommandResult run_demo(const std::string& backend) {
  return run_command({"mpiexec.hydra", "-n", "2", program_path("ccl_demo"), "--backend", backend},
                     {.environment = {{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", std::to_string(free_port())}}});
}

std::vector<std::string> losses(const std::string& out) {
  const std::regex pattern("step . of 3 on 2 ranks with \\w+: loss ([0-9.]+)\n");
  return {std::sregex_token_iterator(out.begin(), out.end(), pattern, 1), std::sregex_token_iterator()};
}

TEST(CclDemo, LearnsInThreeStepsUnderHydra) {
  const CommandResult ccl = run_demo("ccl");
  ASSERT_EQ(ccl.exit_code, 0) << ccl.err;
  const auto found = losses(ccl.out);
  ASSERT_EQ(found.size(), 3) << ccl.out;
  EXPECT_LT(std::stod(found[2]), std::stod(found[0]));
  EXPECT_EQ(found, losses(run_demo("gloo").out));
}

}  // namespace
}  // namespace lockstep::test
