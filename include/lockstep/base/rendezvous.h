// Where the processes of a job meet: a key-value store and a list of members, in one process (RendezvousServer), used
// by all (RendezvousClient). A connection goes through these steps:
//
//   1. The server sends who it is, its version and a nonce.
//   2. The client sends a nonce of its own and an HMAC of both nonces under the job's token: 64 bytes. Until they are
//      there and right the server reads nothing else, and it waits for them a few seconds at most.
//   3. The server answers with an HMAC of its own, so that neither side ever talks to a stranger.
//   4. The client sends one request at a time and reads the reply to it. The server does all the waiting.
//   5. The client may join as a rank. A joined connection that ends without a goodbye means that this rank is lost.
//
// The token proves who speaks; what is said after that is not encrypted. On a network where others can read or change
// packets, choose an interface that they cannot reach.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <lockstep/base/rank.h>

namespace lockstep {

// A process that has joined as a rank.
struct Member {
  RankId id;
  std::string host;
  std::int64_t pid = 0;

  // "rank 2 (node07, pid 4411)", as errors name it.
  std::string name() const;
};

// A member whose connection ended without a goodbye: it was killed, crashed, or its host vanished.
struct LostMember {
  Member member;
  std::chrono::system_clock::time_point when;  // by the server's clock
};

// What a server admits. A request that exceeds a limit is refused with an error and changes nothing; a connection that
// exceeds a time is closed.
struct RendezvousLimits {
  std::chrono::milliseconds proof_time{5'000};      // from the connection to the proof of the token
  std::chrono::milliseconds transfer_time{30'000};  // for a request, once begun, to arrive; for a reply to be taken
  std::size_t strangers = 128;                      // connections without proof at a time; then the oldest is closed
  std::size_t keys = std::size_t{1} << 20;
  std::size_t bytes = std::size_t{1} << 30;  // of all keys and values together
};

}  // namespace lockstep
