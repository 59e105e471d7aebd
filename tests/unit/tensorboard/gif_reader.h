// Reads what gif_encoder.cpp writes, and nothing else.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::test {

struct Gif {
  int width = 0, height = 0, delay = 0;
  std::vector<std::string> frames;  // RGB
};

class GifReader {
 public:
  explicit GifReader(std::string file) : file_(std::move(file)) {}

  Gif read() {
    Gif gif;
    if (take(6) != "GIF89a") throw std::runtime_error("no GIF");
    gif.width = take_short(), gif.height = take_short();
    const int bits = (take_byte() & 7) + 1;
    take(2);
    const std::string palette = take(3U << bits);
    if (take(19) != std::string("\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0", 19))
      throw std::runtime_error("does not repeat");
    while (take_byte() == 0x21) {
      take(3);
      gif.delay = take_short();
      take(12);  // the rest of that, and the frame's place
      std::string frame;
      for (const int color : uncompress()) frame += palette.substr(3 * static_cast<std::size_t>(color), 3);
      gif.frames.push_back(frame);
    }
    if (position_ != file_.size()) throw std::runtime_error("more than there should be");
    return gif;
  }

 private:
  std::string take(std::size_t size) {
    if (position_ + size > file_.size()) throw std::runtime_error("cut off");
    return file_.substr((position_ += size) - size, size);
  }
  int take_byte() { return static_cast<std::uint8_t>(take(1)[0]); }
  int take_short() {
    const int low = take_byte();
    return low | take_byte() << 8;
  }

  std::vector<int> uncompress() {
    const int bits = take_byte(), clear = 1 << bits;
    std::string data;
    while (const int size = take_byte()) data += take(static_cast<std::size_t>(size));
    std::vector<std::vector<int>> table;
    std::vector<int> result, before;
    std::size_t bit = 0;
    int width = bits + 1;
    for (;;) {
      int code = 0;
      for (int i = 0; i < width; ++i, ++bit) code |= (data.at(bit / 8) >> bit % 8 & 1) << i;
      if (code == clear + 1) return result;
      if (code == clear) {
        table.clear();
        for (int color = 0; color < clear + 2; ++color) table.push_back({color});
        width = bits + 1;
        before.clear();
        continue;
      }
      const auto number = static_cast<std::size_t>(code);
      if (number > table.size() || (number == table.size() && before.empty()))
        throw std::runtime_error("a code from the future");
      std::vector<int> now = number < table.size() ? table[number] : before;
      if (number == table.size()) now.push_back(before.front());
      if (!before.empty() && table.size() < 4096) {
        before.push_back(now.front());
        table.push_back(before);
      }
      if (table.size() == 1U << width && width < 12) ++width;
      result.insert(result.end(), now.begin(), now.end());
      before = now;
    }
  }

  std::string file_;
  std::size_t position_ = 0;
};

}  // namespace lockstep::test
