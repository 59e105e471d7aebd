// Batches from a data set that lies whole in a device's memory.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <lockstep/data/batch_source.h>
#include <lockstep/data/picture.h>
#include <lockstep/data/transform.h>

namespace lockstep::data {

class PixelPlanner;

// For sets that fit there, such as CIFAR and MNIST. Crops, flips, erasures and the normalization are done by the
// device, a batch at a time, and nothing but a few numbers a picture is sent to it. Each picture gets the augmentation
// that a Loader with the same transforms would give it in that epoch.
class DeviceLoader final : public BatchSource {
 public:
  // Decodes all pictures and puts them on `device`. Throws UsageError for pictures of different sizes, and for
  // transforms other than random_crop, center_crop and pad with black, random_horizontal_flip, random_vertical_flip,
  // grayscale to one channel, normalize, and one random_erasing with a fixed value.
  DeviceLoader(const PictureSet& pictures, const Transforms& transforms, DistributedSampler sampler,
               std::int64_t batch_size, at::Device device);
  ~DeviceLoader() override;

  void set_epoch(std::int64_t epoch) override { sampler_.set_epoch(epoch); }
  std::optional<Batch> next() override;
  std::int64_t batches() const override { return sampler_.steps(batch_size_); }
  SamplerState state() const override { return sampler_.state(); }
  void restore(const SamplerState& state) override { sampler_.restore(state); }

 private:
  std::unique_ptr<const PixelPlanner> planner_;
  DistributedSampler sampler_;
  const std::int64_t batch_size_;
  const at::Device device_;
  at::Tensor pictures_;       // uint8, N x height x width x channels
  at::Tensor labels_;         // int64, N
  at::Tensor factor_, term_;  // of the normalization: pixel * factor + term
};

}  // namespace lockstep::data
