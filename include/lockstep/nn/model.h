// What every model of the registry is: a module from one tensor to another that knows its input.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/nn/module.h>

namespace lockstep::nn {

// How a ResNet begins.
enum class Stem {
  kImagenet,  // 7x7 stride 2, then max-pool: for 224 x 224
  kCifar,     // 7x7 stride 1, no max-pool: for 32 x 32
  kCifar3x3,  // 3x3 stride 1, no max-pool: for 32 x 32
};

// The stem of the name imagenet, cifar or cifar3x3; UsageError for another.
Stem parse_stem(const std::string& name);

struct ModelOptions {
  std::int64_t num_classes = 0;     // 0: as many as the model has by itself
  std::int64_t input_channels = 0;  // 0: likewise
  Stem stem = Stem::kImagenet;      // other than this: of ResNets alone
  // Of ResNets alone: each block begins as its shortcut, which helps with large batches (Goyal et al., torchvision).
  bool zero_init_residual = false;
  std::vector<std::int64_t> input_shape = {};  // of TorchScript files alone: the shape of one sample
};

class Model : public torch::nn::Module {
 public:
  virtual at::Tensor forward(at::Tensor input) = 0;

  // The shape of one sample of the kind that the model was made for, without the batch; some models take others too.
  const std::vector<std::int64_t>& input_shape() const { return input_shape_; }
  std::int64_t num_classes() const { return num_classes_; }

  // A copy that shares nothing, also on another device. Only of a model that came from make_model.
  std::shared_ptr<torch::nn::Module> clone(const std::optional<at::Device>& device = std::nullopt) const override;

 protected:
  Model(std::vector<std::int64_t> input_shape, std::int64_t num_classes);

 private:
  friend std::shared_ptr<Model> make_model(const std::string& name, const ModelOptions& options);
  void clone_(torch::nn::Module& other, const std::optional<at::Device>& device) override;
  void copy_state(const Model& other, const std::optional<at::Device>& device);

  std::vector<std::int64_t> input_shape_;
  std::int64_t num_classes_;
  std::function<std::shared_ptr<Model>()> make_again_;
};

}  // namespace lockstep::nn
