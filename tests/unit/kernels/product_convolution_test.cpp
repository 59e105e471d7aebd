// Convolutions under autocast by products of matrices, against libtorch's in doubles.
#include "kernels/cpu/product_convolution.h"

#include <ATen/ops/convolution.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/utils.h>

#include <lockstep/amp/autocast.h>
#include <lockstep/base/cpu.h>
#include <lockstep/base/errors.h>

namespace lockstep::kernels {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct Case {
  std::vector<std::int64_t> input, weight;
  std::int64_t stride = 1, padding = 0;
  bool relu = false, bias = false;
};

std::string describe(const Case& shape) {
  return c10::str(at::IntArrayRef(shape.input), " * ", at::IntArrayRef(shape.weight), ", stride ", shape.stride,
                  ", padding ", shape.padding, shape.relu ? ", relu" : "", shape.bias ? ", bias" : "");
}

ConvolutionOptions options_of(const Case& shape) {
  return {.stride = {shape.stride, shape.stride},
          .padding = {shape.padding, shape.padding},
          .dilation = {1, 1},
          .relu = shape.relu};
}

// Values that bfloat16 has.
at::Tensor values(at::IntArrayRef sizes) {
  const at::Tensor rounded = at::randn(sizes).to(at::kBFloat16).to(at::kFloat);
  return sizes.size() == 4 ? rounded.contiguous(at::MemoryFormat::ChannelsLast) : rounded;
}

at::Tensor in_double(const at::Tensor& tensor) {
  return tensor.detach().to(at::kDouble).requires_grad_();
}

// In parts of the largest: half of bfloat16's last place, or for what is no bfloat16 that of sums of floats.
void expect_near(const at::Tensor& found, const at::Tensor& wanted, double rounding, const std::string& what) {
  const double error = (found.to(at::kDouble) - wanted).abs().max().item<double>();
  EXPECT_LE(error, rounding * wanted.abs().max().item<double>()) << what;
}

class ProductConvolution : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cpu::kernel_level() != cpu::KernelLevel::kAvx512) GTEST_SKIP() << "this CPU has no AVX-512";
    torch::manual_seed(1);
  }
};

void expect_libtorchs(const Case& shape, at::ScalarType input_type) {
  const std::string what = describe(shape) + ", of " + c10::toString(input_type);
  const at::Tensor input = values(shape.input).to(input_type).requires_grad_();
  const at::Tensor weight = values(shape.weight).requires_grad_();
  const at::Tensor bias = shape.bias ? values({shape.weight[0]}).requires_grad_() : at::Tensor();
  const ConvolutionOptions options = options_of(shape);
  at::Tensor found;
  {
    const amp::Autocast autocast(at::kCPU, at::kBFloat16);
    ASSERT_TRUE(can_convolve(input, weight, options)) << what;
    found = convolve(input, weight, bias, options);
  }
  const at::Tensor exact_input = in_double(input), exact_weight = in_double(weight);
  const at::Tensor exact_bias = shape.bias ? in_double(bias) : at::Tensor();
  at::Tensor wanted = at::convolution(exact_input, exact_weight, shape.bias ? std::optional(exact_bias) : std::nullopt,
                                      options.stride, options.padding, options.dilation, false, {0, 0}, 1);
  // Where doubles may be on the other side of a ReLU's jump there is no gradient.
  const at::Tensor clear = shape.relu ? wanted.detach().abs() > 0.5 : at::ones_like(wanted);
  if (shape.relu) wanted = at::relu(wanted);
  EXPECT_EQ(found.scalar_type(), at::kBFloat16) << what;
  EXPECT_TRUE(found.is_contiguous(at::MemoryFormat::ChannelsLast)) << what;
  // A bias comes after a first rounding.
  expect_near(found.detach(), wanted.detach(), shape.bias ? 0x1p-7 : 0x1p-8, what);

  const at::Tensor gradient = (values(found.sizes()) * clear).to(at::kBFloat16);
  std::vector<at::Tensor> inputs = {input, weight}, exact_inputs = {exact_input, exact_weight};
  if (shape.bias) inputs.push_back(bias), exact_inputs.push_back(exact_bias);
  const auto gradients = torch::autograd::grad({found}, inputs, {gradient});
  const auto exact = torch::autograd::grad({wanted}, exact_inputs, {gradient.to(at::kDouble)});
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_EQ(gradients[i].scalar_type(), inputs[i].scalar_type()) << what;
    expect_near(gradients[i], exact[i], i == 2 ? 1e-6 : 0x1p-8, c10::str(what, ": gradient ", i));
  }
  EXPECT_TRUE(gradients[1].is_contiguous(at::MemoryFormat::ChannelsLast)) << what;
}

TEST_F(ProductConvolution, GivesWhatLibtorchGivesInDoubles) {
  for (const Case& shape :
       {Case{{1, 24, 3, 2}, {40, 24, 1, 1}}, Case{{3, 33, 1, 1}, {17, 33, 1, 1}},
        Case{{2, 64, 2, 3}, {31, 64, 1, 1}, 1, 0, true, true}, Case{{1, 20, 5, 3}, {311, 20, 1, 1}, 2},
        Case{{1, 17, 2, 2}, {32, 17, 3, 3}, 1, 1}, Case{{1, 18, 5, 4}, {40, 18, 3, 3}, 2, 1, true, false},
        Case{{2, 32, 4, 3}, {64, 32, 3, 3}, 1, 0, false, true}, Case{{1, 16, 3, 3}, {30, 16, 5, 5}, 1, 1}}) {
    for (const auto type : {at::kFloat, at::kBFloat16}) expect_libtorchs(shape, type);
  }
}

TEST_F(ProductConvolution, IsForManyWeightsOfFewPixels_UnderAutocastOnly) {
  const auto takes = [](std::vector<std::int64_t> input, std::vector<std::int64_t> weight, std::int64_t padding) {
    return can_product_convolve(values(input), values(weight).requires_grad_(),
                                options_of({.input = {}, .weight = {}, .padding = padding}));
  };
  EXPECT_FALSE(takes({1, 64, 1, 1}, {64, 64, 1, 1}, 0)) << "no autocast";
  const amp::Autocast autocast(at::kCPU, at::kBFloat16);
  EXPECT_TRUE(takes({1, 64, 1, 1}, {64, 64, 1, 1}, 0));
  EXPECT_FALSE(takes({4, 64, 3, 3}, {64, 64, 1, 1}, 0)) << "114 weights a pixel";
  EXPECT_FALSE(takes({4, 64, 4, 4}, {64, 64, 3, 3}, 1)) << "576 weights a pixel";
  EXPECT_FALSE(takes({1, 64, 1, 1}, {64, 64, 3, 3}, 0)) << "no pixel";
  const at::Tensor input = values({1, 64, 2, 1}), weight = values({64, 64, 1, 1}).requires_grad_();
  const ConvolutionOptions options = options_of({});
  EXPECT_FALSE(can_product_convolve(input, weight.detach(), options)) << "no gradient is wanted";
  EXPECT_FALSE(can_product_convolve(input.to(at::kDouble), weight, options));
  const amp::Autocast off(at::kCPU, std::nullopt);
  EXPECT_FALSE(can_product_convolve(input, weight, options));
}

TEST_F(ProductConvolution, RefusesASecondDerivative) {
  const at::Tensor input = values({1, 64, 1, 1}), weight = values({64, 64, 1, 1}).requires_grad_();
  at::Tensor output;
  {
    const amp::Autocast autocast(at::kCPU, at::kBFloat16);
    output = convolve(input, weight, {}, options_of({}));
  }
  EXPECT_THAT([&] { torch::autograd::grad({output.sum()}, {weight}, {}, true, /*create_graph=*/true); },
              ThrowsMessage<UsageError>(HasSubstr("second derivative")));
}

}  // namespace
}  // namespace lockstep::kernels
