#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torch::autograd {
struct Node;
}

namespace lockstep::parallel {

// Calls back, during backward and in the thread that runs it, whenever the gradient of a parameter has been added to.
// Other hooks of the parameters stay; those that were there before are called before.
class GradientHooks {
 public:
  // `incoming` is what backward brought; the parameter's gradient may be an alias of it.
  using OnGradient = std::function<void(std::size_t parameter, const at::Tensor& incoming)>;
  GradientHooks(std::span<const at::Tensor> parameters, const OnGradient& on_gradient);
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;
  ~GradientHooks();

 private:
  // A parameter knows its accumulator only as long as somebody holds it.
  std::vector<std::pair<std::shared_ptr<torch::autograd::Node>, std::uintptr_t>> accumulators_;
};

}  // namespace lockstep::parallel
