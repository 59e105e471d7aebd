// lockstep bench step: samples a second of training.
#include <cstdio>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/table.h>
#include <lockstep/base/text.h>
#include <lockstep/bench/ladder.h>
#include <lockstep/bench/step.h>
#include <lockstep/comm/world.h>
#include <lockstep/gpu/device.h>

#include "verbs.h"

namespace lockstep::app {
namespace {

struct Options {
  bench::StepOptions step;
  std::string backend = "auto";
  std::string device = "cpu";
  std::string stem = "imagenet";
  std::string layout = "channels-last";
  std::string modes = "ddp";
  std::string optimizer = "fused";
  std::string engine = "fused";
  std::string nvtx = "off";
  std::string profile_steps;
  bool without_tf32 = false;
  bool without_autotuning = false;
  double seconds = 2;
  std::string trace;
  bool ladder = false;
  bool json = false;
  std::string output;
};

nlohmann::ordered_json to_json(const bench::StepRow& row) {
  nlohmann::ordered_json value = {
      {"mode", train::to_text(row.mode)},      {"samples_per_second", row.samples_per_second},
      {"samples_per_second_least", row.least}, {"samples_per_second_greatest", row.greatest},
      {"milliseconds", row.milliseconds},      {"kept", row.kept},
      {"kept_least", row.kept_least},          {"kept_greatest", row.kept_greatest},
      {"data_wait", row.split.data},           {"compute", row.split.compute}};
  if (row.split.communication) value["communication"] = *row.split.communication;
  if (row.hidden) value["hidden"] = *row.hidden;
  if (row.anatomy) value["anatomy"] = trace::to_json(*row.anatomy);
  if (row.operations) {
    value["peak_gigaflops"] = row.operations->peaks.gigaflops;
    value["peak_gigabytes_per_second"] = row.operations->peaks.gigabytes;
    value["operations"] = nlohmann::ordered_json::parse(bench::operations_table(*row.operations, 0).to_json());
  }
  return value;
}

std::string in_parts(const trace::Anatomy& anatomy) {
  std::int64_t bytes = 0;
  for (const trace::ReadyBucket& bucket : anatomy.buckets) bytes += bucket.bytes;
  return fmt::format(
      "  its parts: data {:.2f} ms, forward {:.2f}, backward {:.2f}, update {:.2f}, other {:.2f}; {} in {}; jitter "
      "{:.1f}%\n",
      anatomy.data, anatomy.forward, anatomy.backward, anatomy.update, anatomy.other(),
      format_bytes(static_cast<std::uint64_t>(bytes)), format_plural(std::ssize(anatomy.buckets), "bucket"),
      anatomy.jitter * 100);
}

std::string by_operation(const bench::Operations& operations) {
  constexpr double kLeast = 0.005;  // of the step
  return fmt::format(
      "  its operations, {:.1f} ms a step; the floor is {:.0f} GFLOP/s or {:.1f} GB/s, whichever is longer\n{}",
      operations.milliseconds, operations.peaks.gigaflops, operations.peaks.gigabytes,
      bench::operations_table(operations, kLeast).to_text());
}

std::string to_text(const std::vector<bench::StepRow>& rows) {
  std::string text;
  for (const bench::StepRow& row : rows) {
    text += fmt::format("{:<14}{:.1f} samples/s ({:.1f} to {:.1f}), {:.2f} ms a step", train::to_text(row.mode),
                        row.samples_per_second, row.least, row.greatest, row.milliseconds);
    if (rows.size() > 1) {
      text += fmt::format(", {:.1f}% ({:.1f} to {:.1f}) of {}", row.kept * 100, row.kept_least * 100,
                          row.kept_greatest * 100, train::to_text(rows.front().mode));
    }
    if (row.hidden) text += fmt::format(", {:.0f}% of the communication hidden", *row.hidden * 100);
    text += fmt::format("; data {:.1f}%, compute {:.1f}%", row.split.data * 100, row.split.compute * 100);
    if (row.split.communication) text += fmt::format(", communication {:.1f}%", *row.split.communication * 100);
    text += '\n';
    if (row.anatomy) text += in_parts(*row.anatomy);
    if (row.operations) text += by_operation(*row.operations);
  }
  return text;
}

nlohmann::ordered_json heading(const Options& options, const World& world) {
  return {{"model", options.step.model}, {"batch", options.step.batch},
          {"ranks", world.size()},       {"nodes", (world.size() + world.local_size() - 1) / world.local_size()},
          {"backend", world.backend()},  {"device", options.device}};
}

std::string heading_text(const Options& options, const World& world) {
  return fmt::format("{}, batch {} on each of {}, {}, {}{}\n", options.step.model, options.step.batch,
                     format_plural(world.size(), "rank"), world.backend(), options.device,
                     options.ladder ? "" : fmt::format(", {} engine", options.engine));
}

// To the file and, as JSON, to stdout, where they are asked for.
void put_out(const Options& options, const nlohmann::ordered_json& value) {
  if (!options.output.empty()) files::write_atomically(options.output, value.dump(2) + "\n");
  if (options.json) std::cout << value.dump(2) << '\n';
}

nlohmann::ordered_json to_json(const bench::RungRow& row) {
  return {{"rung", row.name},
          {"samples_per_second", row.step.samples_per_second},
          {"samples_per_second_least", row.step.least},
          {"samples_per_second_greatest", row.step.greatest},
          {"milliseconds", row.step.milliseconds},
          {"speedup", row.speedup},
          {"peak_memory", row.peak_memory}};
}

void print(const bench::RungRow& row) {
  const std::string memory =
      row.peak_memory == 0 ? ""
                           : fmt::format(", {} at most", format_bytes(static_cast<std::uint64_t>(row.peak_memory)));
  fmt::print("{:<25}{:.1f} samples/s ({:.1f} to {:.1f}), {:.2f} ms a step, {:.2f} times the first{}\n", row.name,
             row.step.samples_per_second, row.step.least, row.step.greatest, row.step.milliseconds, row.speedup,
             memory);
  std::fflush(stdout);  // a ladder takes minutes
}

void climb(const Options& options, const World& world) {
  const bool prints = world.rank() == 0 && !options.json;
  if (prints) fmt::print("{}", heading_text(options, world));
  const auto show = [&](const bench::RungRow& row) {
    if (prints) print(row);
  };
  const auto rows = bench::measure_ladder(world, options.step, show);
  if (world.rank() != 0) return;
  nlohmann::ordered_json value = heading(options, world);
  value["samples_per_second"] = rows.back().step.samples_per_second;
  value["rungs"] = nlohmann::ordered_json::array();
  for (const bench::RungRow& row : rows) value["rungs"].push_back(to_json(row));
  put_out(options, value);
}

void compare_modes(const Options& options, const World& world) {
  const auto rows = bench::measure_step(world, options.step);
  if (world.rank() != 0) return;
  if (!options.json) fmt::print("{}{}", heading_text(options, world), to_text(rows));
  nlohmann::ordered_json value = heading(options, world);
  value["engine"] = options.engine;
  value["samples_per_second"] = rows.back().samples_per_second;
  value["modes"] = nlohmann::ordered_json::array();
  for (const bench::StepRow& row : rows) value["modes"].push_back(to_json(row));
  if (rows.front().trace) {
    value["trace"] = trace::to_json(*rows.front().trace);
    value["trace"]["file"] = options.step.trace_file;
  }
  put_out(options, value);
}

int run(Options options) {
  bench::Recipe& recipe = options.step.recipe;
  options.step.model_options.stem = nn::parse_stem(options.stem);
  options.step.time_per_round = std::chrono::duration<double>(options.seconds);
  options.step.modes.clear();
  for (const std::string& mode : split(options.modes, ',')) options.step.modes.push_back(train::parse_mode(mode));
  recipe.channels_last = options.layout == "channels-last";
  recipe.fused_optimizer = options.optimizer == "fused";
  recipe.engine = kernels::parse_engine(options.engine);
  recipe.settings = {.tf32_matmul = !options.without_tf32,
                     .tf32_convolutions = !options.without_tf32,
                     .autotune = !options.without_autotuning};
  if (!options.profile_steps.empty()) options.step.profiled_steps = bench::parse_step_range(options.profile_steps);
  if (!options.trace.empty()) options.step.traced_steps = trace::parse_window(options.trace);
  options.step.ranges.detail = gpu::parse_range_detail(options.nvtx);
  if (options.device == "cuda" && options.backend == "auto") options.backend = "nccl";
  if (options.step.operations && options.device != "cpu") {
    throw UsageError({.message = "operations are timed on a CPU only: a GPU carries them out later",
                      .found = "--operations with --device " + options.device,
                      .next = "take --nvtx ops and a profiler"});
  }
  const World world({.backend = options.backend});
  if (options.device == "cuda") {
    options.step.device = gpu::use_gpu(world.placement().local_rank.value_or(0));
  }
  options.step.ranges.device = options.step.device;
  if (options.ladder) {
    climb(options, world);
  } else {
    compare_modes(options, world);
  }
  return kExitSuccess;
}

}  // namespace

void add_bench_step(CLI::App& bench, Action& action) {
  CLI::App* verb = bench.add_subcommand("step", "Samples a second of training, and where the time goes");
  auto options = std::make_shared<Options>();
  verb->add_option("--model", options->step.model, "A model by name, such as resnet50, alexnet, mnist or lstm")
      ->capture_default_str();
  verb->add_option("--stem", options->stem, "How a ResNet begins: imagenet, cifar or cifar3x3")->capture_default_str();
  verb->add_option("--classes", options->step.model_options.num_classes, "Of the model's output; 0 for its own number")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  verb->add_option("--batch", options->step.batch, "Samples a step on each rank")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  verb->add_option(
          "--mode", options->modes,
          "ddp, optimizer, zero, data-parallel, sync, barrier or none; several with commas take turns, and are "
          "compared with the first")
      ->capture_default_str();
  verb->add_option("--data", options->step.pictures,
                   "Train on these pictures, a path that bench loader takes too; random numbers unless given");
  verb->add_option("--workers", options->step.workers, "Threads of each rank that load them")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  verb->add_option("--device", options->device)->check(CLI::IsMember({"cpu", "cuda"}))->capture_default_str();
  verb->add_option("--layout", options->layout)
      ->check(CLI::IsMember({"channels-last", "contiguous"}))
      ->capture_default_str();
  CLI::Option* ladder = verb->add_flag(
      "--ladder", options->ladder,
      "Climb the optimizations one by one, from fp32 as libtorch has it to all of them, in the first mode");
  verb->add_option("--precision", options->step.recipe.precision, "fp32, fp16, bf16, or O0 to O3 of Apex")
      ->capture_default_str();
  verb->add_option("--optimizer", options->optimizer, "SGD by one fused kernel, or libtorch's own")
      ->check(CLI::IsMember({"fused", "libtorch"}))
      ->capture_default_str();
  verb->add_option("--engine", options->engine, "Whose code computes: fused is ours, reference libtorch's")
      ->capture_default_str();
  verb->add_flag("--graph", options->step.recipe.graph, "On a GPU: the whole step as a CUDA graph");
  verb->add_flag("--no-tf32", options->without_tf32, "On a GPU: float32 in all its bits");
  verb->add_flag("--no-autotuning", options->without_autotuning, "On a GPU: cuDNN's algorithms by its first guess");
  verb->add_option("--threads", options->step.recipe.threads,
                   "That compute, on each rank; 0 for its share of the cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  verb->add_option("--nvtx", options->nvtx, "Ranges for profilers: off, steps, or ops for every operator too")
      ->capture_default_str();
  verb->add_flag("--nvtx-sync", options->step.ranges.synchronize, "The GPU finishes at both ends of each range");
  verb->add_flag("--profile", options->step.profile,
                 "The last round is a range named PROFILE, between cudaProfilerStart and cudaProfilerStop");
  verb->add_option("--profile-steps", options->profile_steps, "FIRST:COUNT: so are these steps, not the last round");
  CLI::Option* trace = verb->add_option("--trace", options->trace,
                                        "steps=10:15: a timeline of all ranks in the five steps after the tenth, those "
                                        "that warm up included, in the first mode")
                           ->type_name("steps=FIRST:END");
  options->step.trace_file = "lockstep-trace.json";
  verb->add_option("--trace-file", options->step.trace_file, "Where it goes; compressed where the name ends in .gz")
      ->needs(trace)
      ->capture_default_str();
  verb->add_flag("--anatomy", options->step.anatomy,
                 "Look also at the parts of a step, and when each bucket of gradients is ready, in the last mode")
      ->excludes("--graph");
  verb->add_flag("--operations", options->step.operations,
                 "On a CPU: look also at every operation beside the least time that the machine needs for it, in the "
                 "last mode")
      ->excludes("--graph");
  for (const char* fixed : {"--precision", "--layout", "--optimizer", "--engine", "--graph", "--no-tf32",
                            "--no-autotuning", "--trace", "--anatomy", "--operations"}) {
    ladder->excludes(verb->get_option(fixed));
  }
  verb->add_option("--backend", options->backend, "auto, local, gloo, mpi, ccl, local+gloo, local+mpi or nccl")
      ->capture_default_str();
  verb->add_option("--rounds", options->step.rounds, "How often each mode has its turn")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->add_option("--seconds", options->seconds, "Of a turn")->check(CLI::Range(0.01, 3600.0))->capture_default_str();
  verb->add_flag("--json", options->json, "One JSON value on stdout");
  verb->add_option("-o,--output", options->output, "The same JSON value into a file, for lockstep report");
  verb->footer("-n N starts N ranks on this machine.");
  verb->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace lockstep::app
