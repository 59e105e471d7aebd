// What a classifier or a regression is trained on, and what it is judged by.
//
// A target is a class (an int64 for each sample), or soft: a row of class probabilities for each sample, in a floating
// type, as MixUp and CutMix give them. Scores of a 16-bit type, such as autocast makes, are computed with in float32.
// Nothing here waits for a device.
#pragma once
#include <vector>

#include <ATen/core/Tensor.h>

namespace lockstep::nn {

struct CrossEntropyOptions {
  double label_smoothing = 0;  // the part of each target that is spread over all classes
};

// The mean over the samples, as torch.nn.functional.cross_entropy. `scores` are samples x classes (and further
// dimensions, which `targets` has too). A target of class -100 is left out of the mean, as PyTorch does; where all are,
// the mean is NaN. Throws UsageError when shapes or types do not fit, and for a class that does
// not exist; the latter only on the CPU, because a GPU would have to be waited for.
at::Tensor cross_entropy(const at::Tensor& scores, const at::Tensor& targets, const CrossEntropyOptions& options = {});

// The mean of the squared differences. Throws UsageError when the shapes differ: what torch would broadcast is most
// often a mistake.
at::Tensor mean_squared_error(const at::Tensor& outputs, const at::Tensor& targets);

// For each of `ks`, how many samples have their class among the k highest scores, as int64 on the device of the scores.
// Equal scores are in the order of torch.topk. Where there are fewer than k classes, every one is among them. A soft
// target counts by its largest class. Divided by the samples of all batches, the sum of these is the top-k accuracy.
at::Tensor count_correct(const at::Tensor& scores, const at::Tensor& targets,
                         const std::vector<std::int64_t>& ks = {1, 5});

}  // namespace lockstep::nn
