#include "row_sinks.h"

#include <algorithm>

#include "distributions.h"

namespace lockstep::data {

Factors::Factors(const std::optional<Normalization>& normalization, int channels) {
  const auto of_channel = [](const std::vector<double>& numbers, std::size_t channel) {
    return numbers[std::min(channel, numbers.size() - 1)];
  };
  const Normalization used = normalization.value_or(Normalization{});
  for (std::size_t i = 0; i < scale.size(); ++i) {
    const std::size_t channel = i % static_cast<std::size_t>(channels);
    const double mean = of_channel(used.mean, channel), deviation = of_channel(used.deviation, channel);
    scale[i] = static_cast<float>(1 / (255 * deviation));
    bias[i] = static_cast<float>(-mean / deviation);
  }
}

void erase(std::span<float> slot, ImageSize size, int channels, const Erase& erase) {
  const auto depth = static_cast<std::size_t>(channels);
  const auto width = static_cast<std::size_t>(erase.region.width);
  std::optional<RandomStream> noise = erase.noise;
  for (int y = 0; y < erase.region.height; ++y) {
    const std::size_t pixel = static_cast<std::size_t>(erase.region.top + y) * static_cast<std::size_t>(size.width) +
                              static_cast<std::size_t>(erase.region.left);
    const std::span<float> row = slot.subspan(pixel * depth, width * depth);
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = noise ? static_cast<float>(draw_normal(*noise)) : erase.value[i % depth];
    }
  }
}

}  // namespace lockstep::data
