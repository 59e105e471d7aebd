// Memory that a recorded step fills, whoever does it in the end.
#include <cuda_runtime_api.h>

#include <gmock/gmock.h>

#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include <lockstep/gpu/step_graph.h>
#include <lockstep/gpu/work_stream.h>

namespace lockstep {
namespace {

struct Fill {
  std::int64_t begin, bytes;  // of the memory
  int value;                  // of each byte
};

// Words and parts of them, at addresses that are multiples of four or not, little and much.
const std::vector<Fill> kFills = {{0, 4, 0},     {8, 1024, 0},       {1040, 4096, 0xa5},         {6000, 6, 7},
                                  {6010, 40, 3}, {8192, 1 << 20, 9}, {2 << 20, (1 << 20) + 4, 0}};

TEST(GraphFills, FillWhatTheStepFilled_AndNothingElse) {
  const at::Device gpu(at::kCUDA, 0);
  const gpu::WorkStream stream(gpu);
  const auto on_stream = stream.enter();
  const at::Tensor memory = at::full({4 << 20}, 77, at::TensorOptions(at::kByte).device(gpu));
  at::Tensor expected = memory.cpu();
  for (const Fill& fill : kFills) expected.slice(0, fill.begin, fill.begin + fill.bytes).fill_(fill.value);
  gpu::StepGraph graph(
      [&] {
        for (const Fill& fill : kFills) {
          C10_CUDA_CHECK(cudaMemsetAsync(memory.mutable_data_ptr<std::uint8_t>() + fill.begin, fill.value,
                                         static_cast<std::size_t>(fill.bytes),
                                         c10::cuda::getCurrentCUDAStream().stream()));
        }
        memory.add_(at::ones_like(memory));  // what comes behind sees what was filled
      },
      {.warm_ups = 1});
  for (int run = 0; run < 3; ++run) {
    memory.fill_(77);
    graph.run();
    EXPECT_TRUE(at::equal(memory.cpu(), expected + 1)) << "run " << run;
  }
  EXPECT_TRUE(graph.recorded());
}

}  // namespace
}  // namespace lockstep
