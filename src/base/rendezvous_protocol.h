// What a rendezvous client and server say to each other once both have proved the token: frames of a 4-byte length and
// a body. A request's body is an operation and its fields; a reply's is a status and its fields. Numbers are
// big-endian; bytes are preceded by their length.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <lockstep/base/errors.h>
#include <lockstep/base/rendezvous.h>

namespace lockstep::rendezvous {

enum class Operation : std::uint8_t {
  kSet = 1,
  kGet,
  kAdd,
  kCompareSet,
  kCheck,
  kWait,
  kDeleteKey,
  kNumKeys,
  kJoin,
  kLeave,
  kMembers,
  kWaitForWorld,
  kWaitForLoss,
};

enum class Status : std::uint8_t {
  kDone = 1,
  kTimedOut,
  kRefused,  // an error's message, found, expected, next
};

inline constexpr std::size_t kHeaderSize = 4;
inline constexpr std::size_t kMaxKeySize = 4 << 10;
inline constexpr std::size_t kMaxValueSize = 16 << 20;
inline constexpr std::size_t kMaxFrameBody = 2 * kMaxValueSize + kMaxKeySize + 64;  // compare_set has two values
inline constexpr std::uint32_t kMaxKeysPerRequest = 1 << 16;
inline constexpr std::uint32_t kMaxKeysNamed = 10;
inline constexpr int kMaxRanks = 1 << 16;
inline constexpr std::size_t kMaxHostSize = 255;

// The peer does not keep to the protocol.
class Malformed : public RuntimeError {
 public:
  Malformed()
      : RuntimeError({.message = "a message breaks the protocol of the rendezvous",
                      .next = "use one version of Lockstep on all nodes"}) {}
};

// Times travel as 32-bit milliseconds: at least 0, at most 49 days.
std::chrono::milliseconds bounded(std::chrono::milliseconds time);

class Writer {
 public:
  template <typename Kind>  // Operation or Status
  explicit Writer(Kind kind) : frame_(kHeaderSize, '\0') {
    frame_ += static_cast<char>(kind);
  }

  Writer& number(std::int64_t value);
  Writer& count(std::uint32_t value);
  Writer& bytes(std::string_view value);
  Writer& timeout(std::chrono::milliseconds value);
  Writer& member(const Member& value);

  // The whole frame; the writer is spent.
  std::string take();

 private:
  std::string frame_;
};

// Reads the body of a frame. Every function throws Malformed when what it should return is not there. The views point
// into the body.
class Reader {
 public:
  explicit Reader(std::string_view body) : rest_(body) {}

  std::uint8_t kind();
  std::int64_t number();
  std::uint32_t count();
  std::string_view bytes();
  std::chrono::milliseconds timeout();
  Member member();

  // Throws Malformed when something follows.
  void finish() const;

 private:
  std::string_view take(std::size_t size);

  std::string_view rest_;
};

// The size of the body that follows a header. Throws Malformed when no frame may be that large.
std::size_t body_size(std::string_view header);

}  // namespace lockstep::rendezvous
