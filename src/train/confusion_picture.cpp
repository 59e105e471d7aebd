#include "confusion_picture.h"

#include <algorithm>
#include <cmath>

#include <ATen/ops/empty.h>
#include <fmt/format.h>

namespace lockstep::train {
namespace {

constexpr std::int64_t kPixels = 512;  // of a side, or one for each class where these are more
constexpr std::int64_t kMostInTable = 30;

std::int64_t classes_of(const std::vector<std::int64_t>& counts) {
  return std::llround(std::sqrt(static_cast<double>(counts.size())));
}

struct Color {
  double red, green, blue;
};
constexpr Color kNone = {255, 255, 255}, kAll = {8, 48, 107};

std::uint8_t between(double none, double all, double part) {
  return static_cast<std::uint8_t>(std::lround(none + (all - none) * part));
}

}  // namespace

at::Tensor confusion_picture(const std::vector<std::int64_t>& counts) {
  const std::int64_t classes = classes_of(counts);
  at::Tensor cells = at::empty({3, classes, classes}, at::kByte);
  auto cell = cells.accessor<std::uint8_t, 3>();
  for (std::int64_t row = 0; row < classes; ++row) {
    const auto begin = counts.begin() + row * classes;
    std::int64_t samples = 0;
    for (auto count = begin; count != begin + classes; ++count) samples += *count;
    for (std::int64_t column = 0; column < classes; ++column) {
      const double part = samples > 0 ? static_cast<double>(begin[column]) / static_cast<double>(samples) : 0;
      cell[0][row][column] = between(kNone.red, kAll.red, part);
      cell[1][row][column] = between(kNone.green, kAll.green, part);
      cell[2][row][column] = between(kNone.blue, kAll.blue, part);
    }
  }
  const std::int64_t side = std::max<std::int64_t>(1, kPixels / classes);
  return cells.repeat_interleave(side, 1).repeat_interleave(side, 2);
}

std::optional<std::string> confusion_table(const std::vector<std::int64_t>& counts,
                                           const std::vector<std::string>& classes) {
  const std::int64_t number = classes_of(counts);
  if (number > kMostInTable) return std::nullopt;
  const auto name = [&](std::int64_t index) {
    return index < std::ssize(classes) ? classes[static_cast<std::size_t>(index)] : std::to_string(index);
  };
  std::string head = "| is \\\\ was taken for |", line = "|---|", rows;
  for (std::int64_t row = 0; row < number; ++row) {
    head += fmt::format(" {} |", name(row));
    line += "---|";
    rows += fmt::format("| **{}** |", name(row));
    for (std::int64_t column = 0; column < number; ++column) {
      rows += fmt::format(" {} |", counts[static_cast<std::size_t>(row * number + column)]);
    }
    rows += "\n";
  }
  return head + "\n" + line + "\n" + rows;
}

}  // namespace lockstep::train
