#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "draw.h"
#include "markup.h"
#include "palette.h"
#include "scale.h"

namespace lockstep::report {
namespace {

constexpr double kTop = 30, kRow = 38, kBarHeight = 14, kLabelHeight = 16, kBottom = 26;
constexpr double kCharacter = 6.6;

double length_of(const Bar& bar) {
  double length = 0;
  for (const Segment& segment : bar.segments) length += std::isfinite(segment.value) ? segment.value : 0;
  return length;
}

// Room for the longest text at a bar's end.
double room_at_end(const BarChart& chart) {
  std::size_t most = 0;
  for (const Bar& bar : chart.bars) most = std::max(most, bar.text.size());
  return 12 + static_cast<double>(most) * kCharacter;
}

std::vector<std::string> kinds_of(const BarChart& chart) {
  std::vector<std::string> kinds;
  for (const Bar& bar : chart.bars) {
    for (const Segment& segment : bar.segments) {
      if (segment.kind.empty() || std::find(kinds.begin(), kinds.end(), segment.kind) != kinds.end()) continue;
      kinds.push_back(segment.kind);
    }
  }
  return kinds;
}

std::string key_of(const BarChart& chart) {
  const auto width = [](const std::string& kind) {
    return 10 + 5 + static_cast<double>(kind.size()) * kCharacter + 14;
  };
  const std::vector<std::string> kinds = kinds_of(chart);
  double x = kPlotWidth;
  for (const std::string& kind : kinds) x -= width(kind);
  std::string text;
  for (const std::string& kind : kinds) {
    text += fmt::format(R"(<rect class="fill {}" x="{:.1f}" y="4" width="10" height="10"/>)", kind, x);
    text += fmt::format(R"(<text class="key" x="{:.1f}" y="13">{}</text>)", x + 15, escape_markup(kind));
    x += width(kind);
  }
  return text;
}

std::string grid_of(const BarChart& chart, const Ticks& ticks, const Scale& scale, double bottom) {
  std::string text = fmt::format(R"(<text class="axis" x="2" y="13">{} →</text>)", escape_markup(chart.axis.title));
  for (std::size_t i = 0; i < ticks.values.size(); ++i) {
    const double at = scale.at(ticks.values[i]);
    text += fmt::format(R"(<path class="{}" d="M{:.1f},{}V{:.1f}"/>)", i == 0 ? "base" : "grid", at, kTop - 6, bottom);
    text += fmt::format(R"(<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", at, bottom + 14,
                        i == 0 ? "start" : "middle", escape_markup(ticks.texts[i]));
  }
  return text;
}

std::string bar_of(const Bar& bar, const Scale& scale, const Axis& axis, double top) {
  std::string text = fmt::format(R"(<g data-input="{}"><text x="2" y="{:.1f}">{}</text>)", bar.input, top + 11,
                                 escape_markup(shortened(bar.label, 72)));
  double done = 0;
  for (const Segment& segment : bar.segments) {
    if (!std::isfinite(segment.value) || segment.value <= 0) continue;
    const double from = scale.at(done), to = scale.at(done + segment.value);
    const std::string kind = segment.kind.empty() ? colour_class(bar.input) : segment.kind;
    const std::string tip = fmt::format("{}: {}{}", bar.label, segment.kind.empty() ? "" : segment.kind + " ",
                                        number_text(segment.value, axis.unit));
    text += fmt::format(R"(<rect class="fill {}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" data-tip="{}"/>)",
                        kind, from, top + kLabelHeight, std::max(0.5, to - from), kBarHeight, escape_markup(tip));
    done += segment.value;
  }
  const double middle = top + kLabelHeight + kBarHeight / 2;
  double end = scale.at(done);
  if (std::isfinite(bar.least) && std::isfinite(bar.greatest)) {
    text +=
        fmt::format(R"(<path class="bar-whisker" d="M{0:.1f},{1:.1f}H{2:.1f}M{0:.1f},{3:.1f}v6M{2:.1f},{3:.1f}v6"/>)",
                    scale.at(bar.least), middle, scale.at(bar.greatest), middle - 3);
    end = std::max(end, scale.at(bar.greatest));
  }
  text += fmt::format(R"(<text class="value" x="{:.1f}" y="{:.1f}">{}</text></g>)", end + 6, middle + 4,
                      escape_markup(bar.text));
  return text;
}

}  // namespace

Drawing draw(const BarChart& chart) {
  double longest = 0;
  for (const Bar& bar : chart.bars) longest = std::fmax(std::max(longest, length_of(bar)), bar.greatest);
  Axis axis = chart.axis;
  axis.has_zero = true;
  const Ticks ticks = ticks_for(axis, 0, longest, false);
  const Scale scale{.low = 0, .high = ticks.high, .from = 2, .to = kPlotWidth - room_at_end(chart), .is_log = false};
  const double bottom = kTop + kRow * static_cast<double>(chart.bars.size());
  std::string content = grid_of(chart, ticks, scale, bottom) + key_of(chart);
  double top = kTop;
  for (const Bar& bar : chart.bars) {
    content += bar_of(bar, scale, chart.axis, top);
    top += kRow;
  }
  return {.content = std::move(content), .height = bottom + kBottom, .hover = ""};
}

Drawing draw(const Chart& chart) {
  return std::visit([](const auto& one) { return draw(one); }, chart);
}

}  // namespace lockstep::report
