#include "pixel_plan.h"

#include <algorithm>

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
  if (const auto* crop = std::get_if<Crop>(&operation)) {
    cut(plan.x, crop->region.left, crop->region.width);
    cut(plan.y, crop->region.top, crop->region.height);
  } else if (const auto* flip = std::get_if<Flip>(&operation)) {
    if (flip->horizontal) mirror(plan.x);
    if (flip->vertical) mirror(plan.y);
  } else if (const auto* erase = std::get_if<Erase>(&operation)) {
    plan.erasure = *erase;
  }
}

void require_simple(const Transforms& transforms) {
  const bool simple = std::all_of(transforms.begin(), transforms.end(),
                                  [](const TransformPtr& transform) { return transform->suits_devices(); });
  const auto erasing = std::count_if(transforms.begin(), transforms.end(),
                                     [](const TransformPtr& transform) { return transform->after_normalization(); });
  if (simple && erasing <= 1) return;
  throw UsageError(
      {.message = "a data set in a device's memory is only cropped, flipped, erased from once and normalized there",
       .next = "leave the other transforms out, or let workers transform the pictures: a Loader, or data.cache: memory "
               "in a config"});
}

}  // namespace

PixelPlanner::PixelPlanner(Transforms transforms) : transforms_(std::move(transforms)) {
  require_simple(transforms_);
}

PixelPlan PixelPlanner::plan(ImageSize size, RandomStream random) const {
  PixelPlan plan{.x = {.count = size.width}, .y = {.count = size.height}, .erasure = {}};
  std::vector<Operation> operations;
  for (std::size_t i = 0; i < transforms_.size(); ++i) {
    operations.clear();
    RandomStream own = random.fork(i);
    transforms_[i]->draw({.width = static_cast<int>(plan.x.count), .height = static_cast<int>(plan.y.count)}, own,
                         operations);
    for (const Operation& operation : operations) add(plan, operation);
  }
  return plan;
}

}  // namespace lockstep::data
