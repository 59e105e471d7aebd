#include "whole_products.h"

#include <utility>

namespace lockstep::parallel {

WholeProducts::WholeProducts(Group group, const std::vector<at::Tensor>& parameters, BucketFlow& flow, bool check)
    : FactorSharing(std::move(group), parameters, flow, check), products_(parameters.size()) {}

void WholeProducts::begin() {
  for (Product& product : products_) product.memory.reset();
}

bool WholeProducts::suits(std::size_t /*weight*/, const Samples& samples) {
  // Of the other ranks, to whose products a core gives its time.
  constexpr std::int64_t kMostSamples = 32;
  return samples.most * (group().size() - 1) <= kMostSamples;
}

kernels::LinearFactors WholeProducts::exchange(std::size_t weight, const kernels::LinearFactors& own,
                                               at::Tensor& result) {
  const auto all = gather(weight, own, !is_looked_at(weight));
  if (!all) return own;
  products_[weight] = {result.storage().getWeakStorageImpl(), result._version()};
  return joined(*all, own.gradient.size(1));
}

// In place or not, whatever else became part of the gradient made a new version of it, or another tensor.
BucketFlow::Completion WholeProducts::completion(std::size_t parameter, const at::Tensor& incoming, bool is_alone) {
  const Product& product = products_[parameter];
  if (!is_alone || !product.memory || incoming._version() != product.version) return {};
  const auto storage = product.memory->lock();
  if (!storage || storage.get() != incoming.storage().unsafeGetStorageImpl()) return {};
  return [](const GradientBucket&) { return true; };
}

}  // namespace lockstep::parallel
