#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace lockstep::checkpoint {

// The lowest `bytes` bytes of a number, the smallest first.
inline std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  return text;
}

}  // namespace lockstep::checkpoint
