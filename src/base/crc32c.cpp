#include <lockstep/base/crc32c.h>

#include <nmmintrin.h>

#include <array>
#include <cstring>

namespace lockstep {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // bits reversed, as the instruction has it

using Table = std::array<std::uint32_t, 256>;

constexpr Table make_byte_table() {
  Table table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}

constexpr Table kByteTable = make_byte_table();

std::uint32_t add_byte(std::uint32_t crc, std::byte byte) {
  return (crc >> 8) ^ kByteTable[(crc ^ static_cast<std::uint32_t>(byte)) & 0xff];
}

std::uint32_t crc_by_table(std::uint32_t crc, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) crc = add_byte(crc, byte);
  return crc;
}

// What `kLane` bytes of zeros make of a checksum: a linear map of its bits, so one table for each of its four bytes.
constexpr std::size_t kLane = 1024;

class ZeroShift {
 public:
  ZeroShift() {
    std::array<std::uint32_t, 32> images{};
    for (std::size_t bit = 0; bit < images.size(); ++bit) {
      std::uint32_t crc = std::uint32_t{1} << bit;
      for (std::size_t i = 0; i < kLane; ++i) crc = add_byte(crc, std::byte{0});
      images[bit] = crc;
    }
    for (std::size_t part = 0; part < tables_.size(); ++part) {
      for (std::size_t value = 0; value < 256; ++value) {
        for (std::size_t bit = 0; bit < 8; ++bit) {
          if ((value >> bit & 1) != 0) tables_[part][value] ^= images[part * 8 + bit];
        }
      }
    }
  }

  std::uint32_t operator()(std::uint32_t crc) const {
    return tables_[0][crc & 0xff] ^ tables_[1][crc >> 8 & 0xff] ^ tables_[2][crc >> 16 & 0xff] ^ tables_[3][crc >> 24];
  }

 private:
  std::array<Table, 4> tables_{};
};

std::uint64_t word_at(const std::byte* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

// The instruction takes a word each cycle but answers after three, so three lanes go side by side.
__attribute__((target("sse4.2"))) std::uint32_t crc_by_instruction(std::uint32_t crc,
                                                                   std::span<const std::byte> bytes) {
  static const ZeroShift shift;
  while (bytes.size() >= 3 * kLane) {
    std::uint64_t first = crc, second = 0, third = 0;
    for (std::size_t i = 0; i < kLane; i += sizeof(std::uint64_t)) {
      first = _mm_crc32_u64(first, word_at(bytes.data() + i));
      second = _mm_crc32_u64(second, word_at(bytes.data() + kLane + i));
      third = _mm_crc32_u64(third, word_at(bytes.data() + 2 * kLane + i));
    }
    crc = shift(static_cast<std::uint32_t>(first)) ^ static_cast<std::uint32_t>(second);
    crc = shift(crc) ^ static_cast<std::uint32_t>(third);
    bytes = bytes.subspan(3 * kLane);
  }
  std::uint64_t rest = crc;
  for (; bytes.size() >= sizeof(std::uint64_t); bytes = bytes.subspan(sizeof(std::uint64_t))) {
    rest = _mm_crc32_u64(rest, word_at(bytes.data()));
  }
  return crc_by_table(static_cast<std::uint32_t>(rest), bytes);
}

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  return ~(has_instruction ? crc_by_instruction(~before, bytes) : crc_by_table(~before, bytes));
}

}  // namespace lockstep
