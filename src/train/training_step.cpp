#include <lockstep/train/training_step.h>

#include <algorithm>
#include <map>

#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <lockstep/amp/autocast.h>
#include <lockstep/amp/prepare.h>
#include <lockstep/base/errors.h>
#include <lockstep/gpu/device.h>
#include <lockstep/gpu/step_graph.h>
#include <lockstep/gpu/work_stream.h>
#include <lockstep/kernels/casts.h>
#include <lockstep/nn/layout.h>
#include <lockstep/nn/losses.h>
#include <lockstep/optim/clip.h>
#include <lockstep/optim/device_step.h>
#include <lockstep/optim/make_optimizer.h>
#include <lockstep/trace/span.h>

#include "agreement.h"
#include "batch_memory.h"
#include "step_state.h"

namespace lockstep::train {
namespace {

void require_fitting(const TrainingStepOptions& options) {
  if (options.accumulation < 1) throw UsageError("a step accumulates the gradients of at least 1 batch");
  if (options.mode == Mode::kOptimizer && options.precision.master_weights) {
    throw UsageError(
        {.message = fmt::format("mode 'optimizer' has no master weights, which {} needs", options.precision.name),
         .next = "take mode ddp, or another precision"});
  }
  if (!options.graph) return;
  if (options.device.is_cpu()) {
    throw UsageError({.message = "a CPU has no CUDA graphs", .next = "leave the graph out, or train on a GPU"});
  }
  if (options.mode != Mode::kDdp && options.mode != Mode::kNone) {
    throw UsageError({.message = fmt::format("a step in mode '{}' cannot be a CUDA graph", to_text(options.mode)),
                      .next = "take ddp, or leave the graph out"});
  }
}

TrainedModel make_ready(TrainedModel model, const TrainingStepOptions& options) {
  model->to(options.device);
  const auto dimensions = model->input_shape().size();
  if (options.channels_last && (dimensions == 3 || dimensions == 4)) nn::to_channels_last(*model);
  amp::prepare(*model, options.precision);
  model->train();
  return model;
}

// The groups of what the optimizer changes: the master weights, where there are some.
ParameterGroups groups_of(const nn::Model& model, const amp::MasterWeights& weights,
                          const optim::ParameterGroupOptions& options) {
  std::map<const c10::TensorImpl*, at::Tensor> masters;
  const auto parameters = model.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    masters[parameters[i].unsafeGetTensorImpl()] = weights.parameters()[i];
  }
  ParameterGroups groups = optim::parameter_groups(model, options);
  for (auto& group : groups) {
    for (auto& parameter : group.parameters) parameter = masters.at(parameter.unsafeGetTensorImpl());
  }
  return groups;
}

TrainingStepOptions completed(TrainingStepOptions options) {
  require_fitting(options);
  options.device = gpu::with_index(options.device);
  options.ranges.device = options.device;
  if (!options.loss) {
    options.loss = [](const at::Tensor& outputs, const at::Tensor& targets) {
      return nn::cross_entropy(outputs, targets);
    };
  }
  if (!options.optimizer) {
    options.optimizer = [](const ParameterGroups& groups) { return optim::make_optimizer("sgd", groups); };
  }
  // An overflow is the scaler's business.
  if (options.precision.skips_steps()) {
    options.ddp.check_gradients = options.by_optimizer.check_gradients = options.sync.check_gradients = false;
  }
  return options;
}

std::int64_t samples_of(std::span<const data::Batch> batches) {
  std::int64_t samples = 0;
  for (const data::Batch& batch : batches) samples += batch.data.size(0);
  return samples;
}

}  // namespace

class TrainingStep::Implementation {
 public:
  Implementation(TrainedModel model, const Group& group, TrainingStepOptions options)
      : options_(completed(std::move(options))),
        stream_(options_.graph ? options_.device : at::Device(at::kCPU)),
        ranges_(options_.ranges),
        model_(make_ready(std::move(model), options_)),
        totals_(at::zeros({kTotals + static_cast<std::int64_t>(options_.count_top.size())},
                          at::TensorOptions(at::kDouble).device(options_.device))) {
    const auto on_stream = stream_.enter();
    agreement_ = make_agreement(model_, group, options_);
    weights_.emplace(*model_, options_.precision);
    optimizer_ =
        agreement_->make_optimizer(groups_of(*model_, *weights_, options_.groups), options_.optimizer, *weights_);
    scaler_.emplace(amp::scaler_options(options_.precision, *weights_));
    if (options_.graph) prepare_graph();
  }

  void run(std::span<const data::Batch> batches) {
    if (batches.empty()) throw UsageError("a step needs a batch");
    if (all_steps_++ == 0) amp::hint_batch_size(batches.front().data.size(0), options_.precision);
    const auto on_stream = stream_.enter();
    if (graph_ && !graph_->recorded() && memory_.is_smaller_than(batches)) {
      // The first was the short last one of an epoch, after a resume: the recording is for the whole ones.
      memory_ = {};
      prepare_graph();
    }
    if (graph_ && memory_.take(batches)) {
      const auto range = ranges_.range("graph");
      device_step_->refresh_rates();
      graph_->run();
      scaler_->report();
    } else {
      compute(batches);
    }
    if (trace::on() && options_.device.is_cuda()) {
      const auto range = ranges_.range("gpu");  // so that a traced step is as long as its work
      gpu::finish(options_.device);
    }
    samples_ += samples_of(batches);
    ++steps_;
  }

  StepTotals take_totals() {
    const auto on_stream = stream_.enter();
    const at::Tensor values = totals_.to(at::kCPU, /*non_blocking=*/false, /*copy=*/true);
    totals_.zero_();
    const auto* const value = values.const_data_ptr<double>();
    return {.loss = value[kLoss],
            .correct = {value + kTotals, value + values.numel()},
            .samples = std::exchange(samples_, 0),
            .steps = std::exchange(steps_, 0),
            .gradient_norms = value[kNorms],
            .measured_steps = static_cast<std::int64_t>(value[kMeasured])};
  }

  StepState state() { return state_of_step({*optimizer_, *weights_, *scaler_}); }

  void load_state(const StepState& state) {
    const auto on_stream = stream_.enter();
    load_state_of_step({*optimizer_, *weights_, *scaler_}, state);
    if (options_.graph) prepare_graph();  // what was recorded knows the memory from before
  }

  const TrainedModel& model() const { return model_; }
  torch::optim::Optimizer& optimizer() { return *optimizer_; }
  amp::GradScaler& scaler() { return *scaler_; }
  const std::optional<amp::MasterWeights>& weights() const { return weights_; }
  const Agreement& agreement() const { return *agreement_; }

 private:
  void prepare_graph() {
    device_step_ = dynamic_cast<optim::DeviceStep*>(optimizer_.get());
    if (device_step_ == nullptr) {
      throw UsageError({.message = "this step cannot be a CUDA graph",
                        .found = "an optimizer for which the host looks at the device's results",
                        .next = "take one that optim::make_optimizer makes, or leave the graph out"});
    }
    device_step_->keep_rates_on_device();
    graph_ = std::make_unique<gpu::StepGraph>([this] { compute(memory_.batches()); });
  }

  void compute(std::span<const data::Batch> batches) {
    {
      const auto range = ranges_.range("zero_grad");
      agreement_->zero_grad();
    }
    {
      const auto range = ranges_.range("forward/loss/backward");
      const auto samples = static_cast<double>(std::max<std::int64_t>(samples_of(batches), 1));
      for (const data::Batch& batch : batches) {
        const double part = static_cast<double>(batch.data.size(0)) / samples;
        const auto backward = [&] { this->backward(batch, part); };
        if (&batch == &batches.back()) {
          backward();
        } else {
          agreement_->accumulate(backward);
        }
      }
    }
    const auto range = ranges_.range("optimizer.step");
    if (options_.clip_norm || options_.clip_value || options_.measure_gradient_norm) look_at_gradients();
    agreement_->update(*scaler_, *optimizer_);
    scaler_->update();
  }

  // Of a batch that is a part of a step.
  void backward(const data::Batch& batch, double part) {
    at::Tensor outputs, loss;
    {
      const amp::Autocast autocast(options_.device.type(), options_.precision);
      {
        const kernels::CastTogether::Pass pass(casts_);
        const auto range = ranges_.range("forward");
        outputs = amp::cast_output(agreement_->forward(amp::cast_input(batch.data, options_.precision)));
      }
      const auto range = ranges_.range("loss");
      // At the end of an uneven epoch a rank may have no sample left, whose gradients are zero, not the mean of
      // nothing.
      loss = batch.data.size(0) > 0 ? options_.loss(outputs, batch.target) : outputs.sum() * 0;
    }
    if (batch.data.size(0) > 0) add_up(outputs.detach(), loss.detach(), batch);
    const auto range = ranges_.range("backward");
    scaler_->scale(part == 1 ? loss : loss * part).backward();
  }

  void add_up(const at::Tensor& outputs, const at::Tensor& loss, const data::Batch& batch) {
    totals_[kLoss].add_(loss, static_cast<double>(batch.data.size(0)));
    if (options_.count_top.empty()) return;
    totals_.slice(0, kTotals).add_(nn::count_correct(outputs, batch.target, options_.count_top));
  }

  void look_at_gradients() {
    agreement_->unscale(*scaler_, *optimizer_);
    std::vector<at::Tensor> parameters;  // each once, also where the model has it under several names
    for (const auto& group : optimizer_->param_groups()) {
      parameters.insert(parameters.end(), group.params().begin(), group.params().end());
    }
    at::Tensor norm;
    if (options_.clip_norm) {
      norm = optim::clip_grad_norm(parameters, *options_.clip_norm);
    } else if (options_.measure_gradient_norm) {
      norm = optim::gradient_norm(parameters);
    }
    if (options_.measure_gradient_norm) add_norm(norm.detach().to(totals_.options()));
    if (options_.clip_value) optim::clip_grad_value(parameters, *options_.clip_value);
  }

  // A step that the scaler passes over has none.
  void add_norm(const at::Tensor& norm) {
    totals_[kNorms].add_(norm.nan_to_num(0, 0, 0));
    totals_[kMeasured].add_(norm.isfinite());
  }

  const TrainingStepOptions options_;
  gpu::WorkStream stream_;  // of a graph; without one, the caller's stream is used
  gpu::Ranges ranges_;
  TrainedModel model_;
  std::optional<amp::MasterWeights> weights_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::unique_ptr<Agreement> agreement_;  // may hold on to the optimizer
  std::optional<amp::GradScaler> scaler_;
  kernels::CastTogether casts_;
  // Behind the first kTotals, the correct answers for each of count_top.
  enum Total : std::int64_t { kLoss, kNorms, kMeasured, kTotals };
  at::Tensor totals_;
  std::int64_t samples_ = 0, steps_ = 0;  // of these
  std::int64_t all_steps_ = 0;
  BatchMemory memory_;
  optim::DeviceStep* device_step_ = nullptr;
  std::unique_ptr<gpu::StepGraph> graph_;
};

TrainingStep::TrainingStep(std::shared_ptr<nn::Model> model, const Group& group, const TrainingStepOptions& options)
    : implementation_(std::make_unique<Implementation>(std::move(model), group, options)) {}

TrainingStep::~TrainingStep() = default;

void TrainingStep::run(std::span<const data::Batch> batches) {
  implementation_->run(batches);
}

StepTotals TrainingStep::take_totals() {
  return implementation_->take_totals();
}

StepState TrainingStep::state() const {
  return implementation_->state();
}

void TrainingStep::load_state(const StepState& state) {
  implementation_->load_state(state);
}

const std::shared_ptr<nn::Model>& TrainingStep::model() const {
  return implementation_->model();
}

torch::optim::Optimizer& TrainingStep::optimizer() {
  return implementation_->optimizer();
}

amp::GradScaler& TrainingStep::scaler() {
  return implementation_->scaler();
}

const std::optional<amp::MasterWeights>& TrainingStep::master_weights() const {
  return implementation_->weights();
}

std::optional<std::chrono::duration<double>> TrainingStep::exposed() const {
  return implementation_->agreement().exposed();
}

std::optional<double> TrainingStep::hidden() const {
  return implementation_->agreement().hidden();
}

}  // namespace lockstep::train
