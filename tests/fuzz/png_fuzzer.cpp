// Each chunk of a PNG has a checksum. Almost every change would end there, so the checksums are made right again after
// most of them.
#include <zlib.h>

#include "decode_input.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

constexpr std::size_t kSignatureBytes = 8;
constexpr std::size_t kFrameBytes = 12;  // of a chunk: its length, name and checksum
constexpr unsigned kUnmended = 16;       // one change in so many

std::size_t read_number(const std::uint8_t* bytes) {
  return std::size_t{bytes[0]} << 24 | std::size_t{bytes[1]} << 16 | std::size_t{bytes[2]} << 8 | bytes[3];
}

void mend_checksums(std::span<std::uint8_t> png) {
  std::size_t place = kSignatureBytes;
  while (place + kFrameBytes <= png.size()) {
    std::uint8_t* chunk = &png[place];
    const std::size_t length = read_number(chunk);
    if (length > png.size() - place - kFrameBytes) return;
    const std::uint32_t sum = static_cast<std::uint32_t>(::crc32(0, chunk + 4, static_cast<unsigned>(length) + 4));
    for (int i = 0; i < 4; ++i)
      chunk[8 + length + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(sum >> (24 - 8 * i));
    place += kFrameBytes + length;
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % kUnmended != 0) mend_checksums({data, size});
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lockstep::test::decode_input({data, size});
  return 0;
}
