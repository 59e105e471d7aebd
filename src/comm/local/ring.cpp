#include "ring.h"

#include <algorithm>
#include <cstring>

namespace lockstep::comm::local {

std::size_t Ring::space() const {
  return kCapacity - (published_.load(std::memory_order_relaxed) - released_.load(std::memory_order_acquire));
}

void Ring::write(std::uint64_t offset, const std::byte* data, std::size_t bytes) {
  if (bytes == 0) return;
  const std::size_t at = (published_.load(std::memory_order_relaxed) + offset) % kCapacity;
  const std::size_t to_end = std::min(bytes, kCapacity - at);
  std::memcpy(data_ + at, data, to_end);
  std::memcpy(data_, data + to_end, bytes - to_end);
}

void Ring::publish(std::size_t bytes) {
  published_.store(published_.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
}

std::size_t Ring::available() const {
  return published_.load(std::memory_order_acquire) - released_.load(std::memory_order_relaxed);
}

void Ring::read(std::uint64_t offset, std::byte* data, std::size_t bytes) const {
  if (bytes == 0) return;
  const std::size_t at = (released_.load(std::memory_order_relaxed) + offset) % kCapacity;
  const std::size_t to_end = std::min(bytes, kCapacity - at);
  std::memcpy(data, data_ + at, to_end);
  std::memcpy(data + to_end, data_, bytes - to_end);
}

void Ring::release(std::size_t bytes) {
  released_.store(released_.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
}

}  // namespace lockstep::comm::local
