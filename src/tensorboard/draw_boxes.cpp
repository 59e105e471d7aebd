#include "draw_boxes.h"

#include <algorithm>
#include <cstdint>

#include "font.h"

namespace lockstep::tensorboard {
namespace {

using Color = std::array<std::uint8_t, 3>;
constexpr Color kRed = {255, 0, 0}, kBlack = {0, 0, 0};
constexpr int kMargin = 1;  // of a label: a twentieth of its height, as in Pillow's picture of it

// All four edges belong to it.
void fill(data::Image& image, int left, int top, int right, int bottom, const Color& color) {
  for (int y = std::max(top, 0); y <= std::min(bottom, image.height() - 1); ++y) {
    for (int x = std::max(left, 0); x <= std::min(right, image.width() - 1); ++x) {
      std::copy(color.begin(), color.end(), image.row(y) + static_cast<std::ptrdiff_t>(x) * image.channels());
    }
  }
}

void draw_letter(data::Image& image, int left, int top, const Letter& letter) {
  for (int y = 0; y < kLetterHeight; ++y) {
    for (int x = 0; x < kLetterWidth; ++x) {
      if ((letter[static_cast<std::size_t>(y)] >> (7 - x) & 1) != 0)
        fill(image, left + x, top + y, left + x, top + y, kBlack);
    }
  }
}

void draw_label(data::Image& image, int left, int bottom, const std::string& label) {
  const int width = kLetterWidth * static_cast<int>(std::min<std::size_t>(label.size(), 1000));
  fill(image, left, bottom - kLetterHeight - 2 * kMargin, left + width, bottom, kRed);
  int x = left + kMargin;
  for (const char character : label.substr(0, 1000)) {
    const char drawn = character >= ' ' && character <= '~' ? character : '?';
    draw_letter(image, x, bottom - kLetterHeight - kMargin, kLetters[static_cast<std::size_t>(drawn - ' ')]);
    x += kLetterWidth;
  }
}

// A coordinate as a pixel; one that is far outside, or no number, becomes one that is outside.
int pixel(float coordinate) {
  constexpr float kFar = 1 << 24;
  return coordinate > -kFar && coordinate < kFar ? static_cast<int>(coordinate) : -(1 << 24);
}

}  // namespace

void draw_boxes(data::Image& image, std::span<const BoxEdges> boxes, std::span<const std::string> labels) {
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const int left = pixel(boxes[i][0]), top = pixel(boxes[i][1]), right = pixel(boxes[i][2]),
              bottom = pixel(boxes[i][3]);
    // Pillow draws each side to the right of its way, down, right, up and left.
    fill(image, left, top - 1, left + 1, bottom + 1, kRed);
    fill(image, right - 1, top - 1, right, bottom + 1, kRed);
    fill(image, left, top - 1, right, top, kRed);
    fill(image, left, bottom, right, bottom + 1, kRed);
    if (!labels.empty() && !labels[i].empty()) draw_label(image, left, bottom, labels[i]);
  }
}

}  // namespace lockstep::tensorboard
