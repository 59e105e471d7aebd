#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <lockstep/parallel/named_tensors.h>

namespace torch::autograd {
struct Node;
}

namespace lockstep::parallel {

// Calls back, during backward and in the thread that runs it, whenever the gradient of a parameter has been added to.
// Other hooks of the parameters stay.
class GradientHooks {
 public:
  GradientHooks(const NamedTensors::List& parameters, const std::function<void(std::size_t)>& on_gradient);
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;
  ~GradientHooks();

 private:
  // A parameter knows its accumulator only as long as somebody holds it.
  std::vector<std::pair<std::shared_ptr<torch::autograd::Node>, std::uintptr_t>> accumulators_;
};

}  // namespace lockstep::parallel
