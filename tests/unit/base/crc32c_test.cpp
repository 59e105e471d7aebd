#include <lockstep/base/crc32c.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lockstep {
namespace {

std::uint32_t crc_of(const std::string& text, std::uint32_t before = 0) {
  return crc32c(std::as_bytes(std::span(text)), before);
}

// Bit by bit, as the polynomial is defined.
std::uint32_t slowly(const std::string& text) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
  }
  return ~crc;
}

std::string bytes(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>(i * 37 + i / 251);
  return text;
}

TEST(Crc32c, HasTheValuesOfItsStandard) {
  EXPECT_EQ(crc_of(""), 0U);
  EXPECT_EQ(crc_of("123456789"), 0xe3069283U);
  EXPECT_EQ(crc_of(std::string(32, '\0')), 0x8a9136aaU);  // RFC 3720, B.4
  EXPECT_EQ(crc_of(std::string(32, '\xff')), 0x62a8ab43U);
}

TEST(Crc32c, IsTheSameInLanesAndBitByBit) {
  for (const std::size_t size : {1, 7, 8, 9, 3071, 3072, 3073, 6144, 10'000}) {
    EXPECT_EQ(crc_of(bytes(size)), slowly(bytes(size))) << size;
  }
}

TEST(Crc32c, GoesOnFromAnyPlace) {
  const std::string text = bytes(7000);
  for (const std::size_t cut : {0, 1, 8, 3072, 6999, 7000}) {
    EXPECT_EQ(crc_of(text.substr(cut), crc_of(text.substr(0, cut))), crc_of(text)) << cut;
  }
}

}  // namespace
}  // namespace lockstep
