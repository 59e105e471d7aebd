#include "pixel_plan.h"

#include <lockstep/base/errors.h>

namespace lockstep::data {
namespace {

void cut(PixelPlan::Axis& axis, int begin, int count) {
  axis.first += axis.step * begin;
  axis.count = count;
}

void mirror(PixelPlan::Axis& axis) {
  axis.first += axis.step * (axis.count - 1);
  axis.step = -axis.step;
}

void add(PixelPlan& plan, const Operation& operation) {
  if (std::holds_alternative<Grayscale>(operation)) return;  // the pictures are gray already
  if (const auto* crop = std::get_if<Crop>(&operation);
      crop != nullptr && crop->mode == PadMode::kConstant && crop->fill == Fill{}) {
    cut(plan.x, crop->region.left, crop->region.width);
    cut(plan.y, crop->region.top, crop->region.height);
  } else if (const auto* flip = std::get_if<Flip>(&operation)) {
    if (flip->horizontal) mirror(plan.x);
    if (flip->vertical) mirror(plan.y);
  } else if (const auto* erase = std::get_if<Erase>(&operation); erase != nullptr && !erase->noise && !plan.erasure) {
    plan.erasure = *erase;
  } else {
    throw UsageError(
        {.message = "a data set in a device's memory is only cropped, flipped, erased from and normalized there",
         .next = "leave the other transforms out, or let workers transform the pictures (cache: none)"});
  }
}

}  // namespace

PixelPlan plan_pixels(const Transforms& transforms, ImageSize size, RandomStream random) {
  PixelPlan plan{.x = {.count = size.width}, .y = {.count = size.height}, .erasure = {}};
  std::vector<Operation> operations;
  for (std::size_t i = 0; i < transforms.size(); ++i) {
    operations.clear();
    RandomStream own = random.fork(i);
    transforms[i]->draw({.width = static_cast<int>(plan.x.count), .height = static_cast<int>(plan.y.count)}, own,
                        operations);
    for (const Operation& operation : operations) add(plan, operation);
  }
  return plan;
}

}  // namespace lockstep::data
