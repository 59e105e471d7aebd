// A small net and its data in float64, for tests that compare N ranks of batch b with one rank of batch N·b.
#pragma once
#include <algorithm>

#include <torch/torch.h>

namespace lockstep::test {

struct SmallNetImpl : torch::nn::Module {
  SmallNetImpl() { to(torch::kDouble); }
  torch::Tensor forward(const torch::Tensor& x) {
    return output(torch::relu(hidden(torch::relu(convolution(x)).flatten(1))));
  }
  torch::nn::Conv2d convolution = register_module("convolution", torch::nn::Conv2d(torch::nn::Conv2dOptions(2, 5, 3)));
  torch::nn::Linear hidden = register_module("hidden", torch::nn::Linear(5 * 6 * 6, 17));
  torch::nn::Linear output = register_module("output", torch::nn::Linear(17, 3));
};
TORCH_MODULE(SmallNet);

inline constexpr int kSteps = 20;
inline constexpr std::int64_t kRankBatch = 4;

struct Samples {
  torch::Tensor inputs, labels;
};

// The samples of all ranks at one step; rank r takes rows [r, r + 1) * kRankBatch of them.
inline Samples global_batch(int step, int ranks) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(1000 + static_cast<std::uint64_t>(step));
  return {torch::randn({kRankBatch * ranks, 2, 8, 8}, generator, torch::kDouble),
          torch::randint(3, {kRankBatch * ranks}, generator, torch::kLong)};
}

inline Samples rank_batch(int step, int rank, int ranks) {
  const Samples all = global_batch(step, ranks);
  return {all.inputs.narrow(0, rank * kRankBatch, kRankBatch), all.labels.narrow(0, rank * kRankBatch, kRankBatch)};
}

inline torch::Tensor loss_of(const torch::Tensor& outputs, const Samples& samples) {
  return torch::nn::functional::cross_entropy(outputs, samples.labels);
}

// The largest difference between the parameters of two modules of one kind, relative to their largest value.
inline double difference(const torch::nn::Module& a, const torch::nn::Module& b) {
  double largest = 0;
  const auto of_a = a.parameters(), of_b = b.parameters();
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    const double scale = of_b[i].detach().abs().max().item<double>();
    largest = std::max(largest, (of_a[i] - of_b[i]).detach().abs().max().item<double>() / scale);
  }
  return largest;
}

}  // namespace lockstep::test
