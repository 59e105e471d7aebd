// The keys of a run's config. What may differ when a run goes on has shapes_training = false: where things lie, what is
// watched and written, how long it lasts, and how the machine does the work, as long as what it computes is the same
// but for rounding.
#include <lockstep/kernels/engine.h>
#include <lockstep/train/mode.h>
#include <lockstep/train/run_config.h>

#include "tensorboard_keys.h"

namespace lockstep::train {
namespace {

using config::Schema;

const std::vector<std::string> kMetrics = {"test.loss",  "test.top1",  "test.top5",
                                           "train.loss", "train.top1", "train.top5"};

void add_run(Schema& schema, RunConfig& run) {
  schema.add("name", &run.name,
             {.meaning = "The run's name; empty: that of the config and its section.", .shapes_training = false});
  schema.add("output", &run.output,
             {.meaning = "The run's folder; empty: runs/NAME-DATE-TIME.", .shapes_training = false});
  schema.add("device", &run.device,
             {.meaning = "Where ranks compute; auto: on GPUs where there are any.",
              .choices = {"auto", "cpu", "cuda"},
              .shapes_training = false});
  schema.add("engine", &run.engine,
             {.meaning = "Whose code computes: fused is ours where it is faster, reference is libtorch's alone.",
              .choices = kernels::engine_names(),
              .shapes_training = false});
  schema.add("threads", &run.threads,
             {.meaning = "Threads of a rank that compute; 0: its share of the cores.",
              .least = 0,
              .most = 65536,
              .shapes_training = false});
  schema.add("seed", &run.seed,
             {.meaning = "Of fresh weights, the order of samples and all other chance.", .least = 0});
  schema.add("deterministic", &run.deterministic,
             {.meaning = "Two runs are equal bit by bit; slower on a GPU.", .shapes_training = false});
  schema.add("batch_size", &run.batch_size,
             {.meaning = "Samples of an optimizer step, of all ranks and all accumulated batches together; 128 where "
                         "batch_size_per_rank is not given either.",
              .least = 1,
              .most = 1 << 30});
  schema.add("batch_size_per_rank", &run.batch_size_per_rank,
             {.meaning = "Instead of batch_size: what one rank takes in one forward and backward. A step then has this "
                         "x ranks x accumulation samples.",
              .least = 1,
              .most = 1 << 24});
  schema.add("accumulation", &run.accumulation,
             {.meaning = "Batches of a rank whose gradients add up to one optimizer step.", .least = 1, .most = 65536});
  schema.add("epochs", &run.epochs,
             {.meaning = "How long to train; 0, or not given where steps are: no limit but these.",
              .least = 0,
              .most = 1 << 30,
              .shapes_training = false});
  schema.add("steps", &run.steps,
             {.meaning = "Above 0: training ends after so many optimizer steps, if the epochs have not ended before.",
              .least = 0,
              .shapes_training = false});
  schema.add("steps_per_epoch", &run.steps_per_epoch,
             {.meaning = "Above 0: an epoch ends after so many steps, though samples are left.", .least = 0});
  schema.add(
      "layout", &run.layout,
      {.meaning = "How pictures lie in memory.", .choices = {"channels-last", "contiguous"}, .shapes_training = false});
  schema.add("log_every", &run.log_every,
             {.meaning = "Steps between two lines of metrics.jsonl.", .least = 1, .shapes_training = false});
}

void add_model(Schema& schema, ModelKeys& model) {
  schema.add(
      "model.name", &model.name,
      {.meaning =
           "As torchvision names it (resnet50, vgg16_bn, alexnet); or airbench, mnist, lenet, lstm, transformer, "
           "conv3d; or a TorchScript file, which is a program and runs when it is loaded."});
  schema.add("model.stem", &model.stem,
             {.meaning = "How a ResNet begins: imagenet 7x7 stride 2 and max-pool, cifar 7x7 stride 1, cifar3x3.",
              .choices = {"imagenet", "cifar", "cifar3x3"}});
  schema.add("model.classes", &model.classes, {.meaning = "Of the output; 0: as many as the data has.", .least = 0});
  schema.add("model.input_channels", &model.input_channels,
             {.meaning = "Of the input; 0: as the model has by itself.", .least = 0});
  schema.add("model.input_shape", &model.input_shape,
             {.meaning = "Of one sample; for TorchScript files that do not tell it.", .least = 1});
  schema.add("model.zero_init_residual", &model.zero_init_residual,
             {.meaning = "The blocks of a ResNet begin as their shortcuts, which helps with large batches."});
  schema.add("model.pretrained", &model.pretrained,
             {.meaning = "File with weights to begin with (.safetensors, .pt, or a checkpoint's folder); empty: fresh "
                         "ones.",
              .shapes_training = false});
  schema.add("model.skip_classifier", &model.skip_classifier,
             {.meaning = "Of these weights the last layer is left out, for data with other classes.",
              .shapes_training = false});
}

void add_data(Schema& schema, DataKeys& data) {
  schema.add("data.path", &data.path,
             {.meaning = "A folder with train and val (or test) in it, or with a folder for each class; a packed file; "
                         "CIFAR-10's, CIFAR-100's or MNIST's folder; mnist: the copy that comes along; "
                         "synthetic:WIDTHxHEIGHT: made-up pictures; synthetic: random numbers of the model's shape.",
              .shapes_training = false});
  schema.add("data.test_path", &data.test_path,
             {.meaning = "What to evaluate on; empty: the test part of data.path, where it has one.",
              .shapes_training = false});
  schema.add("data.fetch", &data.fetch,
             {.meaning = "Download the set to data.path when it is not there.", .shapes_training = false});
  schema.add("data.set", &data.set,
             {.meaning = "What to download, as lockstep data fetch names it; empty: the last part of data.path.",
              .shapes_training = false});
  schema.add(
      "data.samples", &data.samples,
      {.meaning = "Above 0: only so many samples of each part, taken at even steps from its first to its end; of "
                  "synthetic ones so many are made.",
       .least = 0});
  schema.add("data.transforms", &data.transforms,
             {.meaning = "What happens to training pictures, in this order; empty: what suits the model."});
  schema.add("data.test_transforms", &data.test_transforms,
             {.meaning = "What happens to test pictures; empty: what suits the model.", .shapes_training = false});
  schema.add("data.workers", &data.workers,
             {.meaning = "Threads of each rank that load.", .least = 1, .most = 1024, .shapes_training = false});
  schema.add("data.prefetch", &data.prefetch,
             {.meaning = "Batches that are made ahead.", .least = 1, .most = 1024, .shapes_training = false});
  schema.add(
      "data.cache", &data.cache,
      {.meaning = "Where decoded pictures stay: nowhere, in memory, or on the device, which then transforms them.",
       .choices = {"none", "memory", "device"},
       .shapes_training = false});
  schema.add("data.on_error", &data.on_error,
             {.meaning = "A sample that cannot be read stops the run, or another takes its place.",
              .choices = {"stop", "skip"},
              .shapes_training = false});
  schema.add("data.max_bad", &data.max_bad,
             {.meaning = "With skip: more of these on one rank stop the run all the same.",
              .least = 0,
              .shapes_training = false});
  schema.add("data.tail", &data.tail,
             {.meaning = "The last samples of an epoch, fewer than a batch: left out, filled up from the beginning, or "
                         "divided unevenly.",
              .choices = {"drop", "pad", "uneven"}});
  schema.add("data.mixup", &data.mixup, {.meaning = "Above 0: MixUp with this alpha.", .least = 0});
  schema.add("data.cutmix", &data.cutmix,
             {.meaning = "Above 0: CutMix with this alpha; with MixUp too, each batch has one of them by chance.",
              .least = 0});
  schema.add("data.mix_chance", &data.mix_chance,
             {.meaning = "Of a batch to be mixed, with MixUp or CutMix.", .above = 0, .most = 1});
}

void add_optimizer(Schema& schema, OptimizerKeys& optimizer) {
  schema.add("optimizer.name", &optimizer.name,
             {.meaning = "Who makes the steps.", .choices = {"sgd", "adam", "adamw", "lars", "lamb"}});
  schema.add("optimizer.lr", &optimizer.lr,
             {.meaning = "The learning rate that the schedule starts from.", .above = 0});
  schema.add("optimizer.momentum", &optimizer.momentum, {.meaning = "Of sgd and lars.", .least = 0});
  schema.add("optimizer.dampening", &optimizer.dampening, {.meaning = "Of the momentum of sgd.", .least = 0});
  schema.add("optimizer.nesterov", &optimizer.nesterov, {.meaning = "Nesterov's momentum, of sgd."});
  schema.add("optimizer.weight_decay", &optimizer.weight_decay,
             {.meaning = "Of all; null: 0.01 for adamw and lamb, else 0.", .least = 0});
  schema.add("optimizer.decay_norms_and_biases", &optimizer.decay_norms_and_biases,
             {.meaning = "Weight decay takes in biases and normalizations, as the classic recipes do."});
  schema.add("optimizer.betas", &optimizer.betas,
             {.meaning = "Of adam, adamw and lamb: two numbers; empty: 0.9 and 0.999.", .least = 0, .below = 1});
  schema.add("optimizer.eps", &optimizer.eps, {.meaning = "Of all but sgd: what keeps divisors from 0.", .least = 0});
  schema.add("optimizer.amsgrad", &optimizer.amsgrad, {.meaning = "Of adam and adamw."});
  schema.add("optimizer.trust_coefficient", &optimizer.trust_coefficient, {.meaning = "Of lars.", .above = 0});
  schema.add("optimizer.always_adapt", &optimizer.always_adapt,
             {.meaning = "Of lars and lamb: also for parameters without weight decay."});
  schema.add("optimizer.fused", &optimizer.fused,
             {.meaning = "One kernel for all parameters; false: libtorch's own loops.", .shapes_training = false});
}

void add_schedule(Schema& schema, ScheduleKeys& schedule) {
  schema.add("schedule.rate", &schedule.rate,
             {.meaning = "The learning rate over time, as lockstep schedule takes it: step(30), cosine(90), "
                         "plateau(patience=10)."});
  schema.add("schedule.warmup", &schedule.warmup,
             {.meaning = "So many epochs (or steps, by the clock) of the schedule climb up to it in a straight line.",
              .least = 0});
  schema.add("schedule.warmup_from", &schedule.warmup_from,
             {.meaning = "The part of the rate to begin with; null: one rank's rate where the ranks scale it, else the "
                         "n-th of W epochs has n/W.",
              .least = 0,
              .most = 1});
  schema.add("schedule.clock", &schedule.clock,
             {.meaning = "What the schedule counts: epochs, in which the rate stays; fractions of them; or steps.",
              .choices = {"epochs", "epoch-fractions", "steps"}});
  schema.add("schedule.scaling", &schedule.scaling,
             {.meaning = "The rate is multiplied by the number of ranks, or its square root.",
              .choices = {"none", "linear", "sqrt"}});
  schema.add("schedule.metric", &schedule.metric, {.meaning = "What a plateau looks at.", .choices = kMetrics});
}

void add_numbers(Schema& schema, RunConfig& run) {
  schema.add("precision.level", &run.precision.level,
             {.meaning = "O0 or fp32; O1 or fp16: autocast; O2: fp16 model with master weights; O3: all fp16; bf16.",
              .choices = {"O0", "O1", "O2", "O3", "fp32", "fp16", "bf16"}});
  schema.add("precision.dtype", &run.precision.dtype,
             {.meaning = "The 16-bit type of the level, in place of its own.", .choices = {"fp16", "bf16"}});
  schema.add("precision.loss_scale", &run.precision.loss_scale,
             {.meaning = "dynamic, none or a number, in place of the level's."});
  schema.add("precision.keep_batchnorm_fp32", &run.precision.keep_batchnorm_fp32,
             {.meaning = "Batch normalizations stay in fp32, in place of the level's."});
  schema.add("precision.master_weights", &run.precision.master_weights,
             {.meaning = "The optimizer has fp32 copies of the weights, in place of the level's."});
  schema.add(
      "loss.label_smoothing", &run.loss.label_smoothing,
      {.meaning = "The part of each target that the cross entropy spreads over all classes.", .least = 0, .most = 1});
  schema.add("clip.norm", &run.clip.norm, {.meaning = "The largest norm of all gradients together.", .above = 0});
  schema.add("clip.value", &run.clip.value, {.meaning = "The largest number in a gradient.", .above = 0});
  schema.add("ema.decay", &run.ema.decay,
             {.meaning = "Of a moving average of the weights; null: there is none.", .above = 0, .below = 1});
  schema.add("ema.warm_up", &run.ema.warm_up, {.meaning = "A smaller decay in the first steps."});
}

void add_parallel(Schema& schema, ParallelKeys& parallel) {
  schema.add("parallel.mode", &parallel.mode,
             {.meaning = "Who makes ranks agree: ddp, a distributed optimizer, ddp with ZeRO-1, one process with all "
                         "GPUs, a reduction after backward, or nobody (barrier: ranks meet once a step).",
              .choices = mode_names()});
  schema.add("parallel.backend", &parallel.backend,
             {.meaning = "How ranks talk: auto, local, gloo, mpi, ccl, nccl, local+gloo, local+mpi.",
              .shapes_training = false});
  schema.add(
      "parallel.hook", &parallel.hook,
      {.meaning = "How gradients travel: as they are; in 16 bits, in modes ddp, zero and optimizer; or by PowerSGD, in "
                  "modes ddp and zero.",
       .choices = {"none", "fp16", "bf16", "power_sgd"}});
  schema.add("parallel.power_sgd_rank", &parallel.power_sgd_rank,
             {.meaning = "Of power_sgd: more is more exact and sends more.", .least = 1, .most = 8});
  schema.add("parallel.sync_batch_norm", &parallel.sync_batch_norm,
             {.meaning = "Batch normalizations take the statistics of all ranks' samples."});
  schema.add("parallel.broadcast_each_epoch", &parallel.broadcast_each_epoch,
             {.meaning = "All ranks get rank 0's parameters and buffers again at the start of each epoch."});
  schema.add(
      "parallel.bucket_megabytes", &parallel.bucket_megabytes,
      {.meaning = "Gradients that are sent together, in modes ddp and zero.", .above = 0, .shapes_training = false});
  schema.add(
      "parallel.share_factors", &parallel.share_factors,
      {.meaning = "Large linear layers on CPUs, with few samples a rank: ranks send their inputs and the gradients of "
                  "their outputs instead of the gradients of their weights, in modes ddp and zero.",
       .shapes_training = false});
  schema.add(
      "parallel.check_gradients", &parallel.check_gradients,
      {.meaning = "A NaN in a gradient stops the run, with its name and its ranks; in modes ddp, zero, optimizer and "
                  "sync, and at a precision that skips no steps.",
       .shapes_training = false});
}

void add_gpu(Schema& schema, GpuKeys& gpu) {
  schema.add("gpu.graph", &gpu.graph,
             {.meaning = "The step is recorded as a CUDA graph and replayed.", .shapes_training = false});
  schema.add("gpu.tf32", &gpu.tf32, {.meaning = "Matrix products and convolutions of float32 in TensorFloat-32."});
  schema.add(
      "gpu.autotune", &gpu.autotune,
      {.meaning = "cuDNN tries its algorithms at the first convolution of each shape.", .shapes_training = false});
}

void add_checkpoint(Schema& schema, CheckpointKeys& checkpoint) {
  schema.add(
      "checkpoint.every_epochs", &checkpoint.every_epochs,
      {.meaning = "Epochs from one checkpoint to the next; 0: not by epochs.", .least = 0, .shapes_training = false});
  schema.add(
      "checkpoint.every_steps", &checkpoint.every_steps,
      {.meaning = "Steps from one checkpoint to the next; 0: not by steps.", .least = 0, .shapes_training = false});
  schema.add("checkpoint.at_end", &checkpoint.at_end,
             {.meaning = "Also when training has ended.", .shapes_training = false});
  schema.add("checkpoint.keep_last", &checkpoint.keep_last,
             {.meaning = "So many of the newest stay.", .least = 1, .shapes_training = false});
  schema.add("checkpoint.keep_best", &checkpoint.keep_best,
             {.meaning = "So many of the best stay too.", .least = 0, .shapes_training = false});
  schema.add("checkpoint.metric", &checkpoint.metric,
             {.meaning = "What the best are the best by.", .choices = kMetrics, .shapes_training = false});
  schema.add("checkpoint.background", &checkpoint.background,
             {.meaning = "They are written while training goes on.", .shapes_training = false});
}

void add_evaluation(Schema& schema, EvaluationKeys& evaluation) {
  schema.add(
      "evaluation.every_epochs", &evaluation.every_epochs,
      {.meaning = "Epochs from one evaluation to the next; 0: only at the end.", .least = 0, .shapes_training = false});
  schema.add("evaluation.batch_size_per_rank", &evaluation.batch_size_per_rank,
             {.meaning = "Samples that a rank evaluates at once.", .least = 1, .shapes_training = false});
  schema.add("evaluation.average", &evaluation.average,
             {.meaning = "With the moving average of the weights, where there is one.", .shapes_training = false});
  schema.add("evaluation.mirror", &evaluation.mirror,
             {.meaning = "Each picture counts by the mean of the model's outputs for it and for its mirror image.",
              .shapes_training = false});
  schema.add(
      "evaluation.shift", &evaluation.shift,
      {.meaning =
           "Each picture counts by the mean of the outputs for it and for its copies that are moved by up to so many "
           "pixels in each direction; all of them also mirrored, with evaluation.mirror.",
       .least = 0,
       .shapes_training = false});
}

void add_stop(Schema& schema, StopKeys& stop) {
  schema.add("stop.accuracy", &stop.accuracy,
             {.meaning = "Training ends when the test's top-1 reaches it: 0.75, or 75 for percent.",
              .above = 0,
              .most = 100,
              .shapes_training = false});
  schema.add("stop.patience", &stop.patience,
             {.meaning = "Training ends after so many evaluations without a better stop.metric; 0: never.",
              .least = 0,
              .shapes_training = false});
  schema.add("stop.metric", &stop.metric,
             {.meaning = "What patience looks at.", .choices = kMetrics, .shapes_training = false});
  schema.add("stop.minutes", &stop.minutes,
             {.meaning = "A time limit of the run, at which it leaves a checkpoint and exit code 75; 0: none.",
              .least = 0,
              .shapes_training = false});
  schema.add(
      "stop.margin_seconds", &stop.margin_seconds,
      {.meaning = "So long before a time limit that checkpoint is written.", .least = 0, .shapes_training = false});
}

void add_profile(Schema& schema, ProfileKeys& profile) {
  schema.add("profile.nvtx", &profile.nvtx,
             {.meaning = "On GPUs, ranges for profilers: none, the parts of each step, or every operator too.",
              .choices = {"off", "steps", "ops"},
              .shapes_training = false});
  schema.add("profile.synchronize", &profile.synchronize,
             {.meaning = "The GPU finishes at both ends of each range.", .shapes_training = false});
  schema.add(
      "profile.epoch", &profile.epoch,
      {.meaning = "On GPUs, from 1: the range PROFILE goes round this epoch, and profilers may wait for it; 0: none.",
       .least = 0,
       .shapes_training = false});
  schema.add("profile.trace", &profile.trace,
             {.meaning = "steps=10:15: a timeline of all ranks in the five steps after the tenth, in trace.json of the "
                         "run's folder; empty: none.",
              .shapes_training = false});
}

}  // namespace

config::Schema schema_of(RunConfig& config) {
  Schema schema;
  add_run(schema, config);
  add_model(schema, config.model);
  add_data(schema, config.data);
  add_optimizer(schema, config.optimizer);
  add_schedule(schema, config.schedule);
  add_numbers(schema, config);
  add_parallel(schema, config.parallel);
  add_gpu(schema, config.gpu);
  add_checkpoint(schema, config.checkpoint);
  add_evaluation(schema, config.evaluation);
  add_stop(schema, config.stop);
  add_profile(schema, config.profile);
  add_tensorboard(schema, config.tensorboard);
  return schema;
}

}  // namespace lockstep::train
