#include "fused_gradients.h"

#include <tuple>

#include <ATen/ops/_foreach_copy.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "adasum.h"
#include "compression.h"
#include "flat_buffer.h"
#include "prepared_gradient.h"

namespace lockstep::parallel {
namespace {

// The elements of a dense tensor in the order of its memory.
at::Tensor flat(const at::Tensor& tensor) {
  return tensor.as_strided({tensor.numel()}, {1});
}

// "the gradients of 'a', 'b', 'c' and 12 more"
std::string gradients_in_words(const NamedTensors::List& parameters) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> names;
  for (const auto& [name, parameter] : parameters) names.push_back("'" + name + "'");
  return fmt::format("the gradient{} of {}", names.size() == 1 ? "" : "s", format_some(names, kNamed));
}

}  // namespace

template <typename Call>
void FusedGradients::with_names(Call&& call) const {
  const auto named = [this](const Error& error) {
    ErrorParts parts = error.parts();
    parts.message = gradients_in_words(parameters_) + ": " + parts.message;
    return parts;
  };
  try {
    call();
  } catch (const TimeoutError& error) {
    throw TimeoutError(named(error));
  } catch (const RuntimeError& error) {
    throw RuntimeError(named(error));
  }
}

FusedGradients::FusedGradients(NamedTensors::List parameters, const FusionOptions& options)
    : parameters_(std::move(parameters)),
      options_(options),
      type_(type_on_the_way(parameters_.front().second.scalar_type(), options.compression)) {}

bool FusedGradients::is_in_place() const {
  return parameters_.size() == 1 && type_ == parameters_.front().second.scalar_type();
}

void FusedGradients::start(const Group& group, FiniteCheck& check) {
  gradients_.clear();
  for (const auto& [name, parameter] : parameters_) {
    gradients_.push_back(prepared_gradient(parameter));
    check.look_before(name, gradients_.back());
  }
  at::Tensor whole;
  if (is_in_place()) {
    whole = flat(gradients_.front());
  } else {
    if (!buffer_.defined()) std::tie(buffer_, views_) = flat_buffer(gradients_, type_);
    at::_foreach_copy_(views_, gradients_);
    whole = buffer_;
  }
  if (options_.reduction == GradientReduction::kAdasum) {
    std::vector<std::int64_t> lengths;
    for (const at::Tensor& gradient : gradients_) lengths.push_back(gradient.numel());
    with_names([&] { adasum(group, whole, lengths); });
    return;
  }
  Reduce op = options_.reduction == GradientReduction::kAverage ? Reduce::kAverage : Reduce::kSum;
  if (op == Reduce::kAverage && type_ != parameters_.front().second.scalar_type()) {
    whole.div_(group.size());
    op = Reduce::kSum;
  }
  with_names([&] { work_ = group.all_reduce_async(whole, op); });
  traced_ = TracedWork(*work_, whole.nbytes());
}

void FusedGradients::finish(trace::Clock::time_point& busy_until, FiniteCheck& check) {
  {
    const trace::Span waiting("all_reduce.wait");
    if (work_) with_names([this] { work_->wait(); });
  }
  work_.reset();
  traced_.end(busy_until);
  if (!is_in_place()) at::_foreach_copy_(gradients_, views_);
  for (std::size_t i = 0; i < parameters_.size(); ++i) check.look_after(parameters_[i].first, gradients_[i]);
  gradients_.clear();
  // Frozen since: it took part because the other ranks cannot know, and must not be changed by weight decay.
  for (const auto& [name, parameter] : parameters_) {
    if (!parameter.requires_grad()) parameter.mutable_grad().reset();
  }
}

}  // namespace lockstep::parallel
