// Normalization over several ranks beside plain normalization of the batches of all of them.
#pragma once
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/comm/group.h>
#include <lockstep/nn/batch_norm.h>

namespace lockstep::test {

struct NormCase {
  std::vector<std::int64_t> sample;   // the shape of one sample: channels, then the rest
  std::vector<std::int64_t> batches;  // samples of each rank
  torch::nn::BatchNormOptions options = torch::nn::BatchNormOptions(sample.front());
  at::TensorOptions input = torch::kDouble;
  at::ScalarType parameters = torch::kDouble;
  at::MemoryFormat layout = at::MemoryFormat::Contiguous;
  double tolerance = 1e-12;  // relative to the largest value
};

inline void expect_near(const std::string& what, const at::Tensor& found, const at::Tensor& expected,
                        double tolerance) {
  ASSERT_EQ(found.sizes(), expected.sizes()) << what;
  if (expected.numel() == 0) return;
  const auto a = found.detach().to(torch::kCPU, torch::kDouble), b = expected.detach().to(torch::kCPU, torch::kDouble);
  const double scale = std::max(b.abs().max().item<double>(), 1e-3);
  EXPECT_LE((a - b).abs().max().item<double>() / scale, tolerance) << what;
}

inline void randomize(const torch::nn::Module& module) {
  torch::NoGradGuard no_gradients;
  for (auto& parameter : module.parameters()) parameter.uniform_(0.5, 1.5);
}

// Three training passes of `synced`, a module of one normalization, on this rank's samples; and of a plain
// normalization in float64 on those of all ranks.
template <typename Synced>
void expect_as_one_batch(const NormCase& test, Synced& synced, const Group& group) {
  nn::BatchNorm plain(test.options);
  plain->to(torch::kDouble);
  torch::manual_seed(5);
  randomize(*plain);
  {
    torch::NoGradGuard no_gradients;
    for (std::size_t i = 0; i < plain->parameters().size(); ++i) {
      synced->parameters()[i].copy_(plain->parameters()[i]);
    }
  }
  const std::int64_t total = std::accumulate(test.batches.begin(), test.batches.end(), std::int64_t{0});
  const std::int64_t before =
      std::accumulate(test.batches.begin(), test.batches.begin() + group.rank(), std::int64_t{0});
  const std::int64_t own = test.batches[static_cast<std::size_t>(group.rank())];
  std::vector<std::int64_t> shape = test.sample;
  shape.insert(shape.begin(), total);
  for (int step = 0; step < 3; ++step) {
    // Rounded to the type under test first, so that both see the same numbers.
    const auto rounded = [&] { return torch::randn(shape, torch::kDouble).to(test.input.dtype()).to(torch::kDouble); };
    at::Tensor all = (rounded() * 2 + 3).to(test.input.dtype()).to(torch::kDouble).requires_grad_();
    const at::Tensor gradient = rounded();
    at::Tensor mine = all.detach().narrow(0, before, own).to(test.input).contiguous(test.layout).requires_grad_();
    plain->zero_grad();
    synced->zero_grad();
    const at::Tensor expected = plain(all), found = synced->forward(mine);
    expected.backward(gradient);
    found.backward(gradient.narrow(0, before, own).to(test.input).contiguous(test.layout));

    EXPECT_EQ(found.scalar_type(), mine.scalar_type());
    EXPECT_EQ(found.suggest_memory_format(), mine.suggest_memory_format());
    expect_near("output", found, expected.narrow(0, before, own), test.tolerance);
    expect_near("input's gradient", mine.grad(), all.grad().narrow(0, before, own), test.tolerance);
    for (const auto& parameter : synced->named_parameters()) {
      at::Tensor sum = parameter->grad().to(torch::kDouble);
      group.all_reduce(sum);
      const std::string last = parameter.key().substr(parameter.key().rfind('.') + 1);
      expect_near(parameter.key(), sum, plain->named_parameters()[last].grad(), test.tolerance);
    }
    for (const auto& buffer : synced->named_buffers()) {
      const std::string last = buffer.key().substr(buffer.key().rfind('.') + 1);
      expect_near(buffer.key(), buffer.value(), plain->named_buffers()[last], test.tolerance);
    }
  }
}

}  // namespace lockstep::test
