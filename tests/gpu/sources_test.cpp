// A config's data on a GPU: the samples that a CPU has, and nobody waits for them.
#include <lockstep/train/sources.h>

#include <ATen/ops/allclose.h>
#include <gtest/gtest.h>

#include <lockstep/data/device_loader.h>
#include <lockstep/data/synthetic.h>

#include "no_waiting.h"
#include "small_data.h"
#include "world.h"

namespace lockstep::test {
namespace {

const at::Device kGpu(at::kCUDA, 0);

train::Sources sources_of(const train::RunConfig& config, at::Device device) {
  return make_sources(config, train::OpenedData(config.data, world()), *make_net(), world(), device, 8);
}

void expect_same(data::BatchSource& on_gpu, data::BatchSource& on_cpu) {
  while (const auto expected = on_cpu.next()) {
    const auto batch = on_gpu.next();
    ASSERT_TRUE(batch);
    EXPECT_TRUE(batch->data.is_cuda());
    EXPECT_EQ(batch->samples, expected->samples);
    EXPECT_TRUE(batch->target.cpu().equal(expected->target));
    EXPECT_EQ(batch->data.strides(), expected->data.strides());
    // A GPU may add and multiply in one step.
    EXPECT_TRUE(at::allclose(batch->data.cpu(), expected->data, 1e-5, 1e-5));
  }
  EXPECT_FALSE(on_gpu.next());
}

TEST(GpuSources, AreThoseOfACpu) {
  for (const char* path : {"synthetic", "synthetic:32x32:50"}) {
    for (const char* cache : {"none", "memory", "device"}) {
      for (const char* layout : {"channels-last", "contiguous"}) {
        SCOPED_TRACE(testing::Message() << path << ", " << cache << ", " << layout);
        train::RunConfig config;
        config.layout = layout;
        config.data.path = path;
        config.data.samples = 43;
        config.data.cache = cache;
        config.data.tail = "uneven";
        train::Sources on_gpu = sources_of(config, kGpu), on_cpu = sources_of(config, at::kCPU);
        for (int epoch = 0; epoch < 2; ++epoch) {
          for (const auto split : {&train::Sources::train, &train::Sources::test}) {
            (on_gpu.*split)->set_epoch(epoch);
            (on_cpu.*split)->set_epoch(epoch);
            expect_same(*(on_gpu.*split), *(on_cpu.*split));
          }
        }
      }
    }
  }
}

TEST(GpuSources, NobodyWaitsForDataThatLiesOnTheGpu) {
  const data::SyntheticPictures pictures({.count = 64, .width = 32, .height = 32, .classes = 3});
  data::DeviceLoader loader(pictures,
                            {data::random_crop({.size = {32, 32}, .padding = {4, 4, 4, 4}}),
                             data::random_horizontal_flip(), data::normalize({}), data::random_erasing({})},
                            data::DistributedSampler(64, {}), 8, kGpu);
  train::RunConfig config;
  config.data.path = "synthetic";
  const train::Sources random = sources_of(config, kGpu);
  // The first ones take memory, which may be waited for.
  loader.next();
  random.train->next();
  const NoWaiting no_waiting;
  for (int i = 0; i < 4; ++i) {
    loader.next();
    random.train->next();
  }
}

}  // namespace
}  // namespace lockstep::test
