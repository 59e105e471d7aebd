// lockstep bench allreduce: bandwidth by size.
#include <iostream>
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/table.h>
#include <lockstep/base/text.h>
#include <lockstep/bench/all_reduce.h>
#include <lockstep/comm/world.h>

#include "verbs.h"

namespace lockstep::app {
namespace {

struct Options {
  std::string backend = "auto";
  std::string sizes = "4K:128M";
  int milliseconds = 500;
  bool json = false;
};

Table to_table(const std::vector<bench::AllReduceRow>& rows) {
  Table table({{.key = "bytes"},
               {.key = "microseconds", .title = "us"},
               {.key = "algbw_gb_per_s", .title = "algbw GB/s"},
               {.key = "busbw_gb_per_s", .title = "busbw GB/s"},
               {.key = "correct"}});
  for (const bench::AllReduceRow& row : rows) {
    table.add_row({row.bytes, row.microseconds, row.algbw_gb_per_s, row.busbw_gb_per_s, row.correct});
  }
  return table;
}

int run(const Options& options) {
  const auto sizes = bench::parse_sizes(options.sizes);
  const World world({.backend = options.backend});
  const auto rows = bench::measure_all_reduce(
      world, {.bytes = sizes, .time_per_size = std::chrono::milliseconds(options.milliseconds)});
  if (world.rank() == 0) {
    const Table table = to_table(rows);
    if (options.json) {
      const nlohmann::ordered_json value = {{"backend", world.backend()},
                                            {"ranks", world.size()},
                                            {"rows", nlohmann::ordered_json::parse(table.to_json())}};
      std::cout << value.dump(2) << '\n';
    } else {
      std::cout << "all-reduce of float32, " << format_plural(world.size(), "rank") << ", " << world.backend() << '\n'
                << table.to_text();
    }
  }
  for (const bench::AllReduceRow& row : rows) {
    if (!row.correct)
      throw RuntimeError("the sum of " + format_bytes(static_cast<std::uint64_t>(row.bytes)) + " was wrong");
  }
  return kExitSuccess;
}

}  // namespace

void add_bench_all_reduce(CLI::App& bench, Action& action) {
  CLI::App* verb =
      bench.add_subcommand("allreduce", "Time and bandwidth of all-reduce by size, and a check of its result");
  auto options = std::make_shared<Options>();
  verb->add_option("--backend", options->backend, "auto, local, gloo, mpi, ccl, local+gloo or local+mpi")
      ->capture_default_str();
  verb->add_option("--sizes", options->sizes, "Bytes: FROM:TO in powers of two, or a list with commas")
      ->capture_default_str();
  verb->add_option("--time", options->milliseconds, "Milliseconds for each size")
      ->check(CLI::Range(1, 600'000))
      ->capture_default_str();
  verb->add_flag("--json", options->json, "One JSON value on stdout");
  verb->footer("-n N starts N ranks on this machine.");
  verb->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace lockstep::app
