// A process that has no file descriptor left.
#include <arpa/inet.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include <lockstep/base/rendezvous_client.h>
#include <lockstep/base/rendezvous_server.h>

#include "base/rendezvous_auth.h"
#include "base/rendezvous_socket.h"

namespace lockstep {
namespace {

using namespace std::chrono_literals;

// Takes every descriptor that the process may still open, under a limit that makes this quick.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{.rlim_cur = 256, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    for (UniqueFd fd(::dup(0)); fd; fd = UniqueFd(::dup(0))) taken_.push_back(std::move(fd));
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
  std::vector<UniqueFd> taken_;
};

TEST(RendezvousWithoutDescriptors, ServesItsMembersAndAdmitsOthersLater) {
  const Token token = Token::generate();
  const RendezvousServer server(token);
  RendezvousClient member(token, {.port = server.port()});
  const UniqueFd newcomer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  {
    const NoDescriptors none;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server.port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(newcomer.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(member.add("visits", 1), 1);
    EXPECT_THROW(rendezvous::receive_exactly(newcomer.get(), 1, rendezvous::Clock::now() + 20ms),
                 rendezvous::ConnectionError);
  }
  const auto deadline = rendezvous::Clock::now() + 10s;
  EXPECT_NO_THROW(rendezvous::nonce_in(rendezvous::receive_exactly(newcomer.get(), rendezvous::kHelloSize, deadline)));
}

}  // namespace
}  // namespace lockstep
