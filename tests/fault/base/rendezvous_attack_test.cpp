// A job goes on, with right results, while hostile connections of every kind come in.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lockstep/base/rendezvous_client.h>
#include <lockstep/base/rendezvous_server.h>

#include "base/rendezvous_protocol.h"
#include "full_set.h"
#include "raw_peer.h"

namespace lockstep {
namespace {

using namespace std::chrono_literals;
using rendezvous::Operation;
using rendezvous::Writer;
using test::RawPeer;

constexpr int kRanks = 4;

// Longer than any request should take, shorter than the time in which a starved one would be served.
constexpr auto kReplyTimeout = 5s;

struct Job {
  const Token token = Token::generate();
  const RendezvousServer server{token, {.limits = {.proof_time = 500ms, .transfer_time = 10s}}};
  const std::string overheard = RawPeer(server.port()).prove(token);  // what a member once answered
  std::atomic<bool> under_attack = true;
};

struct Rounds {
  int count = 0;
  std::chrono::duration<double> slowest{0};
};

// One rank: rounds of set, get from the neighbour, sum and barrier, until the attack has ended.
Rounds work(Job& job, int rank) {
  RendezvousClient client(job.token, {.port = job.server.port(), .reply_timeout = kReplyTimeout});
  client.join({.id = {rank, kRanks}, .host = "host", .pid = rank});
  client.wait_for_world(kReplyTimeout);
  Rounds rounds;
  for (bool last = false; !last; ++rounds.count) {
    const auto start = std::chrono::steady_clock::now();
    const std::string prefix = std::to_string(rounds.count) + "/";
    client.set(prefix + std::to_string(rank), std::string(1000, static_cast<char>('a' + rank)));
    // Rank 0 decides for all whether this is the last round, so that all do the same number.
    if (rank == 0) client.set(prefix + "last", job.under_attack ? "no" : "yes");
    const int neighbour = (rank + 1) % kRanks;
    EXPECT_EQ(client.get(prefix + std::to_string(neighbour), kReplyTimeout),
              std::string(1000, static_cast<char>('a' + neighbour)));
    EXPECT_LE(client.add(prefix + "sum", rank), kRanks * (kRanks - 1) / 2);
    if (client.add(prefix + "done", 1) == kRanks) client.set(prefix + "all", "");
    client.wait(std::vector<std::string>{prefix + "all"}, kReplyTimeout);
    EXPECT_EQ(client.get(prefix + "sum", 0ms), std::to_string(kRanks * (kRanks - 1) / 2));
    last = client.get(prefix + "last", kReplyTimeout) == "yes";
    rounds.slowest = std::max<std::chrono::duration<double>>(rounds.slowest, std::chrono::steady_clock::now() - start);
  }
  client.leave();
  return rounds;
}

// Each kind does its worst to a connection and then leaves it open or closes it. They may find it closed at any time.
std::vector<std::function<void(RawPeer&)>> kinds_of_attack(const Job& job) {
  const Token& token = job.token;
  const std::string& overheard = job.overheard;
  const auto as_member = [token](const std::string& bytes) {
    return [token, bytes](RawPeer& peer) {
      peer.prove(token);
      peer.send(bytes);
    };
  };
  return {
      [](RawPeer&) {},
      [](RawPeer& peer) { peer.send("x"); },
      [](RawPeer& peer) { peer.send(random_bytes(4096)); },
      [](RawPeer& peer) { peer.send("GET / HTTP/1.1\r\n\r\n"); },
      [](RawPeer& peer) { peer.reset(); },
      [](RawPeer& peer) { peer.send(rendezvous::answer_to(Token::generate(), peer.take_nonce())); },
      [overheard](RawPeer& peer) { peer.send(overheard); },
      [overheard](RawPeer& peer) { peer.send(overheard.substr(0, 63)); },
      as_member("\xff\xff\xff\xff"),
      as_member(random_bytes(4096)),
      as_member(Writer(Operation::kSet).bytes("half").bytes(std::string(1000, 'x')).take().substr(0, 500)),
      as_member(Writer(Operation::kWait).count(65'000).take()),
      as_member(Writer(Operation::kGet).bytes("never set").timeout(1h).take()),
  };
}

void attack(const Job& job, int connections) {
  const auto kinds = kinds_of_attack(job);
  // Connections stay open for a while, so that many are there at a time.
  constexpr std::size_t kOpen = 200;
  std::vector<RawPeer> open;
  for (int i = 0; i < connections; ++i) {
    if (open.size() == kOpen) open.clear();
    try {
      open.emplace_back(job.server.port());
      kinds[static_cast<std::size_t>(i) % kinds.size()](open.back());
    } catch (const rendezvous::ConnectionError&) {
      // Turned away before it was done: as it should be.
    }
  }
}

TEST(Attack, HasNoEffectOnTheJob) {
  constexpr int kAttackers = 2;
  const int connections = test::full_set() ? 10'000 : 1'000;
  Job job;
  std::vector<Rounds> rounds(kRanks);
  std::vector<std::thread> ranks;
  ranks.reserve(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] { EXPECT_NO_THROW(rounds[static_cast<std::size_t>(rank)] = work(job, rank)); });
  }
  RendezvousClient client(job.token, {.port = job.server.port()});
  EXPECT_NO_THROW(client.wait_for_world(kReplyTimeout));
  std::vector<std::thread> attackers;
  attackers.reserve(kAttackers);
  for (int i = 0; i < kAttackers; ++i) {
    attackers.emplace_back([&] { attack(job, connections / kAttackers); });
  }
  for (std::thread& attacker : attackers) attacker.join();
  job.under_attack = false;
  for (std::thread& rank : ranks) rank.join();

  EXPECT_EQ(client.members().size(), kRanks);
  EXPECT_TRUE(client.wait_for_loss(0, 0ms).empty());
  EXPECT_FALSE(client.check(std::vector<std::string>{"half"}));
  EXPECT_GT(job.server.turned_away(), static_cast<std::uint64_t>(connections / 3));
  for (const Rounds& own : rounds) EXPECT_EQ(own.count, rounds[0].count);
  RecordProperty("rounds", rounds[0].count);
  RecordProperty("slowest_round_ms", std::to_string(rounds[0].slowest.count() * 1e3));
}

}  // namespace
}  // namespace lockstep
