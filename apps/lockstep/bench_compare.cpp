// lockstep bench compare: training here beside PyTorch.
#include <iostream>
#include <memory>
#include <tuple>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/text.h>
#include <lockstep/bench/compare.h>
#include <lockstep/kernels/engine.h>

#include "become.h"
#include "verbs.h"

namespace lockstep::app {
namespace {

struct Options {
  bench::CompareOptions compare;
  std::string models, variants, python, json;
  bool alone = false;
};

int run(Options options) {
  bench::CompareOptions& compare = options.compare;
  compare.models = options.models.empty() ? bench::classic_models(compare.device)
                                          : bench::parse_compared_models(options.models, compare.device);
  if (!options.variants.empty()) compare.variants = split(options.variants, ',');
  std::ignore = kernels::parse_engine(compare.engine);
  compare.program = program_beside("lockstep-torch");
  compare.launcher = program_beside("lockstep");
  std::string why;
  if (!options.alone) compare.python = bench::find_python_with_torch(options.python, why);
  if (!why.empty()) {
    std::cerr << "note: PyTorch is not measured, our own figures follow (" << escape_controls(why)
              << "); --python PATH names a Python that has torch and torchvision\n";
  }
  const auto rows = bench::measure_compare(compare, [](const std::string& line) { std::cerr << line << std::endl; });
  const std::string value = bench::to_json(compare, rows).dump(2) + "\n";
  if (options.json == "-") {
    std::cout << value;
    return kExitSuccess;
  }
  if (!options.json.empty()) files::write_atomically(options.json, value);
  std::cout << bench::to_text(compare, rows);
  return kExitSuccess;
}

}  // namespace

void add_bench_compare(CLI::App& bench, Action& action) {
  CLI::App* verb = bench.add_subcommand("compare", "Training here and in PyTorch, in turns: speed, ratio, memory");
  auto options = std::make_shared<Options>();
  bench::CompareOptions& compare = options->compare;
  verb->add_option("--models", options->models,
                   "MODEL[:BATCH] with commas, such as resnet50-cifar,mnist:64; unless given, the classic ones")
      ->type_name("LIST");
  verb->add_option("--device", compare.device)->check(CLI::IsMember({"cpu", "cuda"}))->capture_default_str();
  verb->add_option("--precision", compare.precision)->check(CLI::IsMember({"fp32", "bf16"}))->capture_default_str();
  verb->add_option("--engine", compare.engine, "Whose code computes: fused is ours, reference libtorch's")
      ->capture_default_str();
  verb->add_option("--ranks", compare.ranks, "Ranks of DDP on this machine, on both sides")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  verb->add_option("--rounds", compare.rounds, "How often each side has its turn")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->add_option("--seconds", compare.seconds, "Of a turn")->check(CLI::Range(0.01, 600.0))->capture_default_str();
  CLI::Option* python = verb->add_option("--python", options->python,
                                         "With torch and torchvision; else LOCKSTEP_PARITY_PYTHON, else python3")
                            ->type_name("PATH");
  CLI::Option* variants =
      verb->add_option("--variants", options->variants,
                       "Of PyTorch, with commas; unless given, all: on CPUs eager, channels-last, compile and "
                       "channels-last+compile, on GPUs eager, graph, reduce-overhead and max-autotune")
          ->type_name("LIST");
  verb->add_flag("--alone", options->alone, "Ours only, where PyTorch is there too")
      ->excludes(python)
      ->excludes(variants);
  verb->add_flag("--json{-}", options->json, "One JSON value on stdout; --json=FILE: into a file")->type_name("FILE");
  verb->footer("lockstep bench compare --models resnet18-cifar,lstm:32 --rounds 3");
  verb->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace lockstep::app
