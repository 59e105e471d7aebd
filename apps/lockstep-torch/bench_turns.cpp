// lockstep bench turns: our side of `lockstep bench compare`, which asks for turns by lines on stdin. Not for users.
#include <iostream>
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/bench/turns.h>
#include <lockstep/comm/world.h>
#include <lockstep/gpu/device.h>

#include "verbs.h"

namespace lockstep::app {
namespace {

struct Options {
  bench::StepOptions step;
  std::string device = "cpu", stem = "imagenet", engine = "fused";
};

int run(Options options) {
  const bool on_gpu = options.device == "cuda";
  options.step.model_options.stem = nn::parse_stem(options.stem);
  options.step.recipe.engine = kernels::parse_engine(options.engine);
  options.step.recipe.graph = on_gpu;
  const World world({.backend = on_gpu ? "nccl" : "auto"});
  options.step.modes = {world.size() > 1 ? train::Mode::kDdp : train::Mode::kNone};
  if (on_gpu) options.step.device = gpu::use_gpu(world.placement().local_rank.value_or(0));
  bench::serve_turns(world, options.step, std::cin, std::cout);
  return kExitSuccess;
}

}  // namespace

void add_bench_turns(CLI::App& bench, Action& action) {
  CLI::App* verb = bench.add_subcommand("turns", "Trains in turns that are asked for by lines on stdin")->group("");
  auto options = std::make_shared<Options>();
  verb->add_option("--model", options->step.model)->required();
  verb->add_option("--stem", options->stem);
  verb->add_option("--classes", options->step.model_options.num_classes)->check(CLI::Range(1, 1'000'000));
  verb->add_option("--batch", options->step.batch)->check(CLI::Range(1, 1 << 20));
  verb->add_option("--device", options->device)->check(CLI::IsMember({"cpu", "cuda"}));
  verb->add_option("--precision", options->step.recipe.precision);
  verb->add_option("--engine", options->engine);
  verb->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace lockstep::app
