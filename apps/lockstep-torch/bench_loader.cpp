// lockstep bench loader: samples a second from files to batches.
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>

#include <lockstep/base/affinity_mask.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/bench/loader.h>
#include <lockstep/comm/world.h>
#include <lockstep/data/augmentation.h>
#include <lockstep/data/open_pictures.h>

#include "verbs.h"

namespace lockstep::app {
namespace {

struct Options {
  bench::LoaderBenchOptions loader;
  std::string path;
  std::string augmentation = "imagenet-train";
  int side = 0;
  bool json = false;
};

int run(Options options) {
  const auto augmentation = data::parse_augmentation(options.augmentation);
  const bool small = augmentation == data::Augmentation::kCifarTrain;
  const int side = options.side > 0 ? options.side : small ? 32 : 224;
  options.loader.transforms = data::make_transforms(augmentation, {side, side});
  const World world;
  const auto report = bench::measure_loader(world, data::open_pictures(options.path), options.loader);
  if (world.rank() != 0) return kExitSuccess;
  if (options.json) {
    std::cout << nlohmann::ordered_json{{"path", options.path},
                                        {"augmentation", options.augmentation},
                                        {"ranks", world.size()},
                                        {"workers", options.loader.workers},
                                        {"batch", options.loader.batch},
                                        {"samples", report.samples},
                                        {"samples_per_second", report.samples_per_second},
                                        {"samples_per_second_least", report.least},
                                        {"samples_per_second_greatest", report.greatest},
                                        {"epochs", report.epochs},
                                        {"peak_memory_bytes", report.peak_memory}}
                     .dump(2)
              << '\n';
  } else {
    fmt::print("{}, {}, {} on each of {}\n{:.1f} samples/s ({:.1f} to {:.1f}) in {} of {} samples, {} of memory\n",
               options.path, options.augmentation, format_plural(options.loader.workers, "worker"),
               format_plural(world.size(), "rank"), report.samples_per_second, report.least, report.greatest,
               format_plural(options.loader.epochs, "epoch"), format_count(report.samples),
               format_bytes(static_cast<std::uint64_t>(report.peak_memory)));
  }
  return kExitSuccess;
}

}  // namespace

void add_bench_loader(CLI::App& bench, Action& action) {
  CLI::App* verb = bench.add_subcommand("loader", "Samples a second from files to batches, with nobody to use them");
  auto options = std::make_shared<Options>();
  options->loader.workers = std::max(1, AffinityMask::current().count());
  verb->add_option("path", options->path,
                   "A folder with a folder for each class, a packed file, CIFAR's or MNIST's folder, or "
                   "synthetic:WIDTHxHEIGHT")
      ->required();
  verb->add_option("--workers", options->loader.workers, "Threads of each rank; as many as it has cores unless given")
      ->check(CLI::Range(1, 1024));
  verb->add_option("--augmentation", options->augmentation,
                   "imagenet-train, imagenet-test, cifar-train, cifar-test or none")
      ->capture_default_str();
  verb->add_option("--size", options->side, "Side of the pictures that come out; 224, or 32 for cifar-train")
      ->check(CLI::Range(1, 4096));
  verb->add_option("--batch", options->loader.batch, "Samples in a batch of a rank")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  verb->add_option("--prefetch", options->loader.prefetch, "Batches that are made ahead")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  verb->add_option("--epochs", options->loader.epochs)->check(CLI::Range(1, 1000))->capture_default_str();
  verb->add_option("--samples", options->loader.max_samples, "At most so many in an epoch; 0 for all")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->capture_default_str();
  verb->add_flag("--json", options->json, "One JSON value on stdout");
  verb->footer("-n N starts N ranks on this machine.");
  verb->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace lockstep::app
