#include <lockstep/train/run.h>

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/log.h>
#include <lockstep/base/text.h>
#include <lockstep/checkpoint/checkpoint.h>
#include <lockstep/comm/world.h>
#include <lockstep/config/difference.h>
#include <lockstep/gpu/device.h>
#include <lockstep/gpu/settings.h>
#include <lockstep/parallel/sync_batch_norm.h>
#include <lockstep/train/sources.h>
#include <lockstep/train/trainer.h>

#include "metrics_file.h"
#include "progress_line.h"
#include "run_folder.h"
#include "same_config.h"
#include "stop_signals.h"
#include "time_limit.h"
#include "trainer_options_of.h"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;

bool wants_gpu(const std::string& device) {
  return device == "cuda" || (device == "auto" && gpu::has_gpu());
}

// Rank 0 decides, for all.
RunFolder agree_on_folder(const RunOptions& options, const Group& group) {
  const auto decide = [&]() -> nlohmann::json {
    const RunFolder chosen = choose_folder(
        {.output = options.config.output, .name = options.name, .resume = options.resume, .is_restart = is_restart()});
    return {{"folder", chosen.folder.string()}, {"checkpoint", chosen.checkpoint.value_or("").string()}};
  };
  const auto chosen = group.broadcast_json(group.rank() == 0 ? decide() : nlohmann::json());
  RunFolder folder{.folder = chosen.at("folder").get<std::string>()};
  const auto checkpoint = chosen.at("checkpoint").get<std::string>();
  if (!checkpoint.empty()) folder.checkpoint = checkpoint;
  return folder;
}

// The config of a checkpoint must be this one, in all that shapes training.
void require_fitting(const fs::path& folder, const RunOptions& options) {
  const auto manifest = checkpoint::read_manifest(folder);
  const auto then = manifest.texts.find("config");
  if (then == manifest.texts.end()) return;
  std::string found;
  for (const auto& difference : config::differences(options.settings, then->second)) {
    found += "\n    " + difference.text();
  }
  if (found.empty()) return;
  throw UsageError({.message = fmt::format("the checkpoint {} is of another config", folder.string()),
                    .found = found,
                    .next = "take the config of that run (its config.yaml), or begin anew by --resume none"});
}

// Switches of the whole process, before anything is computed.
void prepare_process(const RunConfig& config) {
  if (config.threads > 0) at::set_num_threads(static_cast<int>(config.threads));
  gpu::apply({.tf32_matmul = config.gpu.tf32,
              .tf32_convolutions = config.gpu.tf32,
              .autotune = config.gpu.autotune && !config.deterministic,
              .deterministic = config.deterministic});
}

at::Device device_of(const RunConfig& config, const World& world) {
  return wants_gpu(config.device) ? gpu::use_gpu(world.placement().local_rank.value_or(0)) : at::Device(at::kCPU);
}

void announce(const RunOptions& options, const World& world, const Sources& sources, at::Device device) {
  if (world.rank() != 0) return;
  const RunConfig& config = options.config;
  fmt::print("{}: {} on {}, {} samples of {} classes{}\n", options.name, config.model.name, config.data.path,
             format_count(sources.train_samples), sources.classes,
             sources.test ? fmt::format(", {} to test with", format_count(sources.test_samples)) : "");
  fmt::print("{}, {}, {}, {}; {} samples a step, {} of each rank\n", format_plural(world.size(), "rank"),
             device.is_cuda() ? "cuda" : "cpu", world.backend(), config.precision.level,
             global_batch(config, world.size()), batch_of_rank(config, world.size()));
  std::fflush(stdout);
}

// What the weights are worth, without training.
int evaluate_only(const RunOptions& options, const World& world, const std::shared_ptr<nn::Model>& model,
                  Sources& sources, at::Device device) {
  if (!sources.test) {
    throw UsageError({.message = "there is nothing to evaluate with", .next = "give data.test_path"});
  }
  if (options.config.model.pretrained.empty()) log::warning("the weights are fresh: nothing was trained or loaded");
  TrainerOptions trainer_options = trainer_options_of(options.config, device, world.size());
  Trainer trainer(model, *sources.train, sources.test.get(), world, trainer_options);
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

}  // namespace

int run(const RunOptions& options) {
  const RunConfig& config = options.config;
  prepare_process(config);
  const bool on_gpu = wants_gpu(config.device);
  const World world({.backend = on_gpu && config.parallel.backend == "auto" ? "nccl" : config.parallel.backend});
  require_same_config(options.settings, world);
  const at::Device device = device_of(config, world);
  const OpenedData data(config.data, world);
  const auto model = make_model(config, data.classes());
  Sources sources = make_sources(config, data, *model, world, device, batch_of_rank(config, world.size()));
  if (config.parallel.sync_batch_norm) convert_sync_batch_norm(*model, world);
  if (options.evaluate) return evaluate_only(options, world, model, sources, device);

  const RunFolder run = agree_on_folder(options, world);
  if (run.checkpoint) require_fitting(*run.checkpoint, options);
  fs::create_directories(run.folder / "logs");
  log::write_also_to(run.folder / "logs" / fmt::format("rank-{}.log", world.rank()));
  announce(options, world, sources, device);

  TrainerOptions trainer_options = trainer_options_of(config, device, world.size());
  trainer_options.checkpoint =
      checkpoint_options_of(config.checkpoint, run.folder / "checkpoints", options.settings, options.config_yaml);
  Trainer trainer(model, *sources.train, sources.test.get(), world, trainer_options);
  if (run.checkpoint) {
    trainer.restore_checkpoint(*run.checkpoint);
    log::info("going on from {}: epoch {}, step {}", run.checkpoint->string(), trainer.epoch() + 1, trainer.step());
  }
  if (world.rank() == 0) {
    files::write_atomically(run.folder / "config.yaml", options.config_yaml);
    trainer.add(std::make_shared<MetricsFile>(run.folder / "metrics.jsonl", trainer.step(), world.size()));
    trainer.add(std::make_shared<ProgressLine>(config.epochs, run.folder));
  }
  if (const auto limit = time_to_stop(config.stop.minutes, std::chrono::duration<double>(config.stop.margin_seconds))) {
    trainer.add(std::make_shared<TimeLimit>(trainer, *limit));
  }
  const StopSignals signals(trainer);
  return exit_code_of(trainer.train());
}

}  // namespace lockstep::train
