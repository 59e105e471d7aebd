// What pictures are, and whether a model takes them.
#include <algorithm>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/decode.h>
#include <lockstep/data/first_good.h>
#include <lockstep/data/pipeline.h>

#include "sources_parts.h"

namespace lockstep::train {
namespace {

class SomePictures final : public data::PictureSet {
 public:
  SomePictures(std::shared_ptr<const PictureSet> pictures, std::int64_t count)
      : pictures_(std::move(pictures)), count_(count) {}

  std::int64_t size() const override { return count_; }
  data::Picture get(std::int64_t index) const override { return pictures_->get(place(index)); }
  std::string name(std::int64_t index) const override { return pictures_->name(place(index)); }
  const std::vector<std::string>& classes() const override { return pictures_->classes(); }

 private:
  std::int64_t place(std::int64_t index) const {
    // Whole steps and the rest apart, so that nothing overflows.
    const std::int64_t size = pictures_->size();
    return index * (size / count_) + index * (size % count_) / count_;
  }

  const std::shared_ptr<const PictureSet> pictures_;
  const std::int64_t count_;
};

PictureKind kind_of(const data::Picture& picture) {
  if (picture.form == data::Picture::Form::kEncoded) return {.size = data::picture_size(picture.bytes)};
  return {.size = {picture.width, picture.height}, .channels = picture.channels};
}

// Whether a copy of the model, which is not changed, can be given a sample of that shape.
bool takes(const nn::Model& model, const std::vector<std::int64_t>& shape) {
  // A copy is made with random parameters first. Those who draw after it must not notice.
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const at::Tensor before = generator.get_state();
  const auto copy = std::dynamic_pointer_cast<nn::Model>(model.clone());
  generator.set_state(before);
  const auto parameters = copy->parameters();
  const at::TensorOptions options = parameters.empty() ? at::TensorOptions() : parameters.front().options();
  std::vector<std::int64_t> batch = shape;
  batch.insert(batch.begin(), 1);
  copy->eval();
  const at::NoGradGuard no_gradients;
  try {
    copy->forward(at::zeros(batch, options.requires_grad(false)));
    return true;
  } catch (const c10::Error&) {
    return false;
  }
}

}  // namespace

std::shared_ptr<const data::PictureSet> some_pictures(std::shared_ptr<const data::PictureSet> pictures,
                                                      std::int64_t count) {
  if (count <= 0 || count >= pictures->size()) return pictures;
  return std::make_shared<SomePictures>(std::move(pictures), count);
}

PictureKind kind_of(const data::PictureSet& pictures, std::int64_t tries) {
  return data::first_good(pictures.size(), tries, [&](std::int64_t sample) {
    const data::Picture picture = pictures.get(sample);
    try {
      return kind_of(picture);
    } catch (const data::SampleError& error) {
      throw error.of(pictures.name(sample));
    }
  });
}

void require_pictures_taken(const nn::Model& model, const std::string& name) {
  const auto& shape = model.input_shape();
  if (shape.size() == 3 && (shape[0] == 1 || shape[0] == 3)) return;
  throw UsageError({.message = fmt::format("the model '{}' does not take pictures", name),
                    .found = fmt::format("an input of {}", fmt::join(shape, " x ")),
                    .expected = "1 or 3 channels, a height and a width",
                    .next = "take another model, or train on random numbers (--data synthetic)"});
}

void require_classes(const nn::Model& model, std::int64_t classes, bool mixing) {
  const std::int64_t own = model.num_classes();
  if (classes == own || (classes < own && !mixing)) return;
  throw UsageError({.message = classes > own
                                   ? "the data has more classes than the model"
                                   : "with mixup or cutmix the model must have exactly the classes of the data",
                    .found = fmt::format("{} of the model", own),
                    .expected = fmt::format("{}, as the data has", classes),
                    .next = fmt::format("set model.classes to {}, or leave it out", classes)});
}

std::vector<std::int64_t> require_taken(const nn::Model& model, const data::Transforms& transforms,
                                        const PictureKind& pictures, const char* key) {
  const data::Pipeline pipeline(transforms);
  const data::ImageSize size = pipeline.output_size(pictures.size);
  std::vector<std::int64_t> shape = {pipeline.channels(), size.height, size.width};
  const auto& own = model.input_shape();
  if (shape == own || (shape[0] == own[0] && takes(model, shape))) return shape;
  throw UsageError({.message = fmt::format("the model does not take what {} makes of the pictures", key),
                    .found = fmt::format("{} (channels x height x width)", fmt::join(shape, " x ")),
                    .expected = fmt::format("{}", fmt::join(own, " x ")),
                    .next = shape[0] == own[0]
                                ? fmt::format("add a resize or a crop to {}", key)
                                : fmt::format("put 'grayscale: {{num_output_channels: {}}}' into {}, or set "
                                              "model.input_channels to {}",
                                              own[0], key, shape[0])});
}

}  // namespace lockstep::train
