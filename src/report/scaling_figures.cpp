// The figures of several numbers of ranks: measured by bench scaling, predicted by bench project, or seen in runs.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include <lockstep/base/text.h>

#include "figure.h"
#include "run_progress.h"
#include "split_bars.h"

namespace lockstep::report {
namespace {

// One measured curve over ranks.
struct Curve {
  std::string name;
  std::size_t input = 0;
  bool is_strong = false;  // the same batch for all ranks together
  bool is_bench = true;    // else seen in runs, which nobody projects from
  std::vector<ScalingRow> rows;
};

constexpr std::array kProjected = {Stroke::kDashed, Stroke::kDashDot, Stroke::kLongDash};

std::string ranks_text(double ranks) {
  return ranks >= 0 && ranks < 1e9 ? format_plural(static_cast<std::int64_t>(ranks), "rank") : "unknown ranks";
}

bool is_positive(double value) {
  return std::isfinite(value) && value > 0;
}

// In the order of ranks, with the efficiency where only the rates are known.
void complete(Curve& curve) {
  std::erase_if(curve.rows, [](const ScalingRow& row) { return !is_positive(row.ranks); });
  std::stable_sort(curve.rows.begin(), curve.rows.end(), [](auto& a, auto& b) { return a.ranks < b.ranks; });
  if (curve.rows.empty()) return;
  const double first = curve.rows.front().rate.median / curve.rows.front().ranks;
  for (ScalingRow& row : curve.rows) {
    if (std::isnan(row.efficiency)) row.efficiency = row.rate.median / row.ranks / first;
  }
}

// What runs must have in common to be one training at several numbers of ranks.
std::string common_config(const TrainingRun& run) {
  std::string text;
  for (const Fact& fact : run.config) {
    const bool may_differ = fact.name == "output" || fact.name.starts_with("batch_size") || fact.name == "optimizer.lr";
    if (!may_differ) text += fact.name + "=" + fact.value + "\n";
  }
  return text;
}

void add_curves_of_runs(const Data& data, std::vector<Curve>& curves) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < data.inputs.size(); ++i) {
    const auto* const run = std::get_if<TrainingRun>(&data.inputs[i].content);
    if (run != nullptr && !run->config.empty()) groups[common_config(*run)].push_back(i);
  }
  for (const auto& [config, inputs] : groups) {
    std::map<double, ScalingRow> rows;  // by ranks
    for (const std::size_t i : inputs) {
      const RunSummary summary = summarize(std::get<TrainingRun>(data.inputs[i].content));
      if (!is_positive(summary.ranks) || !is_positive(summary.samples_per_second)) continue;
      rows[summary.ranks] = {.ranks = summary.ranks, .nodes = kUnknown, .rate = {.median = summary.samples_per_second}};
    }
    if (rows.size() < 2) continue;
    Curve curve{.name = data.inputs[inputs.front()].name + " and others",
                .input = inputs.front(),
                .is_bench = false,
                .rows = {}};
    for (const auto& [ranks, row] : rows) curve.rows.push_back(row);
    curves.push_back(std::move(curve));
  }
}

std::vector<Curve> measured_curves(const Data& data) {
  std::vector<Curve> curves;
  for (std::size_t i = 0; i < data.inputs.size(); ++i) {
    const Input& input = data.inputs[i];
    if (const auto* const scaling = std::get_if<Scaling>(&input.content)) {
      curves.push_back({.name = input.name, .input = i, .is_strong = scaling->kind == "strong", .rows = scaling->rows});
    } else if (const auto* const projection = std::get_if<Projection>(&input.content)) {
      if (!projection->measured.empty())
        curves.push_back({.name = input.name, .input = i, .rows = projection->measured});
    }
  }
  add_curves_of_runs(data, curves);
  for (Curve& curve : curves) complete(curve);
  std::erase_if(curves, [](const Curve& curve) { return curve.rows.empty(); });
  return curves;
}

using Value = double (*)(const ScalingRow&);

Series measured_series(const Curve& curve, Value value, bool has_range) {
  Series series{
      .name = curve.name, .kind = "measured", .input = curve.input, .stroke = Stroke::kThick, .has_dots = true};
  for (const ScalingRow& row : curve.rows) {
    series.points.push_back({.x = row.ranks,
                             .y = value(row),
                             .least = has_range ? row.rate.least : kUnknown,
                             .greatest = has_range ? row.rate.greatest : kUnknown});
  }
  return series;
}

// A line for each algorithm of a projection, each with dashes of its own.
void add_projected(const Data& data, double ProjectionRow::*field, std::vector<Series>& all) {
  for (std::size_t i = 0; i < data.inputs.size(); ++i) {
    const auto* const projection = std::get_if<Projection>(&data.inputs[i].content);
    if (projection == nullptr) continue;
    std::map<std::string, Series> by_algorithm;
    for (const ProjectionRow& row : projection->rows) {
      if (!is_positive(row.ranks)) continue;
      Series& series = by_algorithm[row.algorithm];
      series.name = fmt::format("{}, {}", data.inputs[i].name, row.algorithm);
      series.kind = row.algorithm.empty() ? "projected" : row.algorithm;
      series.input = i;
      series.points.push_back({.x = row.ranks, .y = row.*field});
    }
    std::size_t place = 0;
    for (auto& [algorithm, series] : by_algorithm) {
      series.stroke = kProjected[place++ % kProjected.size()];
      sort_points(series);
      all.push_back(std::move(series));
    }
  }
}

double most_projected(const std::vector<Series>& all) {
  double most = 0;
  for (const Series& series : all) {
    const bool is_projected = std::find(kProjected.begin(), kProjected.end(), series.stroke) != kProjected.end();
    if (is_projected && !series.points.empty()) most = std::max(most, series.points.back().x);
  }
  return most;
}

// From the first measured point on, as far as a projection goes: `power` 1 grows with ranks, 0 stays, -1 falls.
Series ideal_series(const Curve& curve, double first, int power, double projected) {
  Series series{.name = curve.name + ", ideal", .kind = "ideal", .input = curve.input, .stroke = Stroke::kDotted};
  const double from = curve.rows.front().ranks;
  const double most = curve.is_bench ? std::max(projected, curve.rows.back().ranks) : curve.rows.back().ranks;
  for (const double ranks : {from, most})
    series.points.push_back({.x = ranks, .y = first * std::pow(ranks / from, power)});
  return series;
}

// The measured numbers of ranks, or powers of two where they are many.
Axis ranks_axis(const std::vector<Series>& all) {
  std::vector<double> ticks;
  for (const Series& series : all) {
    for (const Point& point : series.points) ticks.push_back(point.x);
  }
  std::sort(ticks.begin(), ticks.end());
  ticks.erase(std::unique(ticks.begin(), ticks.end()), ticks.end());
  constexpr std::size_t kMost = 14;
  if (ticks.size() > kMost) {
    const double least = ticks.front(), most = ticks.back();
    ticks.clear();
    for (double tick = 1; tick <= most; tick *= 2) {
      if (tick >= least) ticks.push_back(tick);
    }
  }
  return {.title = "ranks", .is_log = true, .ticks = ticks};
}

struct Wish {
  const char* id;
  const char* title;
  const char* caption;
  Axis y;
};

void add_figure(const Wish& wish, std::vector<Series> series, std::vector<Figure>& figures) {
  std::erase_if(series, is_empty);
  const bool only_ideal =
      std::all_of(series.begin(), series.end(), [](const Series& one) { return one.stroke == Stroke::kDotted; });
  if (only_ideal) return;
  const Axis ranks = ranks_axis(series);
  LineChart chart{.x = ranks, .y = wish.y, .series = std::move(series)};
  figures.push_back({wish.id, wish.title, wish.caption, {{"", std::move(chart)}}});
}

BarChart splits(const std::vector<Curve>& curves) {
  BarChart chart{.axis = {.title = "part of a step", .unit = Unit::kPercent}, .bars = {}};
  for (const Curve& curve : curves) {
    for (const ScalingRow& row : curve.rows) {
      add_split_bar(chart, fmt::format("{}, {}", curve.name, ranks_text(row.ranks)), curve.input, row.split);
    }
  }
  return chart;
}

}  // namespace

std::vector<Figure> scaling_figures(const Data& data) {
  const std::vector<Curve> curves = measured_curves(data);
  std::vector<Figure> figures;
  std::vector<Series> rates, efficiencies, times;
  for (const Curve& curve : curves) {
    rates.push_back(measured_series(
        curve, [](auto& row) { return row.rate.median; }, true));
    efficiencies.push_back(measured_series(
        curve, [](auto& row) { return row.efficiency; }, false));
    times.push_back(measured_series(
        curve, [](auto& row) { return row.milliseconds; }, false));
  }
  add_projected(data, &ProjectionRow::samples_per_second, rates);
  add_projected(data, &ProjectionRow::efficiency, efficiencies);
  const double projected = most_projected(rates);
  for (const Curve& curve : curves) {
    const ScalingRow& first = curve.rows.front();
    rates.push_back(ideal_series(curve, first.rate.median, 1, projected));
    efficiencies.push_back(ideal_series(curve, 1, 0, projected));
    times.push_back(ideal_series(curve, first.milliseconds, curve.is_strong ? -1 : 0, 0));
  }
  add_figure({"scaling",
              "Throughput over ranks",
              "Bars at the points reach from the slowest round to the fastest. Dashes are projected, for each "
              "algorithm of all-reduce.",
              {.title = "samples/s", .is_log = true}},
             std::move(rates), figures);
  add_figure({"efficiency",
              "Efficiency over ranks",
              "Throughput of a rank, as a part of what it was at the fewest ranks.",
              {.title = "efficiency", .unit = Unit::kPercent, .has_zero = true}},
             std::move(efficiencies), figures);
  add_figure({"step-time", "Time of a step over ranks", "", {.title = "milliseconds", .has_zero = true}},
             std::move(times), figures);
  if (BarChart chart = splits(curves); !chart.bars.empty()) {
    figures.push_back({"scaling-time", "Where the time goes, by ranks", "", {{"", std::move(chart)}}});
  }
  return figures;
}

}  // namespace lockstep::report
