#include "palette.h"

#include <algorithm>

namespace lockstep::tensorboard {
namespace {

constexpr std::size_t kMost = 256;
constexpr int kBits = 5;  // of each channel, of the colors that are told apart in a cut

std::uint32_t number_of(const std::uint8_t* pixel) {
  return static_cast<std::uint32_t>(pixel[0]) << 16 | static_cast<std::uint32_t>(pixel[1]) << 8 | pixel[2];
}

std::size_t cell_of(const std::uint8_t* pixel) {
  std::size_t cell = 0;
  for (int channel = 0; channel < 3; ++channel) cell = cell << kBits | pixel[channel] >> (8 - kBits);
  return cell;
}

// The pixels whose colors agree in their upper bits.
struct Cell {
  std::size_t index;
  std::uint64_t count = 0;
  std::array<std::uint64_t, 3> sum = {};

  std::uint8_t mean(std::size_t channel) const { return static_cast<std::uint8_t>(sum[channel] / count); }
};

std::vector<Cell> filled_cells(std::span<const data::Image> frames) {
  std::vector<Cell> cells(std::size_t{1} << (3 * kBits));
  for (const data::Image& frame : frames) {
    for (std::size_t i = 0; i < frame.bytes(); i += 3) {
      const std::uint8_t* const pixel = frame.pixels().data() + i;
      Cell& cell = cells[cell_of(pixel)];
      ++cell.count;
      for (std::size_t channel = 0; channel < 3; ++channel) cell.sum[channel] += pixel[channel];
    }
  }
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i].index = i;
  std::erase_if(cells, [](const Cell& cell) { return cell.count == 0; });
  return cells;
}

// Cells that will have one color.
struct Box {
  std::span<Cell> cells;
  std::size_t widest = 0;  // the channel in which they differ most
  int width = 0;           // by how much
};

Box box_of(std::span<Cell> cells) {
  Box box{.cells = cells};
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const auto by_channel = [channel](const Cell& cell) { return cell.mean(channel); };
    const auto [least, greatest] = std::ranges::minmax_element(cells, {}, by_channel);
    const int width = greatest->mean(channel) - least->mean(channel);
    if (width > box.width) box.width = width, box.widest = channel;
  }
  return box;
}

// Cuts the box where half of its pixels lie on each side; it has two cells at least.
std::array<Box, 2> halves(const Box& box) {
  std::ranges::sort(box.cells, {}, [&](const Cell& cell) { return cell.mean(box.widest); });
  std::uint64_t all = 0, left = 0;
  for (const Cell& cell : box.cells) all += cell.count;
  std::size_t middle = 0;
  while (middle + 1 < box.cells.size() && (middle == 0 || 2 * left < all)) left += box.cells[middle++].count;
  return {box_of(box.cells.first(middle)), box_of(box.cells.subspan(middle))};
}

Color mean_color(std::span<const Cell> cells) {
  std::uint64_t count = 0;
  std::array<std::uint64_t, 3> sum{};
  for (const Cell& cell : cells) {
    count += cell.count;
    for (std::size_t channel = 0; channel < 3; ++channel) sum[channel] += cell.sum[channel];
  }
  Color color{};
  for (std::size_t channel = 0; channel < 3; ++channel)
    color[channel] = static_cast<std::uint8_t>((sum[channel] + count / 2) / count);
  return color;
}

}  // namespace

Palette::Palette(std::span<const data::Image> frames) {
  if (!take_all(frames)) cut(frames);
}

bool Palette::take_all(std::span<const data::Image> frames) {
  std::vector<std::uint32_t> found;
  for (const data::Image& frame : frames) {
    for (std::size_t i = 0; i < frame.bytes(); i += 3) {
      const std::uint32_t number = number_of(frame.pixels().data() + i);
      const auto place = std::ranges::lower_bound(found, number);
      if (place != found.end() && *place == number) continue;
      if (found.size() == kMost) return false;
      found.insert(place, number);
    }
  }
  exact_ = std::move(found);
  for (const std::uint32_t number : exact_) {
    colors_.push_back({static_cast<std::uint8_t>(number >> 16), static_cast<std::uint8_t>(number >> 8),
                       static_cast<std::uint8_t>(number)});
  }
  return true;
}

void Palette::cut(std::span<const data::Image> frames) {
  std::vector<Cell> cells = filled_cells(frames);
  std::vector<Box> boxes = {box_of(cells)};
  while (boxes.size() < kMost) {
    const auto widest = std::ranges::max_element(boxes, {}, &Box::width);
    if (widest->width == 0) break;
    const auto [left, right] = halves(*widest);
    *widest = left;
    boxes.push_back(right);
  }
  nearest_.resize(std::size_t{1} << (3 * kBits));
  for (const Box& box : boxes) {
    for (const Cell& cell : box.cells) nearest_[cell.index] = static_cast<std::uint8_t>(colors_.size());
    colors_.push_back(mean_color(box.cells));
  }
}

std::uint8_t Palette::index_of(const std::uint8_t* pixel) const {
  if (exact_.empty()) return nearest_[cell_of(pixel)];
  return static_cast<std::uint8_t>(std::ranges::lower_bound(exact_, number_of(pixel)) - exact_.begin());
}

}  // namespace lockstep::tensorboard
