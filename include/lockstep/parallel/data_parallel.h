// One process, several devices: each takes a part of the batch.
#pragma once
#include <memory>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

namespace lockstep {

// Runs `module` on several devices at once, in a thread for each, on equal parts of every batch (the first are one
// sample larger where it cannot be divided; with fewer samples than devices some devices rest). Outputs come back along
// their first dimension on the first device, and gradients add up in the parameters of `module`, as if the whole batch
// had gone through it. One process for each device is faster (DistributedDataParallel); this is for programs that are
// one process.
//
// `module` lives on the first device and is used there as it is. For each further device a replica is made once, by
// Module::clone, so the module must be a torch::nn::Cloneable (Sequential and all of torch's layers are) or come from
// nn::make_model; with one device it can be any. A replica on the module's own device shares its parameters. On another
// device they are copied when they have changed, which is known from their version counters: after a change that these
// do not see, such as a write through data_ptr(), call refresh(). Buffers are copied at each forward pass.
//
// Gradient mode, autocast, training flags and the current streams are those of the caller. Buffers that a forward pass
// changes, such as running statistics, keep what the first device made of its part. Not for use from several threads.
//
// A failure in forward becomes a UsageError or a RuntimeError that names the device.
class DataParallel {
 public:
  // Throws UsageError if there is no device, if the module is not on the first, or if it cannot be cloned.
  template <typename ModuleType>
  DataParallel(std::shared_ptr<ModuleType> module, const std::vector<at::Device>& devices)
      : DataParallel(std::static_pointer_cast<torch::nn::Module>(module), &forward_of<ModuleType>, devices) {}
  template <typename ModuleType>
  DataParallel(const torch::nn::ModuleHolder<ModuleType>& module, const std::vector<at::Device>& devices)
      : DataParallel(module.ptr(), devices) {}
  ~DataParallel();
  DataParallel(DataParallel&&) noexcept;
  DataParallel& operator=(DataParallel&&) noexcept;

  at::Tensor forward(const at::Tensor& input);

  // Copies every parameter at the next forward pass.
  void refresh();

 private:
  using Forward = at::Tensor (*)(torch::nn::Module&, const at::Tensor&);
  template <typename ModuleType>
  static at::Tensor forward_of(torch::nn::Module& module, const at::Tensor& input) {
    return static_cast<ModuleType&>(module).forward(input);
  }
  DataParallel(std::shared_ptr<torch::nn::Module> module, Forward forward_of_module,
               const std::vector<at::Device>& devices);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep
