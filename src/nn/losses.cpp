#include <lockstep/nn/losses.h>

#include <algorithm>

#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/topk.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::nn {
namespace {

// In float32, if it has fewer bits.
at::Tensor widened(const at::Tensor& tensor) {
  return c10::isReducedFloatingType(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor;
}

[[noreturn]] void refuse_pair(const char* what, const at::Tensor& one, const at::Tensor& other,
                              const std::string& expected) {
  throw UsageError({.message = what,
                    .found = c10::str(one.scalar_type(), " of shape ", one.sizes(), " and ", other.scalar_type(),
                                      " of shape ", other.sizes()),
                    .expected = expected});
}

// Whether the targets are soft ones.
bool require_targets(const at::Tensor& scores, const at::Tensor& targets) {
  const bool soft = at::isFloatingType(targets.scalar_type());
  bool fits = scores.dim() >= 2 && at::isFloatingType(scores.scalar_type());
  if (fits && soft) fits = targets.sizes() == scores.sizes();
  if (fits && !soft) {
    std::vector<std::int64_t> shape = scores.sizes().vec();
    shape.erase(shape.begin() + 1);
    fits = targets.scalar_type() == at::kLong && targets.sizes() == at::IntArrayRef(shape);
  }
  if (!fits) {
    refuse_pair("the scores and the targets do not fit together", scores, targets,
                "samples x classes, and an int64 class for each sample or as many probabilities as scores");
  }
  return soft;
}

}  // namespace

at::Tensor cross_entropy(const at::Tensor& scores, const at::Tensor& targets, const CrossEntropyOptions& options) {
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) {
    throw UsageError({.message = "the label smoothing makes no sense",
                      .found = fmt::format("{}", options.label_smoothing),
                      .expected = "0 to 1"});
  }
  const at::Tensor wide = widened(scores);
  const at::Tensor fitting = require_targets(scores, targets) ? targets.to(wide.scalar_type()) : targets;
  try {
    return at::cross_entropy_loss(wide, fitting, /*weight=*/{}, at::Reduction::Mean, /*ignore_index=*/-100,
                                  options.label_smoothing);
  } catch (const c10::IndexError&) {
    throw UsageError({.message = "a target is no class of the model",
                      .found = fmt::format("classes {} to {}", targets.min().item<std::int64_t>(),
                                           targets.max().item<std::int64_t>()),
                      .expected = fmt::format("0 to {}", scores.size(1) - 1),
                      .next = "give the model as many classes as the data has"});
  }
}

at::Tensor mean_squared_error(const at::Tensor& outputs, const at::Tensor& targets) {
  if (outputs.sizes() != targets.sizes()) {
    refuse_pair("the outputs and the targets do not fit together", outputs, targets, "one shape");
  }
  const at::Tensor wide = widened(outputs);
  return at::mse_loss(wide, targets.to(wide.scalar_type()));
}

at::Tensor count_correct(const at::Tensor& scores, const at::Tensor& targets, const std::vector<std::int64_t>& ks) {
  if (scores.dim() != 2) {
    refuse_pair("accuracy is counted of one class for each sample", scores, targets, "scores of samples x classes");
  }
  if (ks.empty() || *std::min_element(ks.begin(), ks.end()) < 1) {
    throw UsageError("top-k accuracy needs one k or more, each from 1 up");
  }
  const at::NoGradGuard no_gradients;
  const bool soft = require_targets(scores, targets);
  const std::int64_t classes = scores.size(1);
  const std::int64_t most = std::min(*std::max_element(ks.begin(), ks.end()), classes);
  const at::Tensor highest = std::get<1>(scores.topk(most, /*dim=*/1));
  const at::Tensor hits = highest.eq((soft ? targets.argmax(1) : targets).unsqueeze(1));
  std::vector<at::Tensor> counts;
  for (const std::int64_t k : ks) counts.push_back(hits.narrow(1, 0, std::min(k, most)).sum());
  return at::stack(counts);
}

}  // namespace lockstep::nn
