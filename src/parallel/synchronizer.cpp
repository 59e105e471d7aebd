#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/engine.h>

#include <lockstep/base/affinity_mask.h>
#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/parallel/sync.h>

#include "adopt.h"
#include "divided_products.h"
#include "output_sink.h"
#include "reducer_hook.h"
#include "same_parameters.h"
#include "synchronizer_impl.h"
#include "whole_products.h"

namespace lockstep::parallel {
namespace {

// A gradient of this size in the CPU's memory has a bucket to itself, which adopts it.
constexpr std::int64_t kAdoptedBytes = 1 << 20;

std::int64_t to_bytes(double megabytes) {
  return static_cast<std::int64_t>(megabytes * 1024 * 1024);
}

constexpr const char* kWho = "DistributedDataParallel";

// Throws what makes it impossible to train this rank's module.
void check(const ModuleState& state, const DistributedDataParallelOptions& options) {
  const auto refuse = [](const std::string& why) { throw UsageError(fmt::format("{}: {}", kWho, why)); };
  if (options.bucket_megabytes <= 0 || options.first_bucket_megabytes <= 0) refuse("a bucket needs a size above zero");
  if (state.parameters.empty()) refuse("the module has no parameters");
  const auto parameters = with_gradient(state.parameters);
  if (parameters.empty()) refuse("all parameters of the module are frozen");
  std::set<std::string> devices;
  for (const auto& [name, parameter] : parameters) devices.insert(parameter.device().str());
  if (devices.size() > 1) {
    refuse(fmt::format("the parameters lie on several devices ({}), and a process trains on one",
                       fmt::join(devices, ", ")));
  }
}

// Whether communication has a core to run on beside backward: one that the launcher has kept for it, one of several
// that compute, or one that no rank has and that this one may run on.
bool has_spare_core(const Group& group) {
  if (env::get("LOCKSTEP_COMM_CPUS") || at::get_num_threads() > 1) return true;
  return AffinityMask::current().count() != 1 &&
         std::cmp_greater(std::thread::hardware_concurrency(), group.local_size());
}

// Whether large linear layers share factors.
bool shares_factors(const Group& group, const DistributedDataParallelOptions& options) {
  // A large weight has a bucket to itself where gradients lie in the buckets.
  return options.share_factors && options.gradient_as_bucket_view && !options.hook && !options.find_unused_parameters &&
         group.size() > 1;
}

// What must be the same on all ranks.
std::string in_words(const DistributedDataParallelOptions& options) {
  return fmt::format(
      "bucket_megabytes {}, first_bucket_megabytes {}, broadcast_at_start {}, broadcast_buffers {}, "
      "gradient_as_bucket_view {}, find_unused_parameters {}, static_graph {}, check_gradients {}, share_factors {}, "
      "a hook {}",
      options.bucket_megabytes, options.first_bucket_megabytes, options.broadcast_at_start, options.broadcast_buffers,
      options.gradient_as_bucket_view, options.find_unused_parameters, options.static_graph, options.check_gradients,
      options.share_factors, static_cast<bool>(options.hook));
}

}  // namespace

Synchronizer::Impl::Impl(const ModuleState& state, const Group& its_group,
                         const DistributedDataParallelOptions& its_options)
    : group(its_group),
      options(its_options),
      parameters(with_gradient(state.parameters)),
      flow(group, options, parameters) {
  const auto all = require_same(group, kWho, in_words(options), [&] {
    check(state, options);
    return all_of(state);
  });
  tensors = tensors_of(parameters);
  buffers = tensors_of(state.buffers);
  common = tensors_of(all);
  if (options.broadcast_at_start) broadcast_tensors(common, group);
  if (!options.hook) flow.choose_average(options.overlap.value_or(!tensors[0].is_cpu() || has_spare_core(group)));
  if (shares_factors(group, options)) {
    if (group.backend() == "local") {
      factors = std::make_shared<DividedProducts>(group, tensors, flow, options.check_gradients,
                                                  [this] { return expects_backward && !has_ended_backward(); });
    } else {
      factors = std::make_shared<WholeProducts>(group, tensors, flow, options.check_gradients);
    }
  }
  ready.resize(tensors.size());

  // Hooks are called in the order of their registration, and ours must see a gradient before Reducer does.
  hooks.emplace(tensors, [this](std::size_t index, const at::Tensor& incoming) { on_gradient(index, incoming); });
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});  // backward goes from the last layer to the first
  std::unordered_map<std::size_t, std::string> names;
  for (std::size_t i = 0; i < parameters.size(); ++i) names[i] = parameters[i].first;
  reducer = std::make_shared<c10d::Reducer>(
      tensors, plan_buckets(tensors, order, limits()), group.process_group(), std::vector<bool>(tensors.size(), false),
      to_bytes(options.bucket_megabytes), options.find_unused_parameters, options.gradient_as_bucket_view,
      std::move(names), to_bytes(options.first_bucket_megabytes), /*skip_all_reduce_unused_params=*/false,
      /*use_python_reducer=*/false, std::vector<std::int64_t>{});
  reducer->register_comm_hook(std::make_unique<ReducerHook>(flow, [this] {
    unview_gradients();
    flow.require_finite();
  }));
  logger = std::make_shared<c10d::Logger>(reducer);
  reducer->set_logger(logger);
  if (options.static_graph) reducer->set_static_graph();
  awaits_first = options.static_graph;
  find_places();
  unview_gradients();  // those that parameters have already
}

BucketLimits Synchronizer::Impl::limits() const {
  const std::int64_t bytes = to_bytes(options.bucket_megabytes);
  const bool adopts = options.gradient_as_bucket_view && tensors.front().is_cpu();
  return {.first_bytes = to_bytes(options.first_bucket_megabytes),
          .bytes = bytes,
          .alone_bytes = adopts ? std::min(bytes, kAdoptedBytes) : bytes};
}

void Synchronizer::Impl::on_gradient(std::size_t index, const at::Tensor& incoming) {
  if (!expects_backward) return;
  if (has_ended_backward()) {
    throw UsageError({.message = "backward ran again after its gradients were averaged",
                      .found = "a second gradient for " + parameters[index].first,
                      .next = "call forward of DistributedDataParallel once for each backward; to add gradients up, "
                              "hold no_sync() during all but the last"});
  }
  at::Tensor& gradient = tensors[index].mutable_grad();
  if (gradient.defined() && gradient.is_sparse()) {
    throw UsageError({.message = "DistributedDataParallel averages dense gradients only",
                      .found = "a sparse one for " + parameters[index].first});
  }
  ready[index] = true;
  if (factors) {
    flow.set_completion(tensors[index],
                        factors->completion(index, incoming, gradient.defined() && gradient.is_alias_of(incoming)));
  }
  if (places.empty() || !gradient.defined()) return;
  // Put into the bucket here, so that Reducer finds it there.
  const Place& place = places[index];
  if (gradient.is_alias_of(place.bucket)) return;
  if (place.alone && adopt_gradient(tensors[index], incoming, place.bucket)) {
    flow.count_adopted();
  } else {
    const c10::NoGradGuard no_grad;
    place.gradient.copy_(gradient);
  }
  gradient = place.gradient;
}

bool Synchronizer::Impl::has_begun_backward() const {
  return std::find(ready.begin(), ready.end(), true) != ready.end();
}

void Synchronizer::Impl::require_complete_backward() const {
  if (!expects_backward || !has_begun_backward() || has_ended_backward()) return;
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (!ready[i]) missing.push_back(parameters[i].first);
  }
  throw UsageError({.message = fmt::format("on rank {} backward left parameters without gradient", group.rank()),
                    .found = fmt::format("none for {}", fmt::join(missing, ", ")),
                    .next = options.find_unused_parameters
                                ? "use every output of the module in the loss, on every rank"
                                : "use them in the loss, freeze them, or set find_unused_parameters"});
}

// In the order in which rank 0's first backward gave gradients.
void Synchronizer::Impl::rebuild_buckets() {
  const std::vector<std::int64_t> times = reducer->get_backward_stats();
  if (!reducer->rebuild_buckets()) return;
  std::vector<std::int64_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return times[static_cast<std::size_t>(a)] < times[static_cast<std::size_t>(b)];
  });
  const at::Tensor shared = at::tensor(order, at::kLong);
  group.broadcast(shared);
  const auto* first = shared.const_data_ptr<std::int64_t>();
  const std::vector<std::size_t> agreed(first, first + order.size());
  reducer->initialize_buckets(plan_buckets(tensors, agreed, limits()));
  find_places();
  unview_gradients();
}

void Synchronizer::Impl::find_places() {
  const std::vector<c10d::GradBucket> buckets = reducer->get_grad_buckets(/*return_zero_tensors=*/false);
  flow.expect(buckets.size());
  places.clear();
  if (!options.gradient_as_bucket_view) return;
  std::map<const void*, Place> by_parameter;
  for (const c10d::GradBucket& each : buckets) {
    const GradientBucket bucket = to_bucket(each);
    for (std::size_t i = 0; i < bucket.parameters.size(); ++i) {
      by_parameter[bucket.parameters[i].unsafeGetTensorImpl()] = {bucket.buffer, bucket.gradients[i].variable_data(),
                                                                  bucket.parameters.size() == 1};
    }
  }
  for (const at::Tensor& tensor : tensors) places.push_back(by_parameter.at(tensor.unsafeGetTensorImpl()));
}

// Reducer makes gradients views of buckets. libtorch's optimizers call detach_() on gradients, which autograd forbids
// for a view, so each becomes an alias that is none.
void Synchronizer::Impl::unview_gradients() {
  for (std::size_t i = 0; i < places.size(); ++i) {
    at::Tensor& gradient = tensors[i].mutable_grad();
    if (gradient.defined() && gradient.is_view() && gradient.is_alias_of(places[i].bucket)) {
      gradient = places[i].gradient;
    }
  }
}

void Synchronizer::Impl::before_forward() {
  if (!c10::GradMode::is_enabled()) return;
  require_complete_backward();
  if (!synchronizing) {
    if (awaits_first) {
      throw UsageError({.message = "the first backward of a static graph must be synchronized",
                        .found = "a forward under no_sync()",
                        .next = "make one step without it, or do without static_graph"});
    }
    return;
  }
  if (joining) count_active(true);
  reducer->prepare_for_forward();
  rebuild_buckets();
  if (options.broadcast_buffers) broadcast_tensors(buffers, group, authority);
}

kernels::SharedFactors Synchronizer::Impl::sharing_factors() {
  if (!factors || !synchronizing || joining || !c10::GradMode::is_enabled()) return kernels::SharedFactors({});
  return kernels::SharedFactors(
      [this](const at::Tensor& weight, std::int64_t samples) { return factors->find(weight, samples); });
}

void Synchronizer::Impl::after_forward(const Outputs& outputs) {
  if (!c10::GradMode::is_enabled()) return;
  expects_backward = synchronizing;
  std::fill(ready.begin(), ready.end(), false);
  steps_before = flow.steps();
  if (!synchronizing) return;
  flow.begin();
  if (factors) factors->begin();

  const bool finds_unused = options.find_unused_parameters && !options.static_graph;
  std::vector<at::Tensor> tensors_in_outputs;
  if (finds_unused) outputs([&](at::Tensor& tensor) { tensors_in_outputs.push_back(tensor); });
  reducer->prepare_for_backward(tensors_in_outputs);
  if (finds_unused) sink_outputs(outputs, [] {});
  if (awaits_first) {
    // Only at the end of the first backward is it known how often each parameter is used.
    sink_outputs(outputs, [this] {
      if (!std::exchange(awaits_first, false)) return;
      torch::autograd::Engine::get_default_engine().queue_callback([this] { reducer->delay_all_reduce(); });
    });
  }
}

Synchronizer::Synchronizer(const ModuleState& state, const Group& group, const DistributedDataParallelOptions& options)
    : impl_(std::make_unique<Impl>(state, group, options)) {}

Synchronizer::~Synchronizer() = default;

void Synchronizer::before_forward() {
  impl_->before_forward();
}

kernels::SharedFactors Synchronizer::sharing_factors() {
  return impl_->sharing_factors();
}

void Synchronizer::after_forward(const Outputs& outputs) {
  impl_->after_forward(outputs);
}

bool Synchronizer::set_synchronizing(bool on) {
  return std::exchange(impl_->synchronizing, on);
}

void Synchronizer::join(const ModuleState& state, const std::function<void()>& body, const JoinOptions& options) {
  impl_->join(state, body, options);
}

DistributedDataParallelStats Synchronizer::stats() const {
  return impl_->flow.stats();
}

}  // namespace lockstep::parallel
