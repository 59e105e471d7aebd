// Batches on a GPU: copied from pinned memory while it computes, or made there, with the bits that the CPU has.
#include <ATen/ops/allclose.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <lockstep/data/device_loader.h>
#include <lockstep/data/loader.h>
#include <lockstep/data/synthetic.h>

namespace lockstep::data {
namespace {

constexpr std::int64_t kSize = 300;

std::shared_ptr<const PictureSet> pictures() {
  return std::make_shared<SyntheticPictures>(
      SyntheticOptions{.count = kSize, .width = 32, .height = 32, .classes = 10});
}

Transforms transforms() {
  return {random_crop({.size = {32, 32}, .padding = {4, 4, 4, 4}}), random_horizontal_flip(),
          normalize({.mean = {0.5, 0.4, 0.3}, .deviation = {0.2, 0.25, 0.3}}), random_erasing({})};
}

DistributedSampler sampler() {
  return DistributedSampler(kSize, {}, {.tail = Tail::kUneven, .seed = 5});
}

TEST(GpuLoader, GivesWhatTheCpuHasWhileTheGpuIsBusy) {
  for (const double mix_up : {0.0, 0.4}) {
    Loader on_cpu(pictures(), Pipeline(transforms()), sampler(), {.batch_size = 32, .mixing = {.mix_up = mix_up}});
    Loader on_gpu(pictures(), Pipeline(transforms()), sampler(),
                  {.batch_size = 32, .workers = 4, .device = at::Device(at::kCUDA, 0), .mixing = {.mix_up = mix_up}});
    at::Tensor work = at::randn({2048, 2048}, at::kCUDA);
    for (int epoch = 0; epoch < 3; ++epoch) {
      on_cpu.set_epoch(epoch);
      on_gpu.set_epoch(epoch);
      while (const auto expected = on_cpu.next()) {
        const auto batch = on_gpu.next();
        ASSERT_TRUE(batch);
        for (int i = 0; i < 8; ++i) work = work.mm(work).tanh();
        EXPECT_TRUE(batch->data.is_cuda());
        EXPECT_TRUE(batch->data.is_contiguous(at::MemoryFormat::ChannelsLast));
        EXPECT_TRUE(batch->data.cpu().equal(expected->data));
        EXPECT_TRUE(batch->target.cpu().equal(expected->target));
      }
      EXPECT_FALSE(on_gpu.next());
    }
  }
}

class GpuDeviceLoader : public ::testing::TestWithParam<Mixing> {};

TEST_P(GpuDeviceLoader, GivesWhatALoaderGives) {
  const auto set = pictures();
  Loader on_cpu(set, Pipeline(transforms()), sampler(), {.batch_size = 32, .mixing = GetParam()});
  DeviceLoader on_gpu(*set, transforms(), sampler(), 32, at::Device(at::kCUDA, 0), {}, GetParam());
  for (int epoch = 0; epoch < 2; ++epoch) {
    on_cpu.set_epoch(epoch);
    on_gpu.set_epoch(epoch);
    while (const auto expected = on_cpu.next()) {
      const auto batch = on_gpu.next();
      ASSERT_TRUE(batch);
      EXPECT_TRUE(batch->data.is_cuda());
      const at::Tensor target = batch->target.cpu();
      EXPECT_TRUE(GetParam().any() ? at::allclose(target, expected->target, 1e-6, 1e-6)
                                   : target.equal(expected->target));
      // One multiplies and adds what the other subtracts and divides.
      EXPECT_TRUE(at::allclose(batch->data.cpu(), expected->data, 1e-5, 1e-5));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Mixing, GpuDeviceLoader,
                         ::testing::Values(Mixing{}, Mixing{.mix_up = 1}, Mixing{.cut_mix = 1, .chance = 0.5}),
                         [](const auto& mixing) {
                           return mixing.param.mix_up > 0 ? "MixUp" : mixing.param.cut_mix > 0 ? "CutMix" : "None";
                         });

}  // namespace
}  // namespace lockstep::data
