// All that a config says of a run. Each variable here is a key of the same name, in the section of its struct;
// `lockstep train --list-keys` has them with their meanings.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/config/schema.h>

namespace lockstep::train {

struct ModelKeys {
  std::string name = "resnet50";
  std::string stem = "imagenet";
  std::int64_t classes = 0;               // 0: as the data has
  std::int64_t input_channels = 0;        // 0: as the model has by itself
  std::vector<std::int64_t> input_shape;  // of TorchScript files
  bool zero_init_residual = false;
  std::string pretrained;        // weights to begin with; empty: fresh ones
  bool skip_classifier = false;  // of these: the last layer stays fresh
};

struct DataKeys {
  std::string path;          // "synthetic": random numbers of the model's shape
  std::string test_path;     // empty: the test part of `path`, where it has one
  bool fetch = false;        // bring it to `path` when it is not there
  std::string set;           // what to bring, as `lockstep data fetch` names it; empty: the last part of `path`
  std::int64_t samples = 0;  // above 0: so many of each part, at even steps; made up so many of synthetic ones
  std::vector<config::Named> transforms, test_transforms;  // empty: what suits the model
  std::int64_t workers = 2;
  std::int64_t prefetch = 2;
  std::string cache = "none";
  std::string on_error = "stop";
  std::int64_t max_bad = 100;
  std::string tail = "drop";
  double mixup = 0;
  double cutmix = 0;
  double mix_chance = 1;
};

struct OptimizerKeys {
  std::string name = "sgd";
  double lr = 0.1;
  std::optional<double> momentum, dampening, weight_decay, eps, trust_coefficient;
  bool nesterov = false;
  bool amsgrad = false;
  bool always_adapt = false;
  std::vector<double> betas;
  bool decay_norms_and_biases = true;  // as the classic recipes do
  bool fused = true;                   // false: libtorch's own loops, for the classic ladder's first rungs
};

struct ScheduleKeys {
  std::string rate = "constant";      // as parse_schedule() takes it
  double warmup = 0;                  // epochs, or steps by the clock, at its beginning
  std::optional<double> warmup_from;  // the part of the rate to begin with; nothing: see schedule_of()
  std::string clock = "epochs";
  std::string scaling = "none";
  std::string metric = "test.loss";  // what a plateau looks at
};

struct PrecisionKeys {
  std::string level = "O0";
  // Nothing: the level's.
  std::optional<std::string> dtype, loss_scale;
  std::optional<bool> keep_batchnorm_fp32, master_weights;
};

struct LossKeys {
  double label_smoothing = 0;  // of the cross entropy
};

struct ClipKeys {
  std::optional<double> norm, value;
};

struct EmaKeys {
  std::optional<double> decay;  // nothing: no average
  bool warm_up = true;
};

struct ParallelKeys {
  std::string mode = "ddp";
  std::string backend = "auto";
  std::string hook = "none";
  std::int64_t power_sgd_rank = 1;
  bool sync_batch_norm = false;
  bool broadcast_each_epoch = false;
  double bucket_megabytes = 25;
  bool share_factors = true;
  bool check_gradients = true;
};

struct GpuKeys {
  bool graph = false;
  bool tf32 = true;
  bool autotune = true;
};

struct CheckpointKeys {
  std::int64_t every_epochs = 1;  // 0: not by epochs
  std::int64_t every_steps = 0;   // 0: not by steps
  bool at_end = true;
  std::int64_t keep_last = 2;
  std::int64_t keep_best = 1;
  std::string metric = "test.top1";
  bool background = true;  // written while training goes on
};

struct EvaluationKeys {
  std::int64_t every_epochs = 1;  // 0: never but at the end
  std::int64_t batch_size_per_rank = 128;
  bool average = true;     // with the moving average of the weights, where there is one
  bool mirror = false;     // pictures: the mean of the outputs for each and for its mirror image
  std::int64_t shift = 0;  // pictures: likewise, for each and its copies moved by up to so many pixels
};

struct StopKeys {
  std::optional<double> accuracy;  // of the test's top1, as a part of 1 or in percent
  std::int64_t patience = 0;       // evaluations without a better `metric`; 0: never
  std::string metric = "test.loss";
  double minutes = 0;          // of the whole run, by the clock; 0: as long as it takes
  double margin_seconds = 60;  // so long before a time limit a checkpoint is written
};

struct ProfileKeys {
  std::string nvtx = "off";
  bool synchronize = false;
  std::int64_t epoch = 0;  // from 1; the range PROFILE goes round it; 0: none
  std::string trace;       // what trace::parse_window takes; empty: none
};

// What goes into the run's event files.
struct TensorboardKeys {
  bool loss = true, accuracy = true, learning_rate = true, loss_scale = true;
  bool throughput = true, data_wait = true, communication = true;
  bool gradient_norm = false;
  std::int64_t histograms_every = 0;  // epochs; 0: none
  bool graph = false;
  std::int64_t images = 0;  // so many of the first batch
  bool confusion_matrix = false;
  bool hparams = true;
};

struct RunConfig {
  std::string output;  // the run's folder; empty: runs/NAME-DATE-TIME
  std::string name;    // of the run; empty: the config's
  std::string device = "auto";
  std::string engine = "fused";
  std::int64_t threads = 0;  // of a rank; 0: its share of the cores
  std::int64_t seed = 0;
  bool deterministic = false;
  std::optional<std::int64_t> batch_size, batch_size_per_rank;  // ask global_batch() and batch_of_rank()
  std::int64_t accumulation = 1;
  std::int64_t epochs = 90;          // 0: as many as `steps` take
  std::int64_t steps = 0;            // above 0: the run ends after so many
  std::int64_t steps_per_epoch = 0;  // above 0: an epoch ends after so many
  std::string layout = "channels-last";
  std::int64_t log_every = 20;  // steps
  ModelKeys model;
  DataKeys data;
  OptimizerKeys optimizer;
  ScheduleKeys schedule;
  PrecisionKeys precision;
  LossKeys loss;
  ClipKeys clip;
  EmaKeys ema;
  ParallelKeys parallel;
  GpuKeys gpu;
  CheckpointKeys checkpoint;
  EvaluationKeys evaluation;
  StopKeys stop;
  ProfileKeys profile;
  TensorboardKeys tensorboard;
};

// The keys, each bound to its variable in `config`, which outlives the schema.
config::Schema schema_of(RunConfig& config);

// Reads a composed config. Where it gives `steps` and no `epochs`, these have no limit. Throws UsageError as
// Schema::read and require_consistent do.
void read_config(config::Schema& schema, RunConfig& config, const config::Value& root);

// What no key can see alone: two keys that contradict each other, a schedule that cannot be read. Throws UsageError
// with the places of those keys, which `settings` tells.
void require_consistent(const RunConfig& config, const std::vector<config::Setting>& settings);

// For a run without test data: throws UsageError, with its place, for a key that makes the run wait for a metric of the
// test, and warns of one that has checkpoints kept by such a metric.
void require_nothing_of_test(const RunConfig& config, const std::vector<config::Setting>& settings);

// Samples of one optimizer step, of all ranks and all accumulated batches together: `batch_size`, or
// `batch_size_per_rank` x ranks x accumulation, or, where neither is given, kDefaultBatch. Throws UsageError when it
// cannot be divided evenly, with the nearest that can.
inline constexpr std::int64_t kDefaultBatch = 128;
std::int64_t global_batch(const RunConfig& config, int ranks);
// Of these, what one rank takes in one forward and backward.
std::int64_t batch_of_rank(const RunConfig& config, int ranks);

}  // namespace lockstep::train
