// lockstep bench project: sizes that nobody has measured.
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/table.h>
#include <lockstep/base/text.h>
#include <lockstep/bench/projection.h>

#include "verbs.h"

namespace lockstep::app {
namespace {

struct Options {
  std::string from, ranks = "16:4096", network, output;
  std::vector<std::string> algorithms;
  double bucket_megabytes = 0;
  std::optional<double> jitter;  // in percent
  bool json = false;
};

std::string to_text(const bench::Measured& measured, const bench::ProjectionOptions& options,
                    const std::vector<bench::ProjectedRow>& rows) {
  const trace::Anatomy& step = measured.step;
  std::int64_t bytes = 0;
  for (const trace::ReadyBucket& bucket : step.buckets) bytes += bucket.bytes;
  std::string text = fmt::format(
      "{} on {}\nmeasured: {:.1f} samples/s on {}; a step of {} samples takes a rank {:.2f} ms, backward {:.2f} of "
      "them;\n"
      "  {} of gradients in {}, jitter {:.1f}%\n",
      measured.name, options.network.text, measured.sizes.front().samples_per_second,
      format_plural(measured.sizes.front().ranks, "rank"), measured.samples_of_rank, step.step, step.backward,
      format_bytes(static_cast<std::uint64_t>(bytes)), format_plural(std::ssize(step.buckets), "bucket"),
      options.jitter.value_or(step.jitter) * 100);
  Table table({{"ranks", "", 0},
               {"nodes", "", 0},
               {"algorithm", "", 0},
               {"samples_per_second", "samples/s", 0},
               {"efficiency", "", 1},
               {"milliseconds", "ms a step", 2},
               {"communication", "communication ms", 2},
               {"exposed", "exposed ms", 2},
               {"waiting", "for the slowest ms", 2}});
  for (const bench::ProjectedRow& row : rows) {
    table.add_row({row.ranks, row.nodes, std::string(bench::to_text(row.algorithm)), row.samples_per_second,
                   fmt::format("{:.1f}%", row.efficiency * 100), row.milliseconds, row.communication, row.exposed,
                   row.waiting});
  }
  return text + table.to_text() + "A prediction by a model, which docs/scaling.md states; nothing here was measured.\n";
}

int run(const Options& options) {
  const bench::Measured measured = bench::read_measured(options.from);
  const std::string network = options.network.empty() ? measured.network : options.network;
  if (network.empty()) {
    std::vector<std::string> names;
    for (const auto& preset : bench::network_presets()) names.push_back(preset.name);
    throw UsageError(
        {.message = "no network is given",
         .expected = "--network with " + format_some(names, names.size()) + ", or latency=2us,bandwidth=100Gb/s"});
  }
  bench::ProjectionOptions projection{.ranks = bench::parse_sizes_of_job(options.ranks),
                                      .network = bench::parse_network(network),
                                      .bucket_megabytes = options.bucket_megabytes};
  if (options.jitter) projection.jitter = *options.jitter / 100;
  if (!options.algorithms.empty()) projection.algorithms.clear();
  for (const std::string& name : options.algorithms) projection.algorithms.push_back(bench::parse_algorithm(name));
  const auto rows = bench::project(measured, projection);
  const auto value = bench::to_json(measured, projection, rows);
  if (!options.output.empty()) files::write_atomically(options.output, value.dump(2) + "\n");
  std::cout << (options.json ? value.dump(2) + "\n" : to_text(measured, projection, rows));
  return kExitSuccess;
}

}  // namespace

void add_bench_project(CLI::App& bench, Action& action) {
  CLI::App* verb =
      bench.add_subcommand("project", "Predicts larger sizes from a measured one and a model of a network");
  auto options = std::make_shared<Options>();
  verb->add_option("--from", options->from,
                   "What lockstep bench scaling -o has written, or a run's folder with a trace")
      ->required();
  verb->add_option("--ranks", options->ranks, "FROM:TO, doubling; or a list such as 16,48,96")->capture_default_str();
  verb->add_option("--network", options->network,
                   "latency=2us,bandwidth=100Gb/s,ranks_per_node=8,intra=nvlink4; or a preset's name in place of the "
                   "first two, such as hdr-ib")
      ->type_name("SPEC");
  verb->add_option("--algorithm", options->algorithms, "ring, tree, hierarchical; all of them unless said")
      ->delimiter(',');
  verb->add_option("--bucket-megabytes", options->bucket_megabytes,
                   "Buckets that follow one another are sent as one, up to so much; 0: as they were measured")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  verb->add_option("--jitter", options->jitter, "Percent by which steps of a rank differ; else as it was measured")
      ->check(CLI::Range(0.0, 1000.0));
  verb->add_option("-o,--output", options->output, "The results as JSON, for lockstep report");
  verb->add_flag("--json", options->json, "One JSON value on stdout");
  verb->footer(
      "lockstep bench project --from scaling.json --ranks 16:4096 --network hdr-ib,ranks_per_node=4,intra=nvlink3");
  verb->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace lockstep::app
