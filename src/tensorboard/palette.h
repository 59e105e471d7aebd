// At most 256 colors that stand for all of a film.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <lockstep/data/image.h>

namespace lockstep::tensorboard {

using Color = std::array<std::uint8_t, 3>;

class Palette {
 public:
  // From all pixels of RGB frames. Where they have no more than 256 colors, these; else the median cut of their
  // colors, of which each channel's lowest three bits are left out.
  explicit Palette(std::span<const data::Image> frames);

  const std::vector<Color>& colors() const { return colors_; }

  // Which color stands for this one, that is in one of the frames.
  std::uint8_t index_of(const std::uint8_t* pixel) const;

 private:
  bool take_all(std::span<const data::Image> frames);
  void cut(std::span<const data::Image> frames);

  std::vector<Color> colors_;
  std::vector<std::uint32_t> exact_;   // colors_ as numbers, ascending; empty when the palette was cut
  std::vector<std::uint8_t> nearest_;  // by the upper five bits of each channel
};

}  // namespace lockstep::tensorboard
