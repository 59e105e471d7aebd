#pragma once
#include <functional>

#include <ATen/core/Tensor.h>

#include <lockstep/amp/precision.h>
#include <lockstep/comm/group.h>
#include <lockstep/data/batch_source.h>
#include <lockstep/nn/model.h>
#include <lockstep/train/metrics.h>
#include <lockstep/train/picture_views.h>

namespace lockstep::train {

// nn::cross_entropy in float64: the same to the last digits however samples are put into batches.
at::Tensor exact_cross_entropy(const at::Tensor& outputs, const at::Tensor& targets);

struct EvaluationOptions {
  std::function<at::Tensor(const at::Tensor& outputs, const at::Tensor& targets)> loss;  // the mean over the samples
  at::Device device = at::kCPU;
  amp::Precision precision = {};
  std::vector<std::int64_t> top = {1, 5};
  bool confusion = false;  // count which class was taken for which
  PictureViews views = {};
};

// Collective. Runs the model over one epoch of `source` in evaluation mode, and leaves it in the mode that it had.
// Every sample counts once, however the ranks share them: make the source with Tail::kUneven. Losses are added up in
// float64.
Metrics evaluate(nn::Model& model, data::BatchSource& source, const Group& group, const EvaluationOptions& options);

}  // namespace lockstep::train
