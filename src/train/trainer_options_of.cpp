#include "trainer_options_of.h"

#include <fmt/format.h>
#include <torch/utils.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/checkpoint/weights.h>
#include <lockstep/config/difference.h>
#include <lockstep/nn/losses.h>
#include <lockstep/nn/registry.h>
#include <lockstep/nn/weights_file.h>
#include <lockstep/optim/make_optimizer.h>
#include <lockstep/parallel/comm_hooks.h>
#include <lockstep/train/evaluate.h>
#include <lockstep/train/schedule_of.h>

namespace lockstep::train {
namespace {

optim::OptimizerOptions optimizer_options(const OptimizerKeys& keys) {
  optim::OptimizerOptions options{.lr = keys.lr,
                                  .weight_decay = keys.weight_decay,
                                  .momentum = keys.momentum,
                                  .dampening = keys.dampening,
                                  .eps = keys.eps,
                                  .trust_coefficient = keys.trust_coefficient,
                                  .fused = keys.fused};
  // False is what they are by themselves, and not every optimizer has them.
  if (keys.nesterov) options.nesterov = true;
  if (keys.amsgrad) options.amsgrad = true;
  if (keys.always_adapt) options.always_adapt = true;
  if (!keys.betas.empty()) options.betas = std::make_tuple(keys.betas.at(0), keys.betas.at(1));
  return options;
}

CommHook hook_of(const ParallelKeys& keys) {
  if (keys.hook == "fp16") return fp16_compression();
  if (keys.hook == "bf16") return bf16_compression();
  if (keys.hook == "power_sgd") return power_sgd({.rank = static_cast<int>(keys.power_sgd_rank)});
  return {};
}

Compression compression_of(const ParallelKeys& keys) {
  if (keys.hook == "fp16") return Compression::kFp16;
  if (keys.hook == "bf16") return Compression::kBf16;
  return Compression::kNone;
}

amp::Precision precision_of(const PrecisionKeys& keys) {
  amp::PrecisionOverrides overrides{.loss_scale = keys.loss_scale,
                                    .keep_batchnorm_fp32 = keys.keep_batchnorm_fp32,
                                    .master_weights = keys.master_weights};
  if (keys.dtype) overrides.dtype = *keys.dtype == "bf16" ? at::kBFloat16 : at::kHalf;
  return amp::parse_precision(keys.level, overrides);
}

TrainingStepOptions::Loss loss_of(const LossKeys& keys) {
  return [smoothing = keys.label_smoothing](const at::Tensor& outputs, const at::Tensor& targets) {
    return nn::cross_entropy(outputs, targets, {.label_smoothing = smoothing});
  };
}

TrainingStepOptions step_options_of(const RunConfig& config, at::Device device) {
  TrainingStepOptions step{.mode = parse_mode(config.parallel.mode),
                           .device = device,
                           .precision = precision_of(config.precision),
                           .channels_last = config.layout == "channels-last",
                           .graph = config.gpu.graph && device.is_cuda(),
                           .accumulation = static_cast<int>(config.accumulation),
                           .clip_norm = config.clip.norm,
                           .clip_value = config.clip.value,
                           .loss = loss_of(config.loss),
                           .groups = {.decay_norms_and_biases = config.optimizer.decay_norms_and_biases},
                           .count_top = {1, 5},
                           .measure_gradient_norm = config.tensorboard.gradient_norm};
  step.optimizer = [keys = config.optimizer](const std::vector<optim::ParameterGroup>& groups) {
    return optim::make_optimizer(keys.name, groups, optimizer_options(keys));
  };
  step.ddp.bucket_megabytes = config.parallel.bucket_megabytes;
  // Ranks agree on it in their first step, which after a resume must not be one of another size.
  step.ddp.share_factors = config.parallel.share_factors && config.data.tail != "uneven";
  step.ddp.check_gradients = config.parallel.check_gradients;
  step.by_optimizer.check_gradients = config.parallel.check_gradients;
  step.sync.check_gradients = config.parallel.check_gradients;
  step.ddp.hook = hook_of(config.parallel);
  step.by_optimizer.compression = compression_of(config.parallel);
  // Ranges are NVTX's, which comes with the GPU's libraries.
  if (device.is_cuda()) step.ranges.detail = gpu::parse_range_detail(config.profile.nvtx);
  step.ranges.synchronize = config.profile.synchronize;
  step.ranges.device = device;
  return step;
}

}  // namespace

std::shared_ptr<nn::Model> make_model(const RunConfig& config, std::int64_t classes_of_data) {
  torch::manual_seed(static_cast<std::uint64_t>(config.seed));
  const ModelKeys& keys = config.model;
  auto model = nn::make_model(keys.name, {.num_classes = keys.classes > 0 ? keys.classes : classes_of_data,
                                          .input_channels = keys.input_channels,
                                          .stem = nn::parse_stem(keys.stem),
                                          .zero_init_residual = keys.zero_init_residual,
                                          .input_shape = keys.input_shape});
  if (!keys.pretrained.empty()) {
    const auto weights = checkpoint::open_weights(keys.pretrained);
    for (const std::string& note : weights.notes) log::info("{}: {}", keys.pretrained, note);
    nn::load_state(*model, nn::to_state(weights),
                   {.strict = !keys.skip_classifier, .skip_classifier = keys.skip_classifier});
  }
  return model;
}

TrainerOptions trainer_options_of(const RunConfig& config, at::Device device, int ranks) {
  TrainerOptions options{
      .step = step_options_of(config, device),
      .epochs = config.epochs,
      .steps = config.steps,
      .steps_per_epoch = config.steps_per_epoch,
      .schedule = schedule_of(config),
      .rate = learning_rate_of(config, ranks),
      .schedule_metric = config.schedule.metric,
      .test_loss = exact_cross_entropy,  // without smoothing, which is for training
      .evaluate_average = config.evaluation.average,
      .test_views = {.mirror = config.evaluation.mirror, .shift = config.evaluation.shift},
      .count_confusion = config.tensorboard.confusion_matrix,
      .broadcast_each_epoch = config.parallel.broadcast_each_epoch,
      .evaluate_every = config.evaluation.every_epochs,
      .log_every = config.log_every,
      .stop = {.accuracy = config.stop.accuracy, .patience = config.stop.patience, .metric = config.stop.metric},
      .profiled_epoch = device.is_cuda() ? config.profile.epoch : 0,
      .seed = static_cast<std::uint64_t>(config.seed)};
  if (!config.profile.trace.empty()) options.traced_steps = trace::parse_window(config.profile.trace);
  if (config.ema.decay) options.average = {.decay = *config.ema.decay, .warm_up = config.ema.warm_up};
  constexpr double kPercent = 100;
  if (options.stop.accuracy && *options.stop.accuracy > 1) *options.stop.accuracy /= kPercent;
  return options;
}

CheckpointOptions checkpoint_options_of(const CheckpointKeys& keys, const std::filesystem::path& folder,
                                        const std::vector<config::Setting>& settings, const std::string& yaml) {
  CheckpointOptions options{.every_epochs = keys.every_epochs,
                            .every_steps = keys.every_steps,
                            .at_end = keys.at_end,
                            .keep = {.last = static_cast<int>(keys.keep_last),
                                     .best = static_cast<int>(keys.keep_best),
                                     .metric = keys.metric,
                                     .larger_is_better = larger_is_better(keys.metric)},
                            .background = keys.background,
                            .texts = {{"config", yaml}, {"config.hash", config::training_hash(settings)}}};
  if (keys.every_epochs > 0 || keys.every_steps > 0 || keys.at_end) options.folder = folder;
  return options;
}

}  // namespace lockstep::train
