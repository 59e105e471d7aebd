#include "divided_products.h"

#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

namespace lockstep::parallel {
namespace {

using torch::autograd::variable_list;

// Another tensor of its memory, and a storage of its own: so that a bucket can adopt it.
at::Tensor alias_of(const at::Tensor& tensor) {
  return at::from_blob(
      tensor.mutable_data_ptr(), tensor.sizes(), [tensor](void*) {}, tensor.options());
}

at::Tensor product_of(const kernels::LinearFactors& factors) {
  at::Tensor product = at::empty({factors.gradient.size(1), factors.input.size(1)}, factors.input.options());
  kernels::multiply(factors, {product}, 0, product.size(0));
  return product;
}

// Before an accumulator adds what has come to it.
class OnArrival : public torch::autograd::FunctionPreHook {
 public:
  explicit OnArrival(std::function<at::Tensor(const at::Tensor&)> replace) : replace_(std::move(replace)) {}
  variable_list operator()(const variable_list& gradients) override { return {replace_(gradients.front())}; }

 private:
  std::function<at::Tensor(const at::Tensor&)> replace_;
};

// Whether gradients are to be returned, not added to those of leaves.
bool are_asked_for() {
  const auto* const wanted = torch::autograd::get_current_graph_task_exec_info();
  return wanted != nullptr && !wanted->empty();
}

}  // namespace

DividedProducts::DividedProducts(Group group, const std::vector<at::Tensor>& parameters, BucketFlow& flow, bool check,
                                 std::function<bool()> completes)
    : FactorSharing(std::move(group), parameters, flow, check),
      completes_(std::move(completes)),
      zero_(at::zeros({1}, at::kFloat)),
      products_(parameters.size()) {}

void DividedProducts::begin() {
  for (Product& product : products_) product.is_asked = false, product.own = {};
}

bool DividedProducts::suits(std::size_t weight, const Samples& samples) {
  // More are multiplied in several passes over the rows.
  constexpr std::int64_t kMostSamples = 128;
  if (samples.all > kMostSamples) return false;
  const at::Tensor& tensor = parameter(weight);
  products_[weight].shared = group().share_memory(tensor.sizes(), tensor.scalar_type());
  if (products_[weight].shared.empty()) return false;
  torch::autograd::impl::grad_accumulator(tensor)->add_pre_hook(
      std::make_unique<OnArrival>([weak = weak_from_this(), this, weight](const at::Tensor& incoming) {
        const auto self = weak.lock();
        return self ? arrived(weight, incoming) : incoming;
      }));
  return true;
}

kernels::LinearFactors DividedProducts::exchange(std::size_t weight, const kernels::LinearFactors& own,
                                                 at::Tensor& result) {
  Product& product = products_[weight];
  product.is_asked = true;
  // The weight may be used a second time.
  if (is_looked_at(weight) || are_asked_for() || product.own.input.defined()) return own;
  product.own = own;
  result = zero_.expand(parameter(weight).sizes());
  return {};
}

at::Tensor DividedProducts::arrived(std::size_t weight, const at::Tensor& incoming) {
  Product& product = products_[weight];
  if (!product.own.input.defined()) return incoming;
  const bool is_zero = incoming.is_alias_of(zero_);
  if (is_zero && completes_()) return alias_of(product.shared[static_cast<std::size_t>(group().rank())]);
  const at::Tensor own = product_of(std::exchange(product.own, {}));
  return is_zero ? own : incoming + own;
}

BucketFlow::Completion DividedProducts::completion(std::size_t parameter, const at::Tensor&, bool) {
  if (!products_[parameter].is_asked) return {};
  return [this, parameter](const GradientBucket& bucket) { return complete(parameter, bucket); };
}

bool DividedProducts::complete(std::size_t weight, const GradientBucket& bucket) {
  Product& product = products_[weight];
  const kernels::LinearFactors own = std::exchange(product.own, {});
  const at::Tensor &gradient = bucket.gradients.front(), &weights = parameter(weight);
  const std::int64_t rows = weights.size(0), rank = group().rank(), size = group().size();
  const at::Tensor& shared = product.shared[static_cast<std::size_t>(rank)];
  const auto finish = [&] {  // where the bucket has not adopted it
    if (gradient.const_data_ptr() != shared.const_data_ptr()) gradient.copy_(shared);
  };
  const auto all = gather(weight, own, own.input.defined());
  if (!all) {
    if (own.input.defined()) {
      kernels::multiply(own, {shared}, 0, rows);
      finish();
    }
    flow().look_before(bucket);
    counted([&] { group().all_reduce(gradient, Reduce::kAverage); });
    return false;
  }
  kernels::multiply(joined(*all, rows), product.shared, rank * rows / size, (rank + 1) * rows / size);
  counted([&] { group().barrier(); });
  finish();
  return true;
}

}  // namespace lockstep::parallel
