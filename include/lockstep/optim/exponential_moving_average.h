#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

namespace lockstep::optim {

struct ExponentialMovingAverageOptions {
  double decay = 0.999;
  // The decay begins at 0.1 and grows with the number n of updates, as (1 + n) / (10 + n), up to `decay`: the start
  // of training is forgotten sooner.
  bool warm_up = false;
  // Buffers of floating point are averaged as parameters are, because running statistics belong to the weights that
  // they were measured with; false: copied, as all others are.
  bool average_buffers = true;
};

// A moving average of a model's weights: after each step of the optimizer
//
//   average = decay * average + (1 - decay) * weight
//
// in one launch, or few, for each device and type. It begins with the weights that the model has now. 16-bit weights
// are averaged in float32, where small changes are not lost; each of them costs one more launch, and memory for a copy
// during the update. Frozen parameters are averaged too; of one tensor under several names there is one average.
//
//   ema.update();                     // after optimizer.step()
//   {
//     const auto averaged = ema.use();  // the model has the averages
//     evaluate(model);
//   }                                 // and its own weights again
class ExponentialMovingAverage {
 public:
  // Throws UsageError for a decay outside of [0, 1].
  explicit ExponentialMovingAverage(std::shared_ptr<torch::nn::Module> model,
                                    const ExponentialMovingAverageOptions& options = {});

  // Throws UsageError while the model has the averages.
  void update();
  std::int64_t updates() const { return updates_; }

  // Puts the averages into the model's own memory, and its weights back when it is destroyed. The
  // ExponentialMovingAverage must outlive it.
  class [[nodiscard]] InUse {
   public:
    explicit InUse(ExponentialMovingAverage& average);
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;
    ~InUse();

   private:
    ExponentialMovingAverage& average_;
    std::vector<at::Tensor> weights_;
  };
  // Throws UsageError while an earlier one lives.
  InUse use() { return InUse(*this); }

  // The averages under the names of the model's parameters and buffers, and "updates". They are not copied: what is
  // read later than the next update has changed.
  std::map<std::string, at::Tensor> state() const;
  // Throws UsageError, and changes nothing, when a name is missing or unknown, or a shape differs.
  void load_state(const std::map<std::string, at::Tensor>& state);

 private:
  struct Entry {
    std::string name;
    at::Tensor weight, average;
    bool is_averaged;
  };
  void add(const std::string& name, const at::Tensor& weight, bool is_averaged);

  std::shared_ptr<torch::nn::Module> model_;
  ExponentialMovingAverageOptions options_;
  std::vector<Entry> entries_;
  std::int64_t updates_ = 0;
  bool in_use_ = false;
};

}  // namespace lockstep::optim
