#include <gmock/gmock.h>

#include "data/decode/orientation.h"

namespace lockstep::data {
namespace {

std::string number(unsigned value, int bytes, bool little) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * (little ? i : bytes - 1 - i));
  return text;
}

// A TIFF with one entry besides the orientation.
std::string exif(unsigned value, bool little) {
  const auto two = [&](unsigned v) { return number(v, 2, little); };
  const auto four = [&](unsigned v) { return number(v, 4, little); };
  const std::string other = two(0x010f) + two(2) + four(4) + "abc" + std::string(1, '\0');
  const std::string orientation = two(0x0112) + two(3) + four(1) + two(value) + two(0);
  return (little ? "II" : "MM") + two(42) + four(8) + two(2) + other + orientation + four(0);
}

Orientation read(const std::string& content) {
  return exif_orientation(std::as_bytes(std::span(content)));
}

TEST(ExifOrientation, IsReadInBothOrdersOfBytes) {
  for (const bool little : {false, true}) {
    EXPECT_EQ(read(exif(1, little)), Orientation{});
    EXPECT_EQ(read(exif(3, little)), (Orientation{.mirrored = true, .flipped = true}));
    EXPECT_EQ(read(exif(8, little)), (Orientation{.mirrored = true, .transposed = true}));
  }
}

TEST(ExifOrientation, OfDamagedDataIsUpright) {
  for (const unsigned value : {0U, 9U, 65535U}) EXPECT_EQ(read(exif(value, true)), Orientation{});
  const std::string good = exif(6, true);
  for (std::size_t length = 0; length < good.size() - 8; ++length) {
    EXPECT_EQ(read(good.substr(0, length)), Orientation{}) << length;
  }
  std::string elsewhere = good;
  elsewhere.replace(4, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(read(elsewhere), Orientation{});
}

TEST(Orientation, RegionsGoThereAndBack) {
  const ImageSize stored{.width = 10, .height = 7};
  const Region region{.left = 1, .top = 2, .width = 3, .height = 4};
  for (unsigned value = 1; value <= 8; ++value) {
    const Orientation orientation = read(exif(value, true));
    EXPECT_EQ(to_stored(to_seen(region, stored, orientation), stored, orientation), region) << value;
  }
  // A quarter turn to the right: what was at the left is at the top, what was at the bottom is at the left.
  const Region turned{.left = 1, .top = 1, .width = 4, .height = 3};
  EXPECT_EQ(to_seen(region, stored, read(exif(6, true))), turned);
}

}  // namespace
}  // namespace lockstep::data
