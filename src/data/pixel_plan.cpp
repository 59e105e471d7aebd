#include "pixel_plan.h"

#include <algorithm>
#include <numeric>

#include <lockstep/base/errors.h>

#include "transforms/pixel_operations.h"

namespace lockstep::data {
namespace {

std::vector<int> all_of(int count) {
  std::vector<int> places(static_cast<std::size_t>(count));
  std::iota(places.begin(), places.end(), 0);
  return places;
}

std::vector<int> cut(const std::vector<int>& places, int begin, int count, PadMode mode) {
  std::vector<int> kept(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const int place = padded_source(begin + i, static_cast<int>(places.size()), mode);
    kept[static_cast<std::size_t>(i)] = place < 0 ? place : places[static_cast<std::size_t>(place)];
  }
  return kept;
}

void add(PixelPlan& plan, const Operation& operation) {
  if (const auto* crop = std::get_if<Crop>(&operation)) {
    plan.x = cut(plan.x, crop->region.left, crop->region.width, crop->mode);
    plan.y = cut(plan.y, crop->region.top, crop->region.height, crop->mode);
  } else if (const auto* flip = std::get_if<Flip>(&operation)) {
    if (flip->horizontal) std::reverse(plan.x.begin(), plan.x.end());
    if (flip->vertical) std::reverse(plan.y.begin(), plan.y.end());
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
  PixelPlan plan{.x = all_of(size.width), .y = all_of(size.height), .erasure = {}};
  std::vector<Operation> operations;
  for (std::size_t i = 0; i < transforms_.size(); ++i) {
    operations.clear();
    RandomStream own = random.fork(i);
    transforms_[i]->draw({.width = static_cast<int>(plan.x.size()), .height = static_cast<int>(plan.y.size())}, own,
                         operations);
    for (const Operation& operation : operations) add(plan, operation);
  }
  return plan;
}

}  // namespace lockstep::data
