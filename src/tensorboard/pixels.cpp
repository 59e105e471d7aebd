#include "pixels.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>

#include "tensors.h"

namespace lockstep::tensorboard {
namespace {

constexpr std::int64_t kColumns = 8;
constexpr std::int64_t kLargestSprite = 8192;  // of a side; TensorBoard's page loads none that is larger

// With its dimensions in the order of `wanted`, which has the same letters as `dataformats`.
at::Tensor in_order(const at::Tensor& tensor, const std::string& dataformats, const std::string& wanted) {
  std::vector<std::int64_t> order;
  for (const char letter : wanted) order.push_back(static_cast<std::int64_t>(dataformats.find(letter)));
  return tensor.permute(order);
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text;
}

// Checks that `dataformats` has the letters of one of `choices` in some order, and as many as the tensor dimensions.
std::string checked_format(const at::Tensor& tensor, const std::string& dataformats,
                           const std::vector<std::string>& choices) {
  const std::string given = upper(dataformats);
  for (const std::string& choice : choices) {
    if (std::ranges::is_permutation(given, choice)) {
      if (tensor.dim() == static_cast<std::int64_t>(given.size())) return choice;
      throw UsageError({.message = "a tensor is no image of its dataformats",
                        .found = describe(tensor),
                        .expected = fmt::format("{} dimensions: {}", given.size(), given)});
    }
  }
  throw UsageError({.message = "dataformats of an image make no sense",
                    .found = "'" + dataformats + "'",
                    .expected = fmt::format("the letters of {} in some order", fmt::join(choices, ", "))});
}

void require_channels(const at::Tensor& tensor, std::int64_t channels, bool alpha) {
  if (channels == 1 || channels == 3 || (alpha && channels == 4)) return;
  throw UsageError({.message = "an image has a number of channels that cannot be shown",
                    .found = fmt::format("{} channels in {}", channels, describe(tensor)),
                    .expected = alpha ? "1, 3 or 4" : "1 or 3"});
}

// Numbers from 0 to 1 become bytes; bytes stay. What is not a number becomes 0.
at::Tensor to_bytes(const at::Tensor& tensor) {
  if (tensor.scalar_type() == at::kByte) return tensor;
  return at::nan_to_num(tensor.to(at::kFloat).mul(255), 0.0).clamp(0, 255).to(at::kByte);
}

data::Image image_of(const at::Tensor& rows) {
  const at::Tensor pixels = to_bytes(rows).contiguous();
  data::Image image(static_cast<int>(pixels.size(1)), static_cast<int>(pixels.size(0)),
                    static_cast<int>(pixels.size(2)));
  std::memcpy(image.pixels().data(), pixels.const_data_ptr<std::uint8_t>(), image.bytes());
  return image;
}

// NCHW becomes CHW: images in rows, black where there is none.
at::Tensor grid(const at::Tensor& images, std::int64_t columns) {
  const std::int64_t count = images.size(0), height = images.size(2), width = images.size(3);
  columns = std::min(columns, count);
  const std::int64_t rows = (count + columns - 1) / columns;
  at::Tensor canvas = at::zeros({images.size(1), rows * height, columns * width}, images.options());
  for (std::int64_t i = 0; i < count; ++i) {
    canvas.narrow(1, i / columns * height, height).narrow(2, i % columns * width, width).copy_(images[i]);
  }
  return canvas;
}

at::Tensor with_three_channels(const at::Tensor& tensor, std::int64_t dimension) {
  if (tensor.size(dimension) != 1) return tensor;
  return tensor.repeat_interleave(3, dimension);
}

}  // namespace

data::Image to_image(const at::Tensor& tensor, const std::string& dataformats) {
  require_elements(tensor, "an image");
  const std::string format = checked_format(tensor, dataformats, {"NCHW", "CHW", "HW"});
  at::Tensor image = in_order(on_cpu(tensor), upper(dataformats), format);
  if (format == "HW") image = image.unsqueeze(0);
  require_channels(tensor, image.size(-3), true);
  image = with_three_channels(image, image.dim() - 3);
  if (format == "NCHW") image = grid(image, kColumns);
  return image_of(image.permute({1, 2, 0}));
}

std::vector<data::Image> to_frames(const at::Tensor& video, const std::string& dataformats) {
  require_elements(video, "a video");
  checked_format(video, dataformats, {"NTCHW"});
  at::Tensor frames = with_three_channels(in_order(on_cpu(video), upper(dataformats), "NTCHW"), 2);
  require_channels(video, frames.size(2), false);
  const auto count = static_cast<std::uint64_t>(frames.size(0));
  // As many as the next power of two, black where there is none; one row for two of them, two for four, and so on.
  const auto padded = static_cast<std::int64_t>(std::bit_ceil(count));
  if (padded > frames.size(0)) {
    std::vector<std::int64_t> missing = frames.sizes().vec();
    missing[0] = padded - frames.size(0);
    frames = at::cat({frames, at::zeros(missing, frames.options())});
  }
  const std::int64_t rows = std::int64_t{1} << ((std::bit_width(count) - 1) / 2);
  const std::int64_t columns = padded / rows;
  frames =
      frames.reshape({rows, columns, frames.size(1), 3, frames.size(3), frames.size(4)}).permute({2, 0, 4, 1, 5, 3});
  frames = frames.reshape({frames.size(0), rows * frames.size(2), columns * frames.size(4), 3});
  std::vector<data::Image> images;
  for (std::int64_t i = 0; i < frames.size(0); ++i) images.push_back(image_of(frames[i]));
  return images;
}

data::Image to_sprite(const at::Tensor& images) {
  require_elements(images, "label images");
  checked_format(images, "NCHW", {"NCHW"});
  if (images.size(2) != images.size(3)) {
    throw UsageError({.message = "label images of an embedding must be square", .found = describe(images)});
  }
  const auto columns = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(images.size(0)))));
  const std::int64_t side = columns * images.size(3);
  if (side > kLargestSprite) {
    throw UsageError({.message = "label images of an embedding are too large together",
                      .found = fmt::format("a square of {} pixels a side", side),
                      .expected = fmt::format("at most {}", kLargestSprite),
                      .next = "give smaller images, or fewer points"});
  }
  require_channels(images, images.size(1), false);
  const at::Tensor filled = grid(with_three_channels(on_cpu(images), 1), columns);
  at::Tensor square = at::zeros({3, side, side}, filled.options());
  square.narrow(1, 0, filled.size(1)).copy_(filled);
  return image_of(square.permute({1, 2, 0}));
}

}  // namespace lockstep::tensorboard
