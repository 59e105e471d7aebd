#pragma once
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

namespace lockstep::parallel {

// A copy of a module on another device, or a second one on the same, kept equal to it.
class Replica {
 public:
  // Throws UsageError if the module cannot be cloned.
  Replica(const torch::nn::Module& original, at::Device device);

  torch::nn::Module& module() { return *module_; }
  // In the order of the original's.
  const std::vector<at::Tensor>& parameters() const { return parameters_; }

  // Takes over what has changed in the original, or everything. Returns whether a parameter has become another tensor,
  // which then has no history of gradients.
  bool update(bool everything);

 private:
  // A parameter of the original and what it was when it was last taken over.
  struct Twin {
    at::Tensor original, copy;
    bool shared;  // one memory for both
    const void* memory = nullptr;
    std::uint32_t version = 0;
  };
  bool changed(const Twin& twin) const;
  bool update(Twin& twin) const;

  at::Device device_;
  std::vector<std::shared_ptr<torch::nn::Module>> originals_, modules_;
  std::shared_ptr<torch::nn::Module> module_;
  std::vector<at::Tensor> parameters_;
  std::vector<Twin> twins_;
  std::vector<at::Tensor> original_buffers_, buffers_;
};

}  // namespace lockstep::parallel
