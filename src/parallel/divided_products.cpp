#include "divided_products.h"

#include <utility>

#include <ATen/ops/from_blob.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

namespace lockstep::parallel {
namespace {

// Another tensor of its memory, and a storage of its own: so that a bucket can adopt it.
at::Tensor alias_of(const at::Tensor& tensor) {
  return at::from_blob(
      tensor.mutable_data_ptr(), tensor.sizes(), [tensor](void*) {}, tensor.options());
}

}  // namespace

DividedProducts::DividedProducts(Group group, const std::vector<at::Tensor>& parameters, BucketFlow& flow, bool check)
    : FactorSharing(std::move(group), parameters, flow, check), products_(parameters.size()) {}

void DividedProducts::begin() {
  for (Product& product : products_) product.is_asked = false, product.own = {};
}

bool DividedProducts::suits(std::size_t weight, const Samples& samples) {
  // More are multiplied in several passes over the rows.
  constexpr std::int64_t kMostSamples = 128;
  // How much smaller the factors must be than the product.
  constexpr std::int64_t kLeastGain = 4;
  const at::Tensor& tensor = parameter(weight);
  if (samples.all > kMostSamples || kLeastGain * samples.all * (tensor.size(0) + tensor.size(1)) > tensor.numel()) {
    return false;
  }
  products_[weight].shared = group().share_memory(tensor.sizes(), tensor.scalar_type());
  return !products_[weight].shared.empty();
}

// Whether the gradient that is being made is all that will come to the weight's accumulator, and goes nowhere else.
bool DividedProducts::is_only_path(std::size_t weight) const {
  namespace autograd = torch::autograd;
  const auto* const nodes = autograd::get_current_graph_task_nodes_in_graph();
  const auto* const asked_for = autograd::get_current_graph_task_exec_info();
  if (nodes == nullptr || (asked_for != nullptr && !asked_for->empty()) || autograd::AnomalyMode::is_enabled()) {
    return false;
  }
  const auto accumulator = autograd::impl::grad_accumulator(parameter(weight));
  int paths = 0;
  for (const autograd::Node* node : *nodes) {
    for (const autograd::Edge& edge : node->next_edges()) {
      if (edge.function == accumulator) ++paths;
    }
  }
  return paths == 1;
}

kernels::LinearFactors DividedProducts::exchange(std::size_t weight, const kernels::LinearFactors& own,
                                                 at::Tensor& result) {
  Product& product = products_[weight];
  product.is_asked = true;
  if (is_looked_at(weight) || !is_only_path(weight)) return own;
  product.own = own;
  result = alias_of(product.shared[static_cast<std::size_t>(group().rank())]);
  return {};
}

BucketFlow::Completion DividedProducts::completion(std::size_t parameter, const at::Tensor&, bool) {
  if (!products_[parameter].is_asked) return {};
  return [this, parameter](const GradientBucket& bucket) { return complete(parameter, bucket); };
}

bool DividedProducts::complete(std::size_t weight, const GradientBucket& bucket) {
  Product& product = products_[weight];
  const kernels::LinearFactors own = std::exchange(product.own, {});
  const at::Tensor& gradient = bucket.gradients.front();
  const std::int64_t rows = gradient.size(0), rank = group().rank(), size = group().size();
  const auto all = gather(weight, own, own.input.defined());
  if (!all) {
    if (own.input.defined()) kernels::multiply(own, {gradient}, 0, rows);
    flow().look_before(bucket);
    counted([&] { group().all_reduce(gradient, Reduce::kAverage); });
    return false;
  }
  kernels::multiply(joined(*all, rows), product.shared, rank * rows / size, (rank + 1) * rows / size);
  counted([&] { group().barrier(); });
  // Where the bucket has not adopted it.
  const at::Tensor& shared = product.shared[static_cast<std::size_t>(rank)];
  if (gradient.const_data_ptr() != shared.const_data_ptr()) gradient.copy_(shared);
  return true;
}

}  // namespace lockstep::parallel
