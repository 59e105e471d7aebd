#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/base/fd.h>
#include <lockstep/base/rendezvous.h>
#include <lockstep/base/token.h>

namespace lockstep {

struct RendezvousClientOptions {
  std::string host = "127.0.0.1";  // name or address
  int port = 0;
  std::chrono::milliseconds connect_timeout{60'000};  // the server may come later than its clients
  std::chrono::milliseconds reply_timeout{30'000};    // for replies, beyond the time that the server was asked to wait
};

// One connection to the job's rendezvous. Any thread may call; calls take turns, so a thread that waits long needs a
// client of its own.
//
// Each call throws RuntimeError when the server refuses the request, TimeoutError when what it waits for does not come
// in time, and the client stays usable; RuntimeError also when the connection is lost, and then every later call throws
// at once. A key may have up to 4 KiB, a value up to 16 MiB. No time given may exceed 49 days; longer ones are cut.
class RendezvousClient {
 public:
  using Timeout = std::chrono::milliseconds;

  // Connects; both sides prove the token to each other. Tries again while nobody answers, and throws TimeoutError after
  // `connect_timeout`; throws RuntimeError at once when who answers is no rendezvous or holds another token.
  RendezvousClient(const Token& token, RendezvousClientOptions options);

  // Ends the connection: a call that another thread has under way throws at once, as do all later ones.
  void close();

  void set(std::string_view key, std::string_view value);

  // Waits for the key to be set. TimeoutError names the key.
  std::string get(std::string_view key, Timeout timeout);

  // Adds to a decimal number, which is 0 when the key is not set; returns the sum.
  std::int64_t add(std::string_view key, std::int64_t amount);

  // Sets the key to `desired` if its value is `expected`, or if it is not set and `expected` is empty. Returns the
  // value that it has now; `expected`, if it is not set.
  std::string compare_set(std::string_view key, std::string_view expected, std::string_view desired);

  // Whether all keys are set.
  bool check(std::span<const std::string> keys);

  // Waits until each of up to 65,536 keys has been set. TimeoutError names those that are missing, up to ten.
  void wait(std::span<const std::string> keys, Timeout timeout);

  // Returns whether it was set.
  bool delete_key(std::string_view key);

  std::int64_t num_keys();

  // Makes this connection the life line of a rank: until `leave`, its end means that the rank is lost. A child forked
  // without exec would hold the line open. Throws when another process is this rank, or said another size; the error
  // names both processes. A rank that was lost cannot join again.
  void join(const Member& self);
  void leave();

  // Every rank that has joined so far, in order, whatever became of it.
  std::vector<Member> members();

  // Waits until all ranks of the job have joined, and returns them; the first to join says how many they are. Throws
  // when a rank is lost before that; TimeoutError names the ranks that are missing.
  std::vector<Member> wait_for_world(Timeout timeout);

  // Waits until more than `known` ranks are lost or the time has passed; returns all that are lost, first ones first.
  std::vector<LostMember> wait_for_loss(std::size_t known, Timeout timeout);

 private:
  struct Reply;
  Reply call(const std::string& request, Timeout wait = Timeout(0));

  RendezvousClientOptions options_;
  std::mutex mutex_;
  const UniqueFd socket_;
  std::atomic<bool> ended_ = false;
};

}  // namespace lockstep
