#include "rendezvous_protocol.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace lockstep {

std::string Member::name() const {
  return fmt::format("rank {} ({}, pid {})", id.rank, host, pid);
}

namespace rendezvous {
namespace {

template <typename Unsigned>
std::string big_endian(Unsigned value) {
  std::string bytes(sizeof(value), '\0');
  for (std::size_t i = bytes.size(); i-- > 0; value = static_cast<Unsigned>(value >> 8U)) {
    bytes[i] = static_cast<char>(value & 0xFFU);
  }
  return bytes;
}

template <typename Unsigned>
Unsigned from_big_endian(std::string_view bytes) {
  Unsigned value = 0;
  for (const char byte : bytes) value = static_cast<Unsigned>(value << 8U | static_cast<unsigned char>(byte));
  return value;
}

}  // namespace

std::chrono::milliseconds bounded(std::chrono::milliseconds time) {
  constexpr std::chrono::milliseconds kLongest(std::numeric_limits<std::uint32_t>::max());
  return std::clamp(time, std::chrono::milliseconds(0), kLongest);
}

Writer& Writer::number(std::int64_t value) {
  frame_ += big_endian(static_cast<std::uint64_t>(value));
  return *this;
}

Writer& Writer::count(std::uint32_t value) {
  frame_ += big_endian(value);
  return *this;
}

Writer& Writer::bytes(std::string_view value) {
  count(static_cast<std::uint32_t>(value.size()));
  frame_ += value;
  return *this;
}

Writer& Writer::timeout(std::chrono::milliseconds value) {
  return count(static_cast<std::uint32_t>(bounded(value).count()));
}

Writer& Writer::member(const Member& value) {
  return number(value.id.rank).number(value.id.size).bytes(value.host).number(value.pid);
}

std::string Writer::take() {
  frame_.replace(0, kHeaderSize, big_endian(static_cast<std::uint32_t>(frame_.size() - kHeaderSize)));
  return std::move(frame_);
}

std::string_view Reader::take(std::size_t size) {
  if (size > rest_.size()) throw Malformed();
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

std::uint8_t Reader::kind() {
  return static_cast<std::uint8_t>(take(1).front());
}

std::int64_t Reader::number() {
  return static_cast<std::int64_t>(from_big_endian<std::uint64_t>(take(sizeof(std::uint64_t))));
}

std::uint32_t Reader::count() {
  return from_big_endian<std::uint32_t>(take(sizeof(std::uint32_t)));
}

std::string_view Reader::bytes() {
  return take(count());
}

std::chrono::milliseconds Reader::timeout() {
  return std::chrono::milliseconds(count());
}

Member Reader::member() {
  const std::int64_t rank = number();
  const std::int64_t size = number();
  if (size < 1 || size > kMaxRanks || rank < 0 || rank >= size) throw Malformed();
  const std::string_view host = bytes();
  if (host.size() > kMaxHostSize) throw Malformed();
  return {.id = {static_cast<int>(rank), static_cast<int>(size)}, .host = std::string(host), .pid = number()};
}

void Reader::finish() const {
  if (!rest_.empty()) throw Malformed();
}

std::size_t body_size(std::string_view header) {
  const std::size_t size = from_big_endian<std::uint32_t>(header);
  if (size == 0 || size > kMaxFrameBody) throw Malformed();
  return size;
}

}  // namespace rendezvous
}  // namespace lockstep
