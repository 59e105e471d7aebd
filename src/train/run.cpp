#include <lockstep/train/run.h>

#include <chrono>
#include <thread>

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/log.h>
#include <lockstep/base/placement.h>
#include <lockstep/base/rank_page.h>
#include <lockstep/base/text.h>
#include <lockstep/checkpoint/checkpoint.h>
#include <lockstep/comm/world.h>
#include <lockstep/config/difference.h>
#include <lockstep/gpu/device.h>
#include <lockstep/gpu/settings.h>
#include <lockstep/kernels/cpu_memory.h>
#include <lockstep/kernels/engine.h>
#include <lockstep/nn/weights_file.h>
#include <lockstep/parallel/sync_batch_norm.h>
#include <lockstep/train/schedule_of.h>
#include <lockstep/train/sources.h>
#include <lockstep/train/trainer.h>

#include "kept_samples.h"
#include "metrics_file.h"
#include "progress_line.h"
#include "run_folder.h"
#include "run_report.h"
#include "same_config.h"
#include "stop_signals.h"
#include "tensorboard_log.h"
#include "time_limit.h"
#include "together.h"
#include "trainer_options_of.h"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;

bool wants_gpu(const std::string& device) {
  return device == "cuda" || (device == "auto" && gpu::has_gpu());
}

// All that a run needs before it has a folder.
struct Prepared {
  at::Device device = at::kCPU;
  std::shared_ptr<nn::Model> model;
  Sources sources;
  TrainerOptions trainer;
  std::string machine;  // of rank 0
};

// The config of a checkpoint must be this one, in all that shapes training.
void require_fitting(const fs::path& folder, const RunOptions& options) {
  const auto manifest = checkpoint::read_manifest(folder);
  const auto then = manifest.texts.find("config");
  if (then == manifest.texts.end()) return;
  std::string found;
  for (const auto& difference : config::differences(options.settings, then->second)) {
    found += (found.empty() ? "" : "; ") + difference.text();
  }
  if (found.empty()) return;
  throw UsageError({.message = fmt::format("the checkpoint {} is of another config", folder.string()),
                    .found = found,
                    .next = "take the config of that run (its config.yaml), or begin anew by --resume none"});
}

FolderRequest folder_request(const RunOptions& options) {
  return {.output = options.config.output, .name = options.name, .resume = options.resume, .is_restart = is_restart()};
}

// Collective. Rank 0 decides, for all, and has the folder's lock; what it throws, all throw.
RunFolder agree_on_folder(const RunOptions& options, const Group& group) {
  RunFolder folder;
  together(group, [&] {
    if (group.rank() != 0) return;
    folder = choose_folder(folder_request(options));
    if (folder.checkpoint) require_fitting(*folder.checkpoint, options);
  });
  const auto decision = group.broadcast_json(
      {{"folder", folder.folder.string()}, {"checkpoint", folder.checkpoint.value_or("").string()}});
  folder.folder = decision.at("folder").get<std::string>();
  const auto checkpoint = decision.at("checkpoint").get<std::string>();
  if (!checkpoint.empty()) folder.checkpoint = checkpoint;
  return folder;
}

// Switches of the whole process, before anything is computed.
void prepare_process(const RunConfig& config) {
  kernels::set_engine(kernels::parse_engine(config.engine));
  if (kernels::engine() == kernels::Engine::kFused) kernels::keep_cpu_memory();
  if (config.threads > 0) at::set_num_threads(static_cast<int>(config.threads));
  gpu::apply({.tf32_matmul = config.gpu.tf32,
              .tf32_convolutions = config.gpu.tf32,
              .autotune = config.gpu.autotune && !config.deterministic,
              .deterministic = config.deterministic});
}

at::Device device_of(bool on_gpu, const World& world) {
  return on_gpu ? gpu::use_gpu(world.placement().local_rank.value_or(0)) : at::Device(at::kCPU);
}

void announce(const RunOptions& options, const World& world, const Sources& sources, at::Device device) {
  if (world.rank() != 0) return;
  const RunConfig& config = options.config;
  fmt::print("{}: {} on {}, {} samples of {} classes{}\n", options.name, config.model.name, config.data.path,
             format_count(sources.train_samples), sources.classes,
             sources.test ? fmt::format(", {} to test with", format_count(sources.test_samples)) : "");
  fmt::print("{}, {}, {}, {}, {} engine; {} samples a step, {} of each rank\n", format_plural(world.size(), "rank"),
             device.is_cuda() ? "cuda" : "cpu", world.backend(), config.precision.level, config.engine,
             global_batch(config, world.size()), batch_of_rank(config, world.size()));
  std::fflush(stdout);
  warn_of_rate_of_zero(config, options.settings);
}

// Collective. The weights that --resume names, into the model. Only it has to fit: other keys of the config may be
// others than those it was trained with.
void load_weights_to_evaluate(const RunOptions& options, const Group& group, nn::Model& model) {
  std::string path;
  together(group, [&] {
    if (group.rank() == 0) path = find_checkpoint(folder_request(options)).value_or("").string();
  });
  path = group.broadcast_text(path);
  if (path.empty()) {
    if (options.config.model.pretrained.empty()) log::warning("the weights are fresh: nothing was trained or loaded");
    return;
  }
  const bool average = options.config.ema.decay && options.config.evaluation.average;
  together(group, [&] { nn::load_state(model, nn::read_weights(path, {.average = average})); });
  log::info("evaluating {}{}", path, average ? ", its averaged weights" : "");
}

// What the weights are worth, without training.
int evaluate_only(const World& world, Prepared& prepared) {
  Trainer trainer(prepared.model, *prepared.sources.train, prepared.sources.test.get(), world, prepared.trainer);
  const Metrics metrics = trainer.validate_one_epoch();
  if (world.rank() == 0) {
    fmt::print("test  {}  ({} samples, {} samples/s)\n", describe(metrics), format_count(metrics.samples),
               format_count(static_cast<std::int64_t>(metrics.samples_per_second)));
  }
  return kExitSuccess;
}

int exit_code_of(const TrainingResult& result) {
  if (result.outcome != Outcome::kInterrupted) return kExitSuccess;
  return result.checkpoint ? kExitTryAgain : kExitFailure;
}

// What ranks must have in common: the config, and what was said beside it.
std::vector<config::Setting> compared(const RunOptions& options) {
  std::vector<config::Setting> settings = options.settings;
  const auto add = [&](const std::string& flag, const std::string& value) {
    settings.push_back({.path = flag, .value = value, .place = {}, .shapes_training = false});
  };
  add("--resume", options.resume);
  add("--evaluate", options.evaluate ? "true" : "false");
  return settings;
}

// Without test data.
void require_no_need_of_test(const RunOptions& options) {
  require_nothing_of_test(options.config, options.settings);
  if (!options.evaluate) return;
  throw UsageError({.message = "there is nothing to evaluate with", .next = "give data.test_path"});
}

// Collective. Where a rank fails, all throw.
Prepared prepare(const RunOptions& options, const World& world, bool on_gpu) {
  const RunConfig& config = options.config;
  require_same_config(compared(options), world);
  Prepared prepared{.device = device_of(on_gpu, world)};
  const OpenedData data(config.data, world);
  together(world, [&] { prepared.model = make_model(config, data.classes()); });
  // An evaluation takes no batch of these, so the one that is asked for need not be divisible.
  const std::int64_t batch = options.evaluate ? 1 : batch_of_rank(config, world.size());
  prepared.sources = make_sources(config, data, *prepared.model, world, prepared.device, batch);
  if (!prepared.sources.test) together(world, [&] { require_no_need_of_test(options); });
  if (config.parallel.sync_batch_norm) convert_sync_batch_norm(*prepared.model, world);
  prepared.trainer = trainer_options_of(config, prepared.device, world.size());
  return prepared;
}

int train_within(const RunFolder& run, const RunOptions& options, const World& world, Prepared& prepared) {
  const RunConfig& config = options.config;
  announce(options, world, prepared.sources, prepared.device);

  prepared.trainer.checkpoint =
      checkpoint_options_of(config.checkpoint, run.folder / "checkpoints", options.settings, options.config_yaml);
  prepared.trainer.trace_file = run.folder / "trace.json";
  KeptSamples train_data(*prepared.sources.train, world.rank() == 0 ? config.tensorboard.images : 0);
  Trainer trainer(prepared.model, train_data, prepared.sources.test.get(), world, prepared.trainer);
  if (run.checkpoint) {
    trainer.restore_checkpoint(*run.checkpoint);
    log::info("going on from {}: epoch {}, step {}", run.checkpoint->string(), trainer.epoch() + 1, trainer.step());
  }
  if (world.rank() == 0) {
    files::write_atomically(run.folder / "config.yaml", options.config_yaml);
    trainer.add(std::make_shared<MetricsFile>(run.folder / "metrics.jsonl", trainer.step(), world.size()));
    if (wants_tensorboard(config.tensorboard)) {
      trainer.add(std::make_shared<TensorboardLog>(
          config.tensorboard, TensorboardLog::Run{run.folder, options.settings, prepared.sources.class_names}, trainer,
          train_data));
    }
    trainer.add(std::make_shared<RunReport>(run.folder, prepared.machine));
    trainer.add(std::make_shared<ProgressLine>(config.epochs, run.folder));
  }
  if (const auto limit = time_to_stop(config.stop.minutes, std::chrono::duration<double>(config.stop.margin_seconds))) {
    trainer.add(std::make_shared<TimeLimit>(trainer, *limit));
  }
  const StopSignals::Training during(trainer);
  return exit_code_of(trainer.train());
}

// Who looks into the folder later finds there how the run ended.
int train(const RunOptions& options, const World& world, Prepared& prepared, const RunFolder& run) {
  fs::create_directories(run.folder / "logs");
  log::write_also_to(run.folder / "logs" / fmt::format("rank-{}.log", world.rank()));
  try {
    return train_within(run, options, world, prepared);
  } catch (const std::exception& error) {
    log::write_to_file(fmt::format("error: {}", error.what()));
    if (world.rank() == 0) report_failed_run(run.folder);
    throw;
  }
}

// Whether this is the first rank of its node, and `telling` is one of another node: there may be another terminal
// there.
bool tells_for_node(const Placement& place, int telling) {
  if (place.local_rank != 0 || !place.local_size) return false;
  const int first = place.rank.rank;
  return telling < first || telling >= first + *place.local_size;
}

}  // namespace

int run(const RunOptions& options) {
  const RunConfig& config = options.config;
  std::optional<StopSignals> signals;  // an evaluation has nothing to go on with
  std::string machine;
  const Placement place = discover_placement();
  if (!options.evaluate) {
    signals.emplace(place.rank);
    if (place.rank.rank == 0) machine = describe_machine();
  }
  prepare_process(config);
  const bool on_gpu = wants_gpu(config.device);
  const World world({.backend = on_gpu && config.parallel.backend == "auto" ? "nccl" : config.parallel.backend});
  std::optional<Prepared> prepared;
  RunFolder folder;
  try {
    prepared.emplace(prepare(options, world, on_gpu));
    prepared->machine = std::move(machine);
    if (options.evaluate) {
      load_weights_to_evaluate(options, world, *prepared->model);
    } else {
      folder = agree_on_folder(options, world);
    }
  } catch (const Error& error) {
    if (!is_told_by_another(error, world) || tells_for_node(place, error.parts().rank->rank)) throw;
    signals.reset();  // nobody asked for this end
    if (RankPage* page = RankPage::of_this_process()) page->blame(error.parts().rank->rank);
    // The rank that tells of it should be the first that a launcher sees go; it then ends this one.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return error.exit_code();
  }
  return options.evaluate ? evaluate_only(world, *prepared) : train(options, world, *prepared, folder);
}

}  // namespace lockstep::train
