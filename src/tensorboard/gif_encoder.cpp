#include "gif_encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "palette.h"

namespace lockstep::tensorboard {
namespace {

constexpr int kFewestBits = 2;  // of a color, as LZW in GIF wants it
constexpr int kMostBits = 12;   // of a code
constexpr std::size_t kBlock = 255;

void append_short(std::string& file, int number) {
  file += static_cast<char>(number & 0xff);
  file += static_cast<char>(number >> 8 & 0xff);
}

// Codes of growing width, lowest bits first.
class BitStream {
 public:
  void put(int code, int bits) {
    pending_ |= static_cast<std::uint32_t>(code) << count_;
    for (count_ += bits; count_ >= 8; count_ -= 8, pending_ >>= 8) bytes_ += static_cast<char>(pending_ & 0xff);
  }
  std::string finish() {
    if (count_ > 0) bytes_ += static_cast<char>(pending_ & 0xff);
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
  std::uint32_t pending_ = 0;
  int count_ = 0;
};

// LZW as GIF has it: `bits` of a color; the next two codes clear the table and end the picture.
std::string compress(std::span<const std::uint8_t> colors, int bits) {
  const int clear = 1 << bits, end = clear + 1;
  constexpr int kCodes = 1 << kMostBits;
  std::vector<std::int16_t> longer(static_cast<std::size_t>(kCodes) * 256, -1);  // [code][color]: the code of both
  BitStream stream;
  int next = end + 1, width = bits + 1;
  stream.put(clear, width);
  int code = colors[0];
  for (const std::uint8_t color : colors.subspan(1)) {
    std::int16_t& both = longer[static_cast<std::size_t>(code) * 256 + color];
    if (both >= 0) {
      code = both;
      continue;
    }
    stream.put(code, width);
    code = color;
    if (next == kCodes) {
      stream.put(clear, width);
      std::ranges::fill(longer, std::int16_t{-1});
      next = end + 1, width = bits + 1;
      continue;
    }
    if (next == 1 << width) ++width;
    both = static_cast<std::int16_t>(next++);
  }
  stream.put(code, width);
  // A reader makes its table one code behind, so it may be about to widen its codes.
  if (next == 1 << width && width < kMostBits) ++width;
  stream.put(end, width);
  return stream.finish();
}

void append_palette(std::string& file, const std::vector<Color>& colors, int bits) {
  for (const Color& color : colors) file.append(color.begin(), color.end());
  file.append(3 * ((std::size_t{1} << bits) - colors.size()), '\0');
}

void append_frame(std::string& file, const data::Image& frame, const Palette& palette, int bits, int delay) {
  file += {'\x21', '\xf9', 4, 0};  // how the frame is shown: not transparent, left standing
  append_short(file, delay);
  file += {0, 0, '\x2c', 0, 0, 0, 0};  // the frame itself, from the corner on
  append_short(file, frame.width());
  append_short(file, frame.height());
  file += '\0';  // with the palette of all
  std::vector<std::uint8_t> colors;
  colors.reserve(frame.bytes() / 3);
  for (std::size_t i = 0; i < frame.bytes(); i += 3) colors.push_back(palette.index_of(frame.pixels().data() + i));
  file += static_cast<char>(bits);
  const std::string compressed = compress(colors, bits);
  for (std::size_t i = 0; i < compressed.size(); i += kBlock) {
    const std::size_t size = std::min(kBlock, compressed.size() - i);
    file += static_cast<char>(size);
    file.append(compressed, i, size);
  }
  file += '\0';
}

}  // namespace

std::string encode_gif(std::span<const data::Image> frames, double frames_per_second) {
  const Palette palette(frames);
  const int bits = std::max(kFewestBits, static_cast<int>(std::bit_width(palette.colors().size() - 1)));
  const int delay = static_cast<int>(std::clamp(std::round(100 / frames_per_second), 2.0, 65535.0));
  std::string file = "GIF89a";
  append_short(file, frames.front().width());
  append_short(file, frames.front().height());
  file += {static_cast<char>(0xf0 | (bits - 1)), 0, 0};  // there is a palette, of so many bits
  append_palette(file, palette.colors(), bits);
  file += std::string("\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0", 19);  // repeat for ever
  for (const data::Image& frame : frames) append_frame(file, frame, palette, bits, delay);
  file += '\x3b';
  return file;
}

}  // namespace lockstep::tensorboard
