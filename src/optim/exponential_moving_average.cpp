#include <lockstep/optim/exponential_moving_average.h>

#include <algorithm>
#include <exception>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/full.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>

#include "named_entries.h"
#include "tensor_batches.h"

namespace lockstep::optim {
namespace {

constexpr const char* kUpdates = "updates";

at::ScalarType average_type(const at::Tensor& weight) {
  const auto type = weight.scalar_type();
  return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}

void copy_all(const std::vector<at::Tensor>& from, const std::vector<at::Tensor>& to) {
  for (const auto& batch : by_device_and_type(to)) at::_foreach_copy_(pick(to, batch), pick(from, batch));
}

}  // namespace

ExponentialMovingAverage::ExponentialMovingAverage(std::shared_ptr<torch::nn::Module> model,
                                                   const ExponentialMovingAverageOptions& options)
    : model_(std::move(model)), options_(options) {
  if (!(options.decay >= 0 && options.decay <= 1)) {
    throw UsageError({.message = "the decay of a moving average does not fit",
                      .found = fmt::format("{}", options.decay),
                      .expected = "a number from 0 to 1"});
  }
  const at::NoGradGuard no_gradients;
  for (const auto& parameter : model_->named_parameters()) add(parameter.key(), parameter.value(), true);
  for (const auto& buffer : model_->named_buffers()) {
    if (buffer->defined()) add(buffer.key(), buffer.value(), options.average_buffers && buffer->is_floating_point());
  }
}

void ExponentialMovingAverage::add(const std::string& name, const at::Tensor& weight, bool is_averaged) {
  const bool is_known =
      std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.weight.is_same(weight); });
  if (is_known) return;
  entries_.push_back(
      {name, weight, weight.detach().to(average_type(weight), /*non_blocking=*/false, /*copy=*/true), is_averaged});
}

void ExponentialMovingAverage::update() {
  if (in_use_) {
    throw UsageError({.message = "the model has the averaged weights now, which are not to be averaged again",
                      .next = "destroy what use() has returned before the next step"});
  }
  const at::NoGradGuard no_gradients;
  const auto n = static_cast<double>(++updates_);
  const double decay = options_.warm_up ? std::min(options_.decay, (1 + n) / (10 + n)) : options_.decay;
  std::vector<at::Tensor> averages, weights, copies, originals;
  for (const Entry& entry : entries_) {
    (entry.is_averaged ? averages : copies).push_back(entry.average);
    (entry.is_averaged ? weights : originals).push_back(entry.weight.detach());
  }
  for (const auto& batch : by_device_and_type(averages)) {
    auto current = pick(weights, batch);
    for (at::Tensor& weight : current) weight = weight.to(averages[batch.front()].scalar_type());
    at::_foreach_lerp_(pick(averages, batch), current, 1 - decay);
  }
  copy_all(originals, copies);
}

ExponentialMovingAverage::InUse::InUse(ExponentialMovingAverage& average) : average_(average) {
  if (average.in_use_) throw UsageError("the model has the averaged weights already");
  const at::NoGradGuard no_gradients;
  std::vector<at::Tensor> averages, weights;
  for (const Entry& entry : average.entries_) {
    weights_.push_back(entry.weight.detach().clone());
    weights.push_back(entry.weight.detach());
    averages.push_back(entry.average);
  }
  copy_all(averages, weights);
  average.in_use_ = true;
}

ExponentialMovingAverage::InUse::~InUse() {
  try {
    const at::NoGradGuard no_gradients;
    std::vector<at::Tensor> weights;
    for (const Entry& entry : average_.entries_) weights.push_back(entry.weight.detach());
    copy_all(weights_, weights);
    average_.in_use_ = false;
  } catch (const std::exception& error) {
    log::error("the model keeps its averaged weights, because its own could not be copied back: {}", error.what());
  }
}

std::map<std::string, at::Tensor> ExponentialMovingAverage::state() const {
  std::map<std::string, at::Tensor> state{{kUpdates, at::full({}, updates_, at::kLong)}};
  for (const Entry& entry : entries_) state.emplace(entry.name, entry.average);
  return state;
}

void ExponentialMovingAverage::load_state(const std::map<std::string, at::Tensor>& state) {
  const NamedEntries named("the averaged weights", state);
  const std::int64_t updates = named.at(kUpdates, {}).item<std::int64_t>();
  for (const Entry& entry : entries_) named.at(entry.name, entry.average.sizes());
  named.require_all_used();
  const at::NoGradGuard no_gradients;
  for (const Entry& entry : entries_) entry.average.copy_(state.at(entry.name));
  updates_ = updates;
}

}  // namespace lockstep::optim
