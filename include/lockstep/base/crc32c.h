// CRC-32C (Castagnoli): the checksum of packed data, of TFRecord and of many file systems.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep {

// The checksum of what `before` is the checksum of, followed by `bytes`. "123456789" gives 0xe3069283. Finds every
// error of up to 32 bits in a row.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace lockstep
