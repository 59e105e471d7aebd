#include "own_server.h"

#include <netdb.h>
#include <unistd.h>

#include <exception>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/base/rendezvous_server.h>
#include <lockstep/base/text.h>
#include <lockstep/base/token.h>

#include "../../base/host_name.h"
#include "life_line.h"
#include "rendezvous_store.h"

namespace lockstep::comm {
namespace {

bool can_be_resolved(const std::string& host) {
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, nullptr, &found) != 0) return false;
  ::freeaddrinfo(found);
  return true;
}

std::string farewell_key(int rank) {
  return fmt::format("lockstep/farewell/{}", rank);
}

// The end of the meeting: every rank says goodbye, and rank 0 serves until all others have, or one of them is lost.
// When an error ends rank 0 it does not wait: the others may be waiting for it.
class Farewell {
 public:
  Farewell(RankId rank, std::unique_ptr<RendezvousServer> server, const Token& token,
           const RendezvousClientOptions& options, std::shared_ptr<const LossFlag> loss,
           std::chrono::milliseconds timeout)
      : rank_(rank), server_(std::move(server)), client_(token, options), loss_(std::move(loss)), timeout_(timeout) {}
  Farewell(const Farewell&) = delete;
  Farewell& operator=(const Farewell&) = delete;

  ~Farewell() {
    try {
      if (server_ && std::uncaught_exceptions() > 0) return;
      if (server_)
        serve_until_all_left();
      else
        client_.set(farewell_key(rank_.rank), "goodbye");
    } catch (const Error& error) {
      log::debug("the end of the meeting: {}", error.what());
    }
  }

 private:
  void serve_until_all_left() {
    const auto deadline = std::chrono::steady_clock::now() + timeout_;
    for (int other = 1; other < rank_.size;) {
      if (said_goodbye(other))
        ++other;
      else if (loss_->raised() || std::chrono::steady_clock::now() > deadline)
        return;
    }
  }

  bool said_goodbye(int other) {
    constexpr auto kLook = std::chrono::milliseconds(200);
    try {
      client_.wait(std::array{farewell_key(other)}, kLook);
      return true;
    } catch (const TimeoutError&) {
      return false;
    }
  }

  RankId rank_;
  std::unique_ptr<RendezvousServer> server_;  // on rank 0
  RendezvousClient client_;
  std::shared_ptr<const LossFlag> loss_;
  std::chrono::milliseconds timeout_;
};

// "ADDRESS PORT TOKEN", what travels by courier.
RendezvousClientOptions read_invitation(const std::vector<std::string>& words, std::chrono::milliseconds timeout) {
  constexpr std::size_t kWords = 3;
  if (words.size() != kWords) throw RuntimeError("what rank 0 says about the meeting is not understood");
  return {.host = words[0], .port = std::stoi(words[1]), .connect_timeout = timeout};
}

}  // namespace

std::string address_of_this_host(const std::string& host) {
  if (const auto interface = env::get("LOCKSTEP_INTERFACE")) return interface_address(*interface);
  if (!host.empty() && can_be_resolved(host)) return host;
  return can_be_resolved(host_name()) ? host_name() : "127.0.0.1";
}

Meeting meet_at_rank_0(RankId rank, const std::string& address, const Courier& courier,
                       std::chrono::milliseconds timeout) {
  std::unique_ptr<RendezvousServer> server;
  std::string invitation;
  if (rank.rank == 0) {
    const Token token = Token::generate();
    server = std::make_unique<RendezvousServer>(token, RendezvousServerOptions{.address = address});
    invitation = fmt::format("{} {} {}", server->address(), server->port(), token.reveal());
  }
  const std::vector<std::string> words = split(courier(invitation), ' ');
  const RendezvousClientOptions options = read_invitation(words, timeout);
  const Token token = Token::parse(words[2]);
  Meeting meeting = join_rendezvous(token, options, rank, "rank 0", timeout);
  meeting.farewell = std::make_shared<Farewell>(rank, std::move(server), token, options, meeting.loss, timeout);
  return meeting;
}

}  // namespace lockstep::comm
