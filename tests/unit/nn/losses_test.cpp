// Beside torch's own functions; the numbers of Python's are in parity/losses.py.
#include <lockstep/nn/losses.h>

#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/mix.h>

namespace lockstep::nn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<std::int64_t> values(const at::Tensor& counts) {
  return {counts.data_ptr<std::int64_t>(), counts.data_ptr<std::int64_t>() + counts.numel()};
}

TEST(CrossEntropy, OfAUniformGuessIsTheLogarithmOfTheClasses) {
  const at::Tensor loss = cross_entropy(torch::zeros({3, 8}), torch::tensor({0, 5, 7}));
  EXPECT_FLOAT_EQ(loss.item<float>(), std::log(8.0F));
}

TEST(CrossEntropy, OfSoftTargetsThatAreHardIsTheSame) {
  const at::Tensor scores = torch::randn({6, 5}), labels = torch::tensor({0, 1, 2, 3, 4, 0});
  for (const double smoothing : {0.0, 0.1, 1.0}) {
    const at::Tensor hard = cross_entropy(scores, labels, {.label_smoothing = smoothing});
    const at::Tensor soft =
        cross_entropy(scores, torch::one_hot(labels, 5).to(at::kDouble), {.label_smoothing = smoothing});
    EXPECT_NEAR(hard.item<double>(), soft.item<double>(), 1e-6) << smoothing;
  }
}

TEST(CrossEntropy, TakesWhatMixUpMakes) {
  std::vector<float> pixels(4), soft(2 * 3);
  const std::vector<std::int64_t> labels = {0, 2};
  data::mix_up({.share = 0.75}, pixels, labels, 3, soft);
  const at::Tensor scores = torch::randn({2, 3}, torch::kDouble), logs = torch::log_softmax(scores, 1);
  const double expected = -(0.75 * (logs[0][0] + logs[1][2]) + 0.25 * (logs[0][2] + logs[1][0])).item<double>() / 2;
  EXPECT_NEAR(cross_entropy(scores, torch::tensor(soft).view({2, 3})).item<double>(), expected, 1e-12);
}

TEST(CrossEntropy, ComputesInFloat32UnderAutocast) {
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const at::Tensor scores = torch::randn({4, 10}).to(at::kBFloat16).requires_grad_(),
                   labels = torch::tensor({1, 2, 3, 4});
  const at::Tensor loss = cross_entropy(scores, labels), error = mean_squared_error(scores, torch::ones({4, 10}));
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(loss.scalar_type(), at::kFloat);
  EXPECT_EQ(error.scalar_type(), at::kFloat);
  EXPECT_EQ(loss.item<float>(), torch::nn::functional::cross_entropy(scores.to(at::kFloat), labels).item<float>());
  loss.backward();
  EXPECT_EQ(scores.grad().scalar_type(), at::kBFloat16);
}

TEST(CrossEntropy, LeavesOutClassMinus100) {
  const auto scores = torch::tensor({{1.0F, 2.0F}, {3.0F, 1.0F}, {0.0F, 5.0F}});
  const auto loss = cross_entropy(scores, torch::tensor({0, -100, 1}));
  EXPECT_TRUE(loss.equal(cross_entropy(scores.index_select(0, torch::tensor({0, 2})), torch::tensor({0, 1}))));
  EXPECT_TRUE(cross_entropy(scores, torch::full({3}, -100, torch::kLong)).isnan().item<bool>());
}

TEST(CrossEntropy, RefusesTargetsThatDoNotFit) {
  const at::Tensor scores = torch::zeros({2, 3});
  const auto with = [&](const at::Tensor& targets) { return [&scores, targets] { cross_entropy(scores, targets); }; };
  EXPECT_THAT(with(torch::zeros({3}, at::kLong)), ThrowsMessage<UsageError>(HasSubstr("do not fit")));
  EXPECT_THAT(with(torch::zeros({2}, at::kInt)), ThrowsMessage<UsageError>(HasSubstr("Int of shape [2]")));
  EXPECT_THAT(with(torch::zeros({2, 4})), ThrowsMessage<UsageError>(HasSubstr("[2, 4]")));
  EXPECT_THAT(with(torch::tensor({0, 3})),
              ThrowsMessage<UsageError>(AllOf(HasSubstr("classes 0 to 3"), HasSubstr("0 to 2"))));
  EXPECT_THAT(
      [&] {
        cross_entropy(scores, torch::tensor({0, 1}), {.label_smoothing = 2});
      },
      ThrowsMessage<UsageError>(HasSubstr("0 to 1")));
}

TEST(MeanSquaredError, IsTheMeanAndDoesNotBroadcast) {
  EXPECT_EQ(mean_squared_error(torch::tensor({1.0, 2.0}), torch::tensor({1.0, 5.0})).item<double>(), 4.5);
  EXPECT_THAT(
      [] {
        mean_squared_error(torch::zeros({2, 1}), torch::zeros({2}));
      },
      ThrowsMessage<UsageError>(HasSubstr("[2, 1]")));
}

TEST(CountCorrect, CountsTopOneAndTopFiveInOnePass) {
  // The class of sample i has rank i.
  const at::Tensor scores = torch::arange(9, 0, -1).to(at::kFloat).expand({8, 9}), labels = torch::arange(8);
  const at::Tensor counts = count_correct(scores, labels);
  EXPECT_EQ(counts.scalar_type(), at::kLong);
  EXPECT_EQ(values(counts), (std::vector<std::int64_t>{1, 5}));
  EXPECT_EQ(values(count_correct(scores, labels, {8, 3, 1})), (std::vector<std::int64_t>{8, 3, 1}));
}

TEST(CountCorrect, WithFewerClassesThanKEveryOneIsAmongThem) {
  EXPECT_EQ(values(count_correct(torch::randn({7, 3}), torch::zeros({7}, at::kLong), {5})).front(), 7);
}

TEST(CountCorrect, ResolvesTiesAsTopkDoes) {
  const at::Tensor scores = torch::randint(3, {200, 10}).to(at::kFloat), labels = torch::randint(10, {200});
  for (const std::int64_t k : {1, 3}) {
    const at::Tensor highest = std::get<1>(scores.topk(k, 1));
    EXPECT_EQ(values(count_correct(scores, labels, {k})).front(),
              highest.eq(labels.unsqueeze(1)).sum().item<std::int64_t>());
  }
}

TEST(CountCorrect, ASoftTargetCountsByItsLargestClass) {
  const at::Tensor scores = torch::eye(3), soft = torch::tensor({{0.6, 0.4, 0.0}, {0.6, 0.4, 0.0}, {0.1, 0.1, 0.8}});
  EXPECT_EQ(values(count_correct(scores, soft, {1})).front(), 2);
}

TEST(CountCorrect, RefusesWhatItCannotCount) {
  const at::Tensor labels = torch::zeros({2}, at::kLong);
  EXPECT_THAT([&] { count_correct(torch::zeros({2, 3}), labels, {}); }, ThrowsMessage<UsageError>(HasSubstr("one k")));
  EXPECT_THAT(
      [&] {
        count_correct(torch::zeros({2, 3}), labels, {0});
      },
      ThrowsMessage<UsageError>(HasSubstr("from 1")));
  EXPECT_THAT(
      [&] {
        count_correct(torch::zeros({2, 3, 4}), labels);
      },
      ThrowsMessage<UsageError>(HasSubstr("accuracy")));
}

}  // namespace
}  // namespace lockstep::nn
