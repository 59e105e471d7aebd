#include "stream_copy.h"

#include <emmintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace lockstep::comm::local {

void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kLineBytes = 64;
  const std::size_t to_line = (kLineBytes - reinterpret_cast<std::uintptr_t>(to) % kLineBytes) % kLineBytes;
  const std::size_t head = std::min(bytes, to_line);
  std::memcpy(to, from, head);
  std::size_t done = head;
  for (; done + kLineBytes <= bytes; done += kLineBytes) {
    const auto* source = reinterpret_cast<const __m128i*>(from + done);
    auto* target = reinterpret_cast<__m128i*>(to + done);
    for (int i = 0; i < 4; ++i) _mm_stream_si128(target + i, _mm_loadu_si128(source + i));
  }
  std::memcpy(to + done, from + done, bytes - done);
  _mm_sfence();
}

}  // namespace lockstep::comm::local
