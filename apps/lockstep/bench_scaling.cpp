// lockstep bench scaling: training on more and more ranks.
#include <iostream>
#include <memory>
#include <tuple>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/bench/scaling.h>
#include <lockstep/kernels/engine.h>

#include "become.h"
#include "verbs.h"

namespace lockstep::app {
namespace {

struct Options {
  bench::ScalingOptions scaling;
  std::string output;
  bool weak = false;  // so it is without it, too
  bool json = false;
};

int run(Options options) {
  std::ignore = kernels::parse_engine(options.scaling.engine);  // before any rank begins
  options.scaling.program = program_beside("lockstep-torch");
  const auto rows = bench::measure_scaling(options.scaling, [](const std::string& line) { std::cerr << line << '\n'; });
  const auto value = bench::to_json(options.scaling, rows);
  if (!options.output.empty()) files::write_atomically(options.output, value.dump(2) + "\n");
  if (options.json) {
    std::cout << value.dump(2) << '\n';
  } else {
    std::cout << bench::to_text(options.scaling, rows);
  }
  for (const bench::ScalingRow& row : rows) {
    if (!row.failure.empty()) return kExitFailure;
  }
  return kExitSuccess;
}

}  // namespace

void add_bench_scaling(CLI::App& bench, Action& action) {
  CLI::App* verb =
      bench.add_subcommand("scaling", "Training on more and more ranks: speed, efficiency, where time goes");
  auto options = std::make_shared<Options>();
  bench::ScalingOptions& scaling = options->scaling;
  verb->add_option("--model", scaling.model, "A model by name, such as resnet50, alexnet, mnist or lstm")
      ->capture_default_str();
  verb->add_option("--ranks", scaling.ranks, "Numbers of ranks: 1,2,4,8")
      ->delimiter(',')
      ->required()
      ->check(CLI::Range(1, 65'536));
  CLI::Option* weak =
      verb->add_flag("--weak", options->weak, "Each rank has the same batch at all sizes; so it is unless said");
  verb->add_flag("--strong", scaling.strong, "All ranks together have the same samples of a step at all sizes")
      ->excludes(weak);
  verb->add_option("-b,--batch", scaling.batch, "Samples a step on each rank, at the smallest size")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  verb->add_option("--precision", scaling.precision, "fp32, fp16, bf16, or O0 to O3 of Apex")->capture_default_str();
  verb->add_option("--mode", scaling.mode, "ddp, optimizer, zero or sync; mode none is measured beside it")
      ->capture_default_str();
  verb->add_option("--device", scaling.device)->check(CLI::IsMember({"cpu", "cuda"}))->capture_default_str();
  verb->add_option("--backend", scaling.backend, "How ranks talk: auto, local, gloo, ccl, nccl")->capture_default_str();
  verb->add_option("--engine", scaling.engine, "Whose code computes: fused is ours, reference libtorch's")
      ->capture_default_str();
  verb->add_flag("--graph", scaling.graph,
                 "On a GPU: the whole step as a CUDA graph; nothing can be projected from it");
  verb->add_option(
          "--threads", scaling.threads,
          "That compute, on each rank at all sizes; 0: on CPUs, what the largest size that fits leaves to each")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  verb->add_option("--rounds", scaling.rounds, "How often each size has its turn")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->add_option("--seconds", scaling.seconds, "Of a turn, for each of the two modes")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  verb->add_option("-o,--output", options->output,
                   "The results as JSON, for lockstep report and lockstep bench project");
  verb->add_flag("--json", options->json, "One JSON value on stdout");
  verb->add_option("--step-options", scaling.words, "Further words for lockstep bench step, behind all others")
      ->expected(1, 1000);
  verb->footer("lockstep bench scaling --model resnet18 --ranks 1,2,4 -b 16 -o scaling.json");
  verb->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace lockstep::app
