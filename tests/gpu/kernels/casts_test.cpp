// Weights that are cast together, beside autocast, which casts them one by one.
#include <lockstep/amp/autocast.h>
#include <lockstep/kernels/casts.h>
#include <lockstep/kernels/engine.h>

#include "norm_cases.h"

namespace lockstep::kernels {
namespace {

class CudaCasts : public OnGpu {
 protected:
  const std::vector<at::Tensor> weights_ = {torch::randn({40, 30}, at::kCUDA).requires_grad_(),
                                            channels_last(torch::randn({16, 8, 3, 3}, at::kCUDA)).requires_grad_(),
                                            torch::randn({3000, 2000}, at::kCUDA).requires_grad_(),
                                            torch::randn({7, 5}, at::kCUDA).requires_grad_()};
};

// One by one in the first pass, then together.
TEST_F(CudaCasts, AreThereInEveryPass) {
  const amp::Autocast autocast(at::kCUDA, at::kBFloat16);
  CastTogether casts;
  for (int i = 0; i < 3; ++i) {
    const CastTogether::Pass pass(casts);
    std::vector<at::Tensor> outputs, gradients;
    for (const at::Tensor& weight : weights_) {
      outputs.push_back(cast_of(weight));
      EXPECT_TRUE(at::equal(outputs.back(), weight.to(at::kBFloat16)));
      EXPECT_TRUE(cast_of(weight).is_same(outputs.back())) << "once in a pass";
      EXPECT_EQ(outputs.back().strides(), weight.strides());
      gradients.push_back(torch::randn_like(outputs.back()));
      weight.mutable_grad() = at::Tensor();
    }
    torch::autograd::backward(outputs, gradients);
    for (std::size_t w = 0; w < weights_.size(); ++w) {
      EXPECT_EQ(weights_[w].grad().scalar_type(), at::kFloat);
      EXPECT_TRUE(at::equal(weights_[w].grad(), gradients[w].to(at::kFloat)));
    }
  }
  EXPECT_TRUE(cast_of(weights_[0]).is_same(weights_[0])) << "outside of a pass";
}

TEST_F(CudaCasts, HaveNoGradientWhereNobodyGaveOne) {
  const amp::Autocast autocast(at::kCUDA, at::kBFloat16);
  CastTogether casts;
  for (int i = 0; i < 2; ++i) {
    const CastTogether::Pass pass(casts);
    for (const at::Tensor& weight : weights_) cast_of(weight);
    if (i == 1) cast_of(weights_[1]).sum().backward();
  }
  EXPECT_FALSE(weights_[0].grad().defined());
  EXPECT_TRUE(at::equal(weights_[1].grad(), at::ones_like(weights_[1])));
}

TEST_F(CudaCasts, AreNotMadeWithoutAutocast_NorByTheReferenceEngine) {
  CastTogether casts;
  for (int i = 0; i < 2; ++i) {
    const CastTogether::Pass pass(casts);
    EXPECT_TRUE(cast_of(weights_[0]).is_same(weights_[0]));
  }
  const amp::Autocast autocast(at::kCUDA, at::kBFloat16);
  set_engine(Engine::kReference);
  for (int i = 0; i < 2; ++i) {
    const CastTogether::Pass pass(casts);
    EXPECT_TRUE(cast_of(weights_[0]).is_same(weights_[0]));
  }
  set_engine(Engine::kFused);
}

}  // namespace
}  // namespace lockstep::kernels
