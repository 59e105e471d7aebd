#pragma once
#include <functional>

#include <ATen/core/Tensor.h>

#include <lockstep/amp/precision.h>
#include <lockstep/comm/group.h>
#include <lockstep/data/batch_source.h>
#include <lockstep/nn/model.h>
#include <lockstep/train/metrics.h>

namespace lockstep::train {

// nn::cross_entropy in float64: the same to the last digits however samples are put into batches.
at::Tensor exact_cross_entropy(const at::Tensor& outputs, const at::Tensor& targets);

struct EvaluationOptions {
  std::function<at::Tensor(const at::Tensor& outputs, const at::Tensor& targets)> loss;  // the mean over the samples
  at::Device device = at::kCPU;
  amp::Precision precision = {};
  std::vector<std::int64_t> top = {1, 5};
  bool confusion = false;  // count which class was taken for which
  bool mirror = false;     // of pictures: the mean of the outputs for each and for its mirror image
};

// Throws UsageError for samples of so many dimensions that are no pictures, and so have no mirror image.
void require_mirror_images(std::int64_t dimensions);

// Collective. Runs the model over one epoch of `source` in evaluation mode, and leaves it in the mode that it had.
// Every sample counts once, however the ranks share them: make the source with Tail::kUneven. Losses are added up in
// float64.
Metrics evaluate(nn::Model& model, data::BatchSource& source, const Group& group, const EvaluationOptions& options);

}  // namespace lockstep::train
