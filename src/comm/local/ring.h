#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lockstep::comm::local {

// A stream of bytes in shared memory from one rank to one other. Memory that is all zeros is an empty ring. Its pages
// are the kernel's business until the first message.
class alignas(4096) Ring {
 public:
  static constexpr std::size_t kCapacity = 64 * 1024;

  // The sender's side. What is written is seen by the receiver after publish().
  std::size_t space() const;
  void write(std::uint64_t offset, const std::byte* data, std::size_t bytes);  // at `offset` past what is published
  void publish(std::size_t bytes);

  // The receiver's side. What is read stays in the ring until release().
  std::size_t available() const;
  void read(std::uint64_t offset, std::byte* data, std::size_t bytes) const;  // from `offset` past what is released
  void release(std::size_t bytes);

 private:
  alignas(128) std::atomic<std::uint64_t> published_;
  alignas(128) std::atomic<std::uint64_t> released_;
  alignas(128) std::byte data_[kCapacity];
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace lockstep::comm::local
