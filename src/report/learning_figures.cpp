// The figures of training runs: curves over epochs, steps and time, and where the time went.
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "figure.h"
#include "run_progress.h"
#include "split_bars.h"

namespace lockstep::report {
namespace {

using Field = double MetricsRow::*;

// The time axis has one unit for all runs.
struct TimeUnit {
  const char* name;
  double seconds;
};

struct Runs {
  std::vector<std::size_t> inputs;
  std::vector<const TrainingRun*> runs;
  std::vector<RunProgress> progress;
  TimeUnit time{"seconds", 1};
  bool have_epochs = false;
};

TimeUnit time_unit(double longest) {
  constexpr double kMinute = 60, kHour = 3600;
  if (longest > 3 * kHour) return {"hours", kHour};
  return longest > 3 * kMinute ? TimeUnit{"minutes", kMinute} : TimeUnit{"seconds", 1};
}

Runs runs_of(const Data& data) {
  Runs all;
  double longest = 0;
  for (std::size_t i = 0; i < data.inputs.size(); ++i) {
    const auto* const run = std::get_if<TrainingRun>(&data.inputs[i].content);
    if (run == nullptr) continue;
    all.inputs.push_back(i);
    all.runs.push_back(run);
    all.progress.emplace_back(run->rows);
    for (const MetricsRow& row : run->rows) {
      longest = std::fmax(longest, all.progress.back().seconds(row));
      all.have_epochs = all.have_epochs || row.is_epoch;
    }
  }
  all.time = time_unit(longest);
  return all;
}

struct Kind {
  const char* name;
  bool is_test, is_epoch;
  Stroke stroke;
};

Series series_of(const Data& data, const Runs& all, std::size_t i, const Kind& kind, Field field,
                 const std::function<double(const MetricsRow&, const RunProgress&)>& x) {
  Series series{.name = data.inputs[all.inputs[i]].name + (*kind.name == '\0' ? "" : fmt::format(", {}", kind.name)),
                .kind = kind.name,
                .input = all.inputs[i],
                .stroke = kind.stroke};
  for (const MetricsRow& row : all.runs[i]->rows) {
    if (row.is_test != kind.is_test || row.is_epoch != kind.is_epoch) continue;
    const double at = x(row, all.progress[i]);
    if (std::isfinite(at)) series.points.push_back({.x = at, .y = row.*field});
  }
  // Clocks may have been set back, and a point to the left of the one before makes a knot of the curve.
  sort_points(series);
  constexpr std::size_t kMostDots = 60;
  series.has_dots = kind.stroke != Stroke::kFaint && kind.is_epoch && series.points.size() <= kMostDots;
  return series;
}

// The same curves over each of the axes.
std::vector<View> views_of(const Data& data, const Runs& all, const std::vector<Kind>& kinds, Field field,
                           const Axis& y) {
  struct Over {
    std::string name, title;
    std::function<double(const MetricsRow&, const RunProgress&)> x;
  };
  std::vector<Over> axes = {
      {"steps", "step", [](auto& row, auto&) { return static_cast<double>(row.step); }},
      {"time", all.time.name, [&](auto& row, auto& progress) { return progress.seconds(row) / all.time.seconds; }}};
  if (all.have_epochs) {
    axes.insert(axes.begin(), {"epochs", "epoch", [](auto& row, auto& progress) { return progress.epochs(row); }});
  }
  std::vector<View> views;
  for (const Over& over : axes) {
    LineChart chart{.x = {.title = over.title, .has_zero = true}, .y = y, .series = {}};
    for (std::size_t i = 0; i < all.runs.size(); ++i) {
      for (const Kind& kind : kinds) {
        Series series = series_of(data, all, i, kind, field, over.x);
        // What training says of its steps, its epochs say too, if it says nothing of steps.
        if (is_empty(series) && !kind.is_test && !kind.is_epoch && kind.stroke != Stroke::kFaint) {
          series = series_of(data, all, i, {kind.name, false, true, kind.stroke}, field, over.x);
        }
        if (!is_empty(series)) chart.series.push_back(std::move(series));
      }
    }
    if (!chart.series.empty()) views.push_back({over.name, std::move(chart)});
  }
  return views;
}

// Whether values of one sign differ so much that only a logarithm shows the small ones.
bool wants_log(const Runs& all, Field field) {
  double low = kUnknown, high = kUnknown;
  for (const TrainingRun* run : all.runs) {
    for (const MetricsRow& row : run->rows) {
      if (!std::isfinite(row.*field)) continue;
      low = std::fmin(low, row.*field);
      high = std::fmax(high, row.*field);
    }
  }
  constexpr double kMuch = 100;
  return low > 0 && high > kMuch * low;
}

Figure split_figure(const Data& data, const Runs& all) {
  BarChart chart{.axis = {.title = "part of the time of training", .unit = Unit::kPercent}, .bars = {}};
  for (std::size_t i = 0; i < all.runs.size(); ++i) {
    add_split_bar(chart, data.inputs[all.inputs[i]].name, all.inputs[i], summarize(*all.runs[i]).split);
  }
  return {.id = "time",
          .title = "Where the time went",
          .caption =
              "Data: waiting for batches. Communication: waiting for other ranks after backward; where it is not "
              "known, as on GPUs, it is part of compute.",
          .views = {{"", std::move(chart)}}};
}

}  // namespace

std::vector<Figure> learning_figures(const Data& data) {
  const Runs all = runs_of(data);
  std::vector<Figure> figures;
  const auto add = [&](const char* id, const char* title, const char* caption, const std::vector<Kind>& kinds,
                       Field field, const Axis& y) {
    auto views = views_of(data, all, kinds, field, y);
    if (!views.empty()) figures.push_back({id, title, caption, std::move(views)});
  };
  const std::vector<Kind> curves = {{"each few steps", false, false, Stroke::kFaint},
                                    {"train", false, true, Stroke::kThin},
                                    {"test", true, true, Stroke::kThick}};
  const std::vector<Kind> training = {{"", false, false, Stroke::kThin}};
  add("loss", "Loss", "", curves, &MetricsRow::loss, {.title = "loss", .is_log = wants_log(all, &MetricsRow::loss)});
  add("top1", "Top-1 accuracy", "", curves, &MetricsRow::top1, {.title = "top-1", .unit = Unit::kPercent});
  add("top5", "Top-5 accuracy", "", curves, &MetricsRow::top5, {.title = "top-5", .unit = Unit::kPercent});
  add("rate", "Learning rate", "", training, &MetricsRow::learning_rate, {.title = "learning rate", .has_zero = true});
  add("throughput", "Throughput", "Samples a second of all ranks together, without evaluation and checkpoints.",
      training, &MetricsRow::samples_per_second, {.title = "samples/s", .has_zero = true});
  Figure split = split_figure(data, all);
  if (!std::get<BarChart>(split.views.front().chart).bars.empty()) figures.push_back(std::move(split));
  return figures;
}

}  // namespace lockstep::report
