// A packed file's layout, as docs/data/packed.md tells it. All numbers are little-endian.
//
//   header          one page
//   data            the samples' bytes, one after another without gaps, in the order of the index
//   index           a PackedEntry for each sample
//   class names     a string table
//   sample names    a string table
//
// Each part begins on a page, and zeros fill the space between. A string table of n texts is n + 1 positions of 64
// bits, counted from the end of the positions, and then the texts; text i reaches from position i to position i + 1.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include <lockstep/base/crc32c.h>

namespace lockstep::data {

static_assert(std::endian::native == std::endian::little, "packed files are mapped, not translated");

inline constexpr std::uint64_t kPackedPage = 4096;
// Ends of lines and a byte beyond ASCII show a transfer as text, as in PNG.
inline constexpr std::array<std::uint8_t, 8> kPackedMagic = {0x89, 'L', 'S', 'P', '\r', '\n', 0x1a, '\n'};
inline constexpr std::uint32_t kPackedVersion = 1;

struct PackedSection {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;  // CRC-32C; 0 for the data, whose samples have their own
  std::uint32_t reserved = 0;

  std::uint64_t end() const { return offset + bytes; }
};

struct PackedHeader {
  std::array<std::uint8_t, 8> magic = kPackedMagic;
  std::uint32_t version = kPackedVersion;
  std::uint32_t complete = 0;  // 1 is written last
  std::uint64_t file_bytes = 0;
  std::uint64_t samples = 0;
  std::uint64_t classes = 0;
  PackedSection data, index, class_names, sample_names;
  std::array<std::uint8_t, 32> source{};  // SHA-256 of what the file was made from, and how
  std::uint32_t reserved = 0;
  std::uint32_t checksum = 0;  // of the header's page with zero here
};
static_assert(sizeof(PackedHeader) == 176 && sizeof(PackedHeader) < kPackedPage);

enum PackedForm : std::uint8_t { kPackedEncoded = 0, kPackedPixels = 1 };

struct PackedEntry {
  std::uint64_t offset = 0;  // from the beginning of the file
  std::uint32_t bytes = 0;
  std::uint32_t checksum = 0;  // CRC-32C
  std::uint32_t label = 0;
  std::uint32_t width = 0, height = 0;  // of pixels, else 0
  std::uint8_t form = kPackedEncoded;
  std::uint8_t channels = 0;
  std::uint16_t reserved = 0;

  std::uint64_t end() const { return offset + bytes; }
};
static_assert(sizeof(PackedEntry) == 32);

// Whether its size in pixels is one, and that of its bytes.
inline bool pixels_fit(const PackedEntry& entry) {
  if (entry.form == kPackedEncoded) return entry.width == 0 && entry.height == 0 && entry.channels == 0;
  if (entry.form != kPackedPixels || (entry.channels != 1 && entry.channels != 3)) return false;
  constexpr std::uint32_t kLongestSide = std::numeric_limits<int>::max();
  if (entry.width == 0 || entry.height == 0 || entry.width > kLongestSide || entry.height > kLongestSide) return false;
  const std::uint64_t row = std::uint64_t{entry.width} * entry.channels;
  return entry.bytes % row == 0 && entry.bytes / row == entry.height;
}

constexpr std::uint64_t next_page(std::uint64_t offset) {
  return (offset + kPackedPage - 1) / kPackedPage * kPackedPage;
}

using PackedHeaderPage = std::array<std::byte, kPackedPage>;

// The page that `header` becomes, its checksum set.
inline PackedHeaderPage header_page(PackedHeader header) {
  PackedHeaderPage page{};
  header.checksum = 0;
  std::memcpy(page.data(), &header, sizeof(header));
  header.checksum = crc32c(page);
  std::memcpy(page.data(), &header, sizeof(header));
  return page;
}

}  // namespace lockstep::data
