#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bounds.h"
#include "decimate.h"
#include "draw.h"
#include "markup.h"
#include "palette.h"

namespace lockstep::report {
namespace {

constexpr double kHeight = 300, kTop = 30, kBottom = 38, kRight = 16;
constexpr double kCharacter = 6.6;  // as wide as the widest of the usual fonts has them

const char* stroke_class(Stroke stroke) {
  switch (stroke) {
    case Stroke::kFaint:
      return "faint";
    case Stroke::kThin:
      return "thin";
    case Stroke::kThick:
      return "thick";
    case Stroke::kDashed:
      return "dashed";
    case Stroke::kDashDot:
      return "dash-dot";
    case Stroke::kLongDash:
      return "long-dash";
    case Stroke::kDotted:
      return "dotted";
  }
  return "";
}

struct Plot {
  Ticks x_ticks, y_ticks;
  Scale x, y;
  bool is_cut = false;
};

double widest(const std::vector<std::string>& texts) {
  std::size_t most = 0;
  for (const std::string& text : texts) most = std::max(most, text.size());
  return static_cast<double>(most) * kCharacter;
}

Plot place(const LineChart& chart) {
  const ChartBounds bounds = bounds_of(chart);
  Plot plot{.x_ticks = ticks_for(chart.x, bounds.x.low, bounds.x.high, false),
            .y_ticks = ticks_for(chart.y, bounds.y.low, bounds.y.high, true),
            .x = {},
            .y = {},
            .is_cut = bounds.is_cut};
  const double left = std::max(28.0, widest(plot.y_ticks.texts) + 10);
  plot.x = {plot.x_ticks.low, plot.x_ticks.high, left, kPlotWidth - kRight, plot.x_ticks.is_log};
  plot.y = {plot.y_ticks.low, plot.y_ticks.high, kHeight - kBottom, kTop, plot.y_ticks.is_log};
  return plot;
}

// Every text where it has room; of ticks that lie too close, the later one goes without.
std::string axes_of(const LineChart& chart, const Plot& plot) {
  std::string text;
  for (std::size_t i = 0; i < plot.y_ticks.values.size(); ++i) {
    const double at = plot.y.at(plot.y_ticks.values[i]);
    text += fmt::format(R"(<path class="grid" d="M{:.1f},{:.1f}H{:.1f}"/>)", plot.x.from, at, plot.x.to);
    text += fmt::format(R"(<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", plot.x.from - 6,
                        at + 4, escape_markup(plot.y_ticks.texts[i]));
  }
  text += fmt::format(R"(<path class="base" d="M{:.1f},{:.1f}H{:.1f}"/>)", plot.x.from, plot.y.from, plot.x.to);
  double free_from = -kPlotWidth;
  for (std::size_t i = 0; i < plot.x_ticks.values.size(); ++i) {
    const double at = plot.x.at(plot.x_ticks.values[i]);
    const double half = static_cast<double>(plot.x_ticks.texts[i].size()) * kCharacter / 2;
    if (at < plot.x.from - 1 || at > plot.x.to + 1 || at - half < free_from) continue;
    free_from = at + half + kCharacter;
    text += fmt::format(R"(<path class="base" d="M{:.1f},{:.1f}v4"/>)", at, plot.y.from);
    text += fmt::format(R"(<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", at,
                        plot.y.from + 16, escape_markup(plot.x_ticks.texts[i]));
  }
  const auto title = [](const Axis& axis, bool is_log) { return escape_markup(axis.title) + (is_log ? ", log" : ""); };
  text += fmt::format(R"(<text class="axis" x="{:.1f}" y="{:.1f}" text-anchor="end">{} →</text>)", plot.x.to,
                      kHeight - 6, title(chart.x, plot.x_ticks.is_log));
  text += fmt::format(R"(<text class="axis" x="2" y="13">↑ {}{}</text>)", title(chart.y, plot.y_ticks.is_log),
                      plot.is_cut ? ", beginning cut off" : "");
  return R"(<g class="frame">)" + text + "</g>";
}

double key_width(const std::string& kind) {
  return 18 + 6 + static_cast<double>(kind.size()) * kCharacter + 14;
}

// What the kinds of lines mean, at the top on the right, where there is more than one.
std::string key_of(const LineChart& chart) {
  std::vector<const Series*> kinds;
  for (const Series& series : chart.series) {
    const bool is_known =
        std::any_of(kinds.begin(), kinds.end(), [&](auto* other) { return other->kind == series.kind; });
    if (!series.kind.empty() && !is_known) kinds.push_back(&series);
  }
  if (kinds.size() < 2) return "";
  double width = 0;
  for (const Series* kind : kinds) width += key_width(kind->kind);
  std::string text;
  double x = kPlotWidth - width;
  for (const Series* kind : kinds) {
    text += fmt::format(R"(<path class="line plain {}" d="M{:.1f},9h18"/>)", stroke_class(kind->stroke), x);
    text += fmt::format(R"(<text class="key" x="{:.1f}" y="13">{}</text>)", x + 24, escape_markup(kind->kind));
    x += key_width(kind->kind);
  }
  return text;
}

std::string path_of(const std::vector<Point>& points, const Plot& plot) {
  std::string path;
  bool is_drawing = false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double x = plot.x.at(points[i].x), y = plot.y.at(points[i].y);
    const bool is_there = std::isfinite(x) && std::isfinite(y);
    if (is_there) {
      path += fmt::format("{}{:.1f},{:.1f}", is_drawing ? 'L' : 'M', x, y);
      const bool is_alone = !is_drawing && (i + 1 == points.size() || !std::isfinite(plot.y.at(points[i + 1].y)));
      if (is_alone) path += "h0";  // its round ends make it a dot
    }
    is_drawing = is_there;
  }
  return path;
}

std::string marks_of(const Series& series, const Plot& plot) {
  std::string text;
  const std::string colour = colour_class(series.input);
  for (const Point& point : series.points) {
    const double x = plot.x.at(point.x), y = plot.y.at(point.y);
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    const double least = plot.y.at(point.least), greatest = plot.y.at(point.greatest);
    if (std::isfinite(least) && std::isfinite(greatest)) {
      text += fmt::format(R"(<path class="whisker {}" d="M{:.1f},{:.1f}V{:.1f}"/>)", colour, x, least, greatest);
    }
    if (series.has_dots) {
      text += fmt::format(R"(<circle class="fill {}" cx="{:.1f}" cy="{:.1f}" r="2.6"/>)", colour, x, y);
    }
  }
  return text;
}

// An <svg> shows nothing outside of itself, with room for the dots and lines on its edge.
std::string cut_to_frame(const std::string& curves) {
  constexpr double kEdge = 4, kFrom = kTop - kEdge, kRoom = kHeight - kBottom - kTop + 2 * kEdge;
  return fmt::format(R"(<svg class="curves" y="{0}" width="{1}" height="{2}" viewBox="0 {0} {1} {2}">{3}</svg>)", kFrom,
                     kPlotWidth, kRoom, curves);
}

std::string scale_json(const Scale& scale, const Axis& axis) {
  const char* const unit = axis.unit == Unit::kPercent ? "percent" : axis.unit == Unit::kBytes ? "bytes" : "number";
  const nlohmann::json value = {{"low", scale.low}, {"high", scale.high},    {"from", scale.from},
                                {"to", scale.to},   {"log", scale.is_log},   {"title", axis.title},
                                {"unit", unit},     {"zero", axis.has_zero}, {"ticks", axis.ticks}};
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string range_json(const Bounds& bounds) {
  return std::isfinite(bounds.low) ? fmt::format("[{},{}]", bounds.low, bounds.high) : "null";
}

// As JSON, with as many digits as a tooltip shows and a few more; null for NaN. What is seen needs no more, and a page
// of many runs would be twice as large.
std::string numbers(const std::vector<Point>& points, double Point::*field) {
  std::string text;
  for (const Point& point : points) {
    if (!text.empty()) text += ',';
    text += std::isfinite(point.*field) ? fmt::format("{:.7g}", point.*field) : "null";
  }
  return "[" + text + "]";
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// `bounds` are of all its points, of which `series` has those that are drawn.
std::string series_json(const Series& series, const SeriesBounds& bounds) {
  std::string text =
      fmt::format(R"({{"name":{},"colour":"{}","input":{},"dots":{},"range":{{"x":{},"y":{},"late":{}}},"x":{},"y":{})",
                  quoted(series.name), colour_class(series.input), series.input, series.has_dots, range_json(bounds.x),
                  range_json(bounds.y), range_json(bounds.late), numbers(series.points, &Point::x),
                  numbers(series.points, &Point::y));
  if (std::any_of(series.points.begin(), series.points.end(), [](auto& point) { return std::isfinite(point.least); })) {
    text += fmt::format(R"(,"least":{},"greatest":{})", numbers(series.points, &Point::least),
                        numbers(series.points, &Point::greatest));
  }
  if (series.stroke == Stroke::kDotted) text += R"(,"ruled":true)";  // drawn with a ruler: it has no numbers
  return text + "}";
}

}  // namespace

Drawing draw(const LineChart& chart) {
  const Plot plot = place(chart);
  std::string curves, hover;
  for (const Series& whole : chart.series) {
    Series series = whole;
    series.points = decimate(whole.points, plot.x);
    curves += fmt::format(R"(<g data-input="{}" data-kind="{}"><path class="line {} {}" d="{}"/>{}</g>)", series.input,
                          escape_markup(series.kind), stroke_class(series.stroke), colour_class(series.input),
                          path_of(series.points, plot), marks_of(series, plot));
    hover += (hover.empty() ? "" : ",") + series_json(series, bounds_of(whole, chart));
  }
  return {.content = axes_of(chart, plot) + key_of(chart) + cut_to_frame(curves),
          .height = kHeight,
          .hover = fmt::format(R"({{"x":{},"y":{},"cut":{},"series":[{}]}})", scale_json(plot.x, chart.x),
                               scale_json(plot.y, chart.y), plot.is_cut, hover)};
}

}  // namespace lockstep::report
