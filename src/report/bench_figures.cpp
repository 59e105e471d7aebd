// The figures of benchmarks of one number of ranks: steps, the ladder, loaders and all-reduce.
#include <cmath>
#include <map>

#include <fmt/format.h>

#include <lockstep/base/text.h>

#include "figure.h"
#include "scale.h"
#include "split_bars.h"

namespace lockstep::report {
namespace {

std::string counted(double count, const char* noun) {
  return count >= 0 && count < 1e9 ? format_plural(static_cast<std::int64_t>(count), noun) : "";
}

Bar rate_bar(const std::string& label, std::size_t input, const Rate& rate, const std::string& more) {
  return {.label = label,
          .input = input,
          .segments = {{"", rate.median}},
          .least = rate.least,
          .greatest = rate.greatest,
          .text = number_text(rate.median) + more};
}

template <typename Content, typename Visit>
void for_each(const Data& data, Visit visit) {
  for (std::size_t i = 0; i < data.inputs.size(); ++i) {
    if (const auto* const content = std::get_if<Content>(&data.inputs[i].content))
      visit(i, data.inputs[i].name, *content);
  }
}

template <typename Content>
std::int64_t count_of(const Data& data) {
  std::int64_t count = 0;
  for_each<Content>(data, [&](auto&&...) { ++count; });
  return count;
}

// "resnet50, batch 32 on each of 2 ranks, cpu"
template <typename Bench>
std::string heading(const Bench& bench) {
  return fmt::format("{}, batch {} on each of {}, {}", bench.model, number_text(bench.batch),
                     counted(bench.ranks, "rank"), bench.device);
}

// What was measured stands once above the bars; with each of them only where there are several such files.
template <typename Bench>
std::string caption(const Data& data) {
  std::string text;
  for_each<Bench>(data, [&](std::size_t, const std::string& name, const Bench& bench) {
    text += (text.empty() ? "" : "; ") + (count_of<Bench>(data) > 1 ? name + ": " : "") + heading(bench);
  });
  return text + ".";
}

template <typename Bench>
std::string label(const Data& data, const std::string& name, const std::string& input) {
  return count_of<Bench>(data) > 1 ? fmt::format("{} ({})", name, input) : name;
}

void add_bars(const char* id, const char* title, const std::string& text, BarChart chart,
              std::vector<Figure>& figures) {
  if (!chart.bars.empty()) figures.push_back({id, title, text, {{"", std::move(chart)}}});
}

void add_ladders(const Data& data, std::vector<Figure>& figures) {
  BarChart chart{.axis = {.title = "samples/s"}, .bars = {}};
  for_each<Ladder>(data, [&](std::size_t input, const std::string& name, const Ladder& ladder) {
    for (const Rung& rung : ladder.rungs) {
      const std::string more = std::isfinite(rung.speedup) ? fmt::format(" · {:.2f}x", rung.speedup) : "";
      chart.bars.push_back(rate_bar(label<Ladder>(data, rung.name, name), input, rung.rate, more));
    }
  });
  add_bars("ladder", "The ladder",
           caption<Ladder>(data) + " Each rung adds one optimization to those before; the factor is over the first.",
           std::move(chart), figures);
}

void add_steps(const Data& data, std::vector<Figure>& figures) {
  BarChart rates{.axis = {.title = "samples/s"}, .bars = {}};
  BarChart splits{.axis = {.title = "part of a step", .unit = Unit::kPercent}, .bars = {}};
  for_each<Steps>(data, [&](std::size_t input, const std::string& name, const Steps& steps) {
    for (const StepRow& row : steps.rows) {
      const std::string more = std::isfinite(row.milliseconds) ? fmt::format(" · {:.1f} ms", row.milliseconds) : "";
      rates.bars.push_back(rate_bar(label<Steps>(data, row.mode, name), input, row.rate, more));
      add_split_bar(splits, label<Steps>(data, row.mode, name), input, row.split);
    }
  });
  add_bars("step", "Training steps, by mode", caption<Steps>(data), std::move(rates), figures);
  add_bars("step-split", "Where the time of a step goes", caption<Steps>(data), std::move(splits), figures);
}

// Over the threads of all ranks where they vary, else only as bars.
void add_loaders(const Data& data, std::vector<Figure>& figures) {
  BarChart bars{.axis = {.title = "samples/s"}, .bars = {}};
  std::map<std::string, Series> by_set;
  for_each<Loader>(data, [&](std::size_t input, const std::string&, const Loader& loader) {
    // The end of a path tells more than its beginning.
    const std::string file = std::filesystem::path(loader.path).filename().string();
    const std::string set = fmt::format("{}, {}", file.empty() ? loader.path : file, loader.augmentation);
    const std::string memory =
        std::isfinite(loader.peak_memory) ? " · " + number_text(loader.peak_memory, Unit::kBytes) : "";
    bars.bars.push_back(rate_bar(
        fmt::format("{}, {} on each of {}", set, counted(loader.workers, "worker"), counted(loader.ranks, "rank")),
        input, loader.rate, memory));
    const auto [at, is_new] = by_set.try_emplace(set, Series{.name = set, .kind = "", .input = input});
    at->second.stroke = Stroke::kThick;
    at->second.has_dots = true;
    const double threads = loader.workers * loader.ranks;
    if (std::isfinite(threads)) {
      at->second.points.push_back({threads, loader.rate.median, loader.rate.least, loader.rate.greatest});
    }
  });
  add_bars("loader", "Loading data", "Samples a second from files to batches, with nobody to use them.",
           std::move(bars), figures);
  LineChart lines{.x = {.title = "worker threads of all ranks", .has_zero = true},
                  .y = {.title = "samples/s", .has_zero = true},
                  .series = {}};
  for (auto& [set, series] : by_set) {
    sort_points(series);
    if (series.points.size() > 1) lines.series.push_back(std::move(series));
  }
  if (lines.series.empty()) return;
  figures.push_back({"loader-workers", "Loading data, by worker threads", "", {{"", std::move(lines)}}});
}

void add_all_reduces(const Data& data, std::vector<Figure>& figures) {
  LineChart bandwidth{.x = {.title = "bytes", .unit = Unit::kBytes, .is_log = true},
                      .y = {.title = "bus bandwidth, GB/s", .has_zero = true},
                      .series = {}};
  for (double tick = 1024; tick < 1e12; tick *= 16) bandwidth.x.ticks.push_back(tick);
  LineChart time = bandwidth;
  time.y = {.title = "microseconds", .is_log = true};
  for_each<AllReduce>(data, [&](std::size_t input, const std::string& name, const AllReduce& all_reduce) {
    Series series{.name = fmt::format("{}: {}, {}", name, all_reduce.backend, counted(all_reduce.ranks, "rank")),
                  .kind = "",
                  .input = input,
                  .stroke = Stroke::kThick,
                  .has_dots = true};
    Series times = series;
    for (const AllReduceRow& row : all_reduce.rows) {
      if (!(row.bytes > 0)) continue;
      series.points.push_back({.x = row.bytes, .y = row.bus_bandwidth});
      times.points.push_back({.x = row.bytes, .y = row.microseconds});
    }
    sort_points(series);
    sort_points(times);
    if (!is_empty(series)) bandwidth.series.push_back(std::move(series));
    if (!is_empty(times)) time.series.push_back(std::move(times));
  });
  if (!bandwidth.series.empty()) {
    figures.push_back({"all-reduce", "All-reduce, bandwidth", "", {{"", std::move(bandwidth)}}});
  }
  if (!time.series.empty()) figures.push_back({"all-reduce-time", "All-reduce, time", "", {{"", std::move(time)}}});
}

}  // namespace

std::vector<Figure> bench_figures(const Data& data) {
  std::vector<Figure> figures;
  add_ladders(data, figures);
  add_steps(data, figures);
  add_loaders(data, figures);
  add_all_reduces(data, figures);
  return figures;
}

}  // namespace lockstep::report
