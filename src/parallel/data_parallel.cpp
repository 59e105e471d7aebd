#include <lockstep/parallel/data_parallel.h>

#include <algorithm>
#include <list>

#include <ATen/ThreadLocalState.h>
#include <ATen/ops/cat.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <lockstep/base/errors.h>

#include "device_thread.h"
#include "replica.h"

namespace lockstep {
namespace {

using torch::autograd::variable_list;

// Stands behind a parameter of all replicas and passes the sum of their gradients on to the original's. It adds in the
// order of devices, so runs can be repeated bit by bit.
class GradientSum : public torch::autograd::Node {
 public:
  explicit GradientSum(const at::Tensor& original)
      : Node(torch::autograd::collect_next_edges(original)), device_(original.device()) {}

  variable_list apply(variable_list&& gradients) override {
    at::Tensor sum;
    for (const auto& gradient : gradients) {
      if (!gradient.defined()) continue;
      sum = sum.defined() ? sum + gradient.to(device_) : gradient.to(device_);
    }
    return {sum};
  }

 private:
  at::Device device_;
};

// With the number of its GPU, where the caller left it open.
at::Device numbered(at::Device device) {
  return device.is_cpu() || device.has_index() ? device : c10::impl::VirtualGuardImpl(device.type()).getDevice();
}

c10::Stream current_stream(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

// What a device made of its part.
struct Part {
  at::Tensor input, output;
  std::exception_ptr error;
};

[[noreturn]] void throw_with_device(const std::exception_ptr& error, std::size_t number, at::Device device) {
  const std::string prefix = fmt::format("forward on device {} ({}): ", number, device.str());
  try {
    std::rethrow_exception(error);
  } catch (const UsageError& usage) {
    ErrorParts parts = usage.parts();
    parts.message = prefix + parts.message;
    throw UsageError(std::move(parts));
  } catch (const c10::Error& torch_error) {
    throw RuntimeError(prefix + torch_error.what_without_backtrace());
  } catch (const std::exception& other) {
    throw RuntimeError(prefix + other.what());
  }
}

}  // namespace

struct DataParallel::State {
  std::shared_ptr<torch::nn::Module> module;
  Forward forward;
  std::vector<at::Device> devices;
  std::vector<at::Tensor> parameters;
  std::vector<parallel::Replica> replicas;  // for the second device and those after it
  std::list<parallel::DeviceThread> threads;
  bool stale = true;

  torch::nn::Module& module_on(std::size_t device) { return device == 0 ? *module : replicas[device - 1].module(); }

  void update_replicas() {
    bool linked = !stale;
    for (auto& replica : replicas) {
      if (replica.update(stale)) linked = false;
    }
    stale = false;
    for (std::size_t i = 0; linked && i < parameters.size(); ++i) {
      linked = parameters[i].requires_grad() == replicas.front().parameters()[i].requires_grad();
    }
    if (!linked) link_gradients();
  }

  void link_gradients() {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const bool trains = parameters[i].requires_grad();
      const auto sum = trains ? std::make_shared<GradientSum>(parameters[i]) : nullptr;
      for (const auto& replica : replicas) {
        at::Tensor copy = replica.parameters()[i];
        copy.detach_();
        if (trains) torch::autograd::set_history(copy, sum);
      }
    }
  }

  void run(Part& part, std::size_t device, c10::Stream stream) {
    try {
      const c10::StreamGuard guard(stream);
      part.output = forward(module_on(device), part.input.to(devices[device], /*non_blocking=*/true));
    } catch (...) {
      part.error = std::current_exception();
    }
  }
};

DataParallel::DataParallel(std::shared_ptr<torch::nn::Module> module, Forward forward_of_module,
                           const std::vector<at::Device>& devices)
    : state_(std::make_unique<State>(
          State{.module = std::move(module), .forward = forward_of_module, .devices = devices})) {
  if (devices.empty()) throw UsageError("DataParallel needs at least one device");
  for (auto& device : state_->devices) device = numbered(device);
  const at::Device first = state_->devices.front();
  state_->parameters = state_->module->parameters();
  for (const auto& tensors : {state_->module->named_parameters(), state_->module->named_buffers()}) {
    for (const auto& tensor : tensors) {
      if (tensor->device() == first || (first.is_cpu() && tensor->device().is_cpu())) continue;
      throw UsageError({.message = "the module is not on the first device",
                        .found = fmt::format("'{}' on {}", tensor.key(), tensor->device().str()),
                        .expected = first.str(),
                        .next = "call module->to() first"});
    }
  }
  for (std::size_t i = 1; i < devices.size(); ++i) {
    state_->replicas.emplace_back(*state_->module, state_->devices[i]);
    state_->threads.emplace_back();
  }
}

DataParallel::~DataParallel() = default;
DataParallel::DataParallel(DataParallel&&) noexcept = default;
DataParallel& DataParallel::operator=(DataParallel&&) noexcept = default;

void DataParallel::refresh() {
  state_->stale = true;
}

at::Tensor DataParallel::forward(const at::Tensor& input) {
  State& state = *state_;
  const std::int64_t samples = input.dim() > 0 ? input.size(0) : 0;
  const auto devices = static_cast<std::int64_t>(state.devices.size());
  const std::int64_t count = std::clamp<std::int64_t>(samples, 1, devices);
  if (count == 1) return state.forward(*state.module, input.to(state.devices.front(), /*non_blocking=*/true));

  state.update_replicas();
  std::vector<Part> parts;
  for (const auto& part : input.tensor_split(count)) parts.push_back({.input = part});
  const at::ThreadLocalState caller;
  std::vector<std::future<void>> running;
  auto thread = state.threads.begin();
  for (std::size_t i = 1; i < parts.size(); ++i, ++thread) {
    running.push_back(thread->start(parallel::DeviceThread::Task([&, i, stream = current_stream(state.devices[i])] {
      const at::ThreadLocalStateGuard as_caller(caller);
      state.run(parts[i], i, stream);
    })));
  }
  state.run(parts[0], 0, current_stream(state.devices[0]));
  for (auto& part : running) part.wait();

  std::vector<at::Tensor> outputs;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].error) throw_with_device(parts[i].error, i, state.devices[i]);
    outputs.push_back(parts[i].output.to(state.devices.front(), /*non_blocking=*/true));
  }
  return at::cat(outputs);
}

}  // namespace lockstep
