#include <lockstep/data/dataset.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/pipeline.h>

#include "picture_size.h"

namespace lockstep::data {
namespace {

class TensorRows : public Dataset {
 public:
  TensorRows(at::Tensor data, at::Tensor targets) : data_(std::move(data)), targets_(std::move(targets)) {}
  std::int64_t size() const override { return data_.size(0); }
  Sample get(std::int64_t index) const override { return {.data = data_[index], .target = targets_[index]}; }

 private:
  at::Tensor data_, targets_;
};

class DecodedPictures : public Dataset {
 public:
  DecodedPictures(std::shared_ptr<const PictureSet> pictures, int channels)
      : pictures_(std::move(pictures)), pipeline_(channels == 1 ? Transforms{grayscale()} : Transforms{}) {}
  std::int64_t size() const override { return pictures_->size(); }

  Sample get(std::int64_t index) const override {
    const Picture picture = pictures_->get(index);
    try {
      const ImageSize size = size_of(picture);
      const at::Tensor rows = at::empty({size.height, size.width, pipeline_.channels()}, at::kByte);
      Pipeline::Scratch scratch;
      pipeline_.run(picture, RandomStream(0, 0, 0), scratch,
                    std::span(rows.mutable_data_ptr<std::uint8_t>(), static_cast<std::size_t>(rows.numel())));
      return {.data = rows.permute({2, 0, 1}), .target = at::scalar_tensor(picture.label, at::kLong)};
    } catch (const SampleError& error) {
      throw error.of(pictures_->name(index));
    }
  }

 private:
  std::shared_ptr<const PictureSet> pictures_;
  Pipeline pipeline_;
};

}  // namespace

DatasetPtr tensor_dataset(at::Tensor data, at::Tensor targets) {
  if (data.dim() == 0 || targets.dim() == 0 || data.size(0) != targets.size(0)) {
    throw UsageError({.message = "a data set needs one target for each of its rows",
                      .found = fmt::format("data of {} and targets of {}", fmt::streamed(data.sizes()),
                                           fmt::streamed(targets.sizes()))});
  }
  return std::make_shared<TensorRows>(std::move(data), std::move(targets));
}

DatasetPtr decoded(std::shared_ptr<const PictureSet> pictures, int channels) {
  if (channels != 1 && channels != 3) {
    throw UsageError({.message = "pictures are decoded in color or in gray",
                      .found = fmt::format("{} channels", channels),
                      .expected = "3 or 1"});
  }
  return std::make_shared<DecodedPictures>(std::move(pictures), channels);
}

}  // namespace lockstep::data
