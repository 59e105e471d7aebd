// How messages lie in a ring: cut into frames, each a header and its bytes, filled up to a multiple of the header's
// size, so that a header never wraps around.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

namespace lockstep::comm::local {

struct Frame {
  static constexpr std::uint64_t kGivenUp = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t left;   // bytes of the message from here on, or kGivenUp: no more of it will come
  std::uint32_t bytes;  // of the message in this frame
  std::int32_t tag;

  std::size_t size_in_ring() const {
    return sizeof(Frame) + (bytes + sizeof(Frame) - 1) / sizeof(Frame) * sizeof(Frame);
  }
};

static_assert(sizeof(Frame) == 16);

}  // namespace lockstep::comm::local
