#include <lockstep/train/picture_views.h>

#include <algorithm>

#include <ATen/ops/reflection_pad2d.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>

namespace lockstep::train {

void require_views(const PictureViews& views, at::IntArrayRef sample) {
  if (views.shift < 0) throw UsageError("pictures cannot be moved by less than 0 pixels");
  if (!views.are_several()) return;
  if (sample.size() != 3) {
    throw UsageError({.message = "only pictures can be mirrored or moved",
                      .found = fmt::format("samples of {} dimensions", sample.size()),
                      .expected = "channels, height and width",
                      .next = "leave evaluation.mirror and evaluation.shift out"});
  }
  if (views.shift >= std::min(sample[1], sample[2])) {
    throw UsageError({.message = fmt::format("a picture cannot be moved by {} pixels", views.shift),
                      .found = fmt::format("pictures of {} pixels", fmt::join(sample.slice(1), " x ")),
                      .next = "choose a smaller evaluation.shift"});
  }
}

at::Tensor mean_over_views(const PictureViews& views, const at::Tensor& pictures,
                           const std::function<at::Tensor(const at::Tensor&)>& forward) {
  require_views(views, pictures.sizes().slice(1));
  if (!views.are_several()) return forward(pictures);
  const std::int64_t height = pictures.size(2), width = pictures.size(3), positions = 2 * views.shift + 1;
  const at::Tensor padded = at::reflection_pad2d(pictures, {views.shift, views.shift, views.shift, views.shift});
  at::Tensor sum;
  const auto add = [&](const at::Tensor& view) {
    const at::Tensor outputs = forward(view.contiguous(pictures.suggest_memory_format()));
    sum = sum.defined() ? sum + outputs : outputs;
  };
  for (std::int64_t y = 0; y < positions; ++y) {
    for (std::int64_t x = 0; x < positions; ++x) {
      const at::Tensor moved = padded.slice(2, y, y + height).slice(3, x, x + width);
      add(moved);
      if (views.mirror) add(moved.flip({3}));
    }
  }
  return sum / (positions * positions * (views.mirror ? 2 : 1));
}

}  // namespace lockstep::train
