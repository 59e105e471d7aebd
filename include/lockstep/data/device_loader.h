// Batches from a data set that lies whole in a device's memory.
#pragma once
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include <lockstep/data/batch_source.h>
#include <lockstep/data/decoded_pictures.h>
#include <lockstep/data/mix.h>
#include <lockstep/data/picture.h>
#include <lockstep/data/transform.h>

namespace lockstep::data {

class PixelPlanner;
struct PixelPlan;

// For sets that fit there, such as CIFAR and MNIST. Crops, flips, erasures, the normalization and mixing are done by
// the device, a batch at a time, and nothing but the places of rows and columns is sent to it. Each picture gets the
// augmentation that a Loader with the same transforms would give it in that epoch, and is mixed as there. next() does
// not wait for the device; its batch is for the stream that was current.
class DeviceLoader final : public BatchSource {
 public:
  // Decodes all pictures and puts them on `device`. Throws UsageError for pictures of different sizes, and for
  // transforms other than random_crop, center_crop and pad with black or with the picture again (edge, reflect,
  // symmetric), random_horizontal_flip, random_vertical_flip, grayscale to one channel, normalize, and one
  // random_erasing with a fixed value.
  DeviceLoader(const PictureSet& pictures, const Transforms& transforms, DistributedSampler sampler,
               std::int64_t batch_size, at::Device device, const DecodingOptions& decoding = {},
               const Mixing& mixing = {});
  ~DeviceLoader() override;

  void set_epoch(std::int64_t epoch) override { sampler_.set_epoch(epoch); }
  std::optional<Batch> next() override;
  std::int64_t batches() const override { return sampler_.steps(batch_size_); }
  SamplerState state() const override { return sampler_.state(); }
  void restore(const SamplerState& state) override { sampler_.restore(state); }

 private:
  void erase(at::Tensor& numbers, const std::vector<PixelPlan>& plans) const;
  at::Tensor mix(at::Tensor& numbers, const at::Tensor& labels, RandomStream random) const;

  std::unique_ptr<const PixelPlanner> planner_;
  DistributedSampler sampler_;
  const std::int64_t batch_size_;
  const at::Device device_;
  const Mixing mixing_;
  const std::int64_t classes_;
  ImageSize size_;  // of the pictures
  std::vector<std::int64_t> labels_;
  // uint8: the rows of all pictures (each with a black pixel behind it) and a black one behind them, x columns x
  // channels. What lies outside of a picture is taken from there.
  at::Tensor rows_;
  at::Tensor factor_, term_;  // of the normalization: pixel * factor + term
};

}  // namespace lockstep::data
