#include "reducer_hook.h"

#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <torch/csrc/autograd/engine.h>

#include "flat_buffer.h"

namespace lockstep::parallel {
namespace {

// Where Reducer lays the gradient of `parameter`, so many elements after the start. Its buckets of complex numbers are
// of real ones, in pairs.
at::Tensor gradient_in(const at::Tensor& buffer, std::int64_t offset, const at::Tensor& parameter) {
  if (!parameter.is_complex()) return view_in(buffer, offset, parameter);
  return at::view_as_complex(view_in(buffer, 2 * offset, at::view_as_real(parameter.detach())));
}

}  // namespace

GradientBucket to_bucket(const c10d::GradBucket& bucket) {
  GradientBucket result{.buffer = bucket.getBuffer(), .gradients = {}, .parameters = bucket.getParameters()};
  std::int64_t offset = 0;
  for (const at::Tensor& parameter : result.parameters) {
    result.gradients.push_back(gradient_in(result.buffer, offset, parameter));
    offset += parameter.numel();
  }
  return result;
}

c10::intrusive_ptr<c10::ivalue::Future> ReducerHook::runHook(c10d::GradBucket& bucket) {
  const std::size_t index = flow_.start(to_bucket(bucket));
  auto future = c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get());
  future->markCompleted(static_cast<std::int64_t>(index));
  return future;
}

at::Tensor ReducerHook::parseHookResult(const c10::IValue& result) {
  const auto index = static_cast<std::size_t>(result.toInt());
  if (index == 0) torch::autograd::Engine::get_default_engine().queue_callback(after_backward_);
  return flow_.finish(index);
}

}  // namespace lockstep::parallel
