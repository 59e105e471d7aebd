#include "batches.h"

#include <utility>

#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/augmentation.h>
#include <lockstep/data/open_pictures.h>

namespace lockstep::bench {
namespace {

// Pictures of any size and color as the model takes them.
data::Transforms transforms_for(const std::vector<std::int64_t>& shape) {
  const data::ImageSize size{.width = static_cast<int>(shape[2]), .height = static_cast<int>(shape[1])};
  auto transforms = data::usual_transforms(static_cast<int>(shape[0]), size, data::Split::kTrain);
  if (shape[0] == 1) transforms.insert(transforms.begin(), data::resize(size));
  return transforms;
}

std::unique_ptr<data::Loader> open_loader(const StepOptions& options, const Group& group,
                                          const std::vector<std::int64_t>& shape, std::int64_t classes) {
  if (shape.size() != 3 || (shape[0] != 1 && shape[0] != 3)) {
    throw UsageError(fmt::format("the model '{}' does not take pictures", options.model));
  }
  const std::shared_ptr<const data::PictureSet> pictures = data::open_pictures(options.pictures);
  if (std::cmp_greater(pictures->classes().size(), classes)) {
    throw UsageError({.message = "the pictures have more classes than the model",
                      .found = std::to_string(pictures->classes().size()),
                      .expected = fmt::format("at most {}", classes),
                      .next = "give --classes"});
  }
  if (pictures->size() / group.size() < options.batch) {
    throw UsageError({.message = "there are fewer pictures than a batch needs",
                      .found = std::to_string(pictures->size()),
                      .expected = fmt::format("at least {} for each of {} ranks", options.batch, group.size()),
                      .next = "give a smaller --batch"});
  }
  data::DistributedSampler sampler(pictures->size(), {group.rank(), group.size()});
  return std::make_unique<data::Loader>(
      pictures, data::Pipeline(transforms_for(shape)), std::move(sampler),
      data::LoaderOptions{.batch_size = options.batch, .workers = options.workers, .device = options.device});
}

}  // namespace

Batches::Batches(const StepOptions& options, const Group& group, const std::vector<std::int64_t>& shape,
                 std::int64_t classes)
    : size_(options.batch) {
  if (!options.pictures.empty()) loader_ = open_loader(options, group, shape, classes);
  std::vector<std::int64_t> batch_shape = shape;
  batch_shape.insert(batch_shape.begin(), options.batch);
  batch_.data = at::randn(batch_shape, options.device);
  batch_.target = at::randint(classes, {options.batch}, at::TensorOptions(at::kLong).device(options.device));
  if (!options.recipe.channels_last) return;
  if (shape.size() == 3) batch_.data = batch_.data.contiguous(at::MemoryFormat::ChannelsLast);
  if (shape.size() == 4) batch_.data = batch_.data.contiguous(at::MemoryFormat::ChannelsLast3d);
}

void Batches::next() {
  if (!loader_) return;
  auto batch = loader_->next();
  if (!batch || batch->data.size(0) < size_) {
    loader_->set_epoch(loader_->state().epoch + 1);
    batch = loader_->next();
  }
  batch_ = std::move(*batch);
}

std::chrono::duration<double> Batches::waited() const {
  return loader_ ? loader_->stats().waiting : std::chrono::duration<double>();
}

}  // namespace lockstep::bench
