#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "draw.h"
#include "markup.h"
#include "palette.h"

namespace lockstep::report {
namespace {

constexpr double kMargin = 16, kTitle = 26, kLegendLine = 16;

struct Block {
  std::string content;  // of a <g>
  double height = 0;
};

std::vector<std::size_t> inputs_of(const Chart& chart) {
  std::vector<std::size_t> inputs;
  const auto add = [&](const auto& things) {
    for (const auto& thing : things) inputs.push_back(thing.input);
  };
  if (const auto* const lines = std::get_if<LineChart>(&chart)) add(lines->series);
  if (const auto* const bars = std::get_if<BarChart>(&chart)) add(bars->bars);
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  return inputs;
}

// The inputs of a plot with their colours, line by line. Bars bear their names themselves.
Block legend_of(const Chart& chart, const Data& data) {
  Block legend;
  if (std::holds_alternative<BarChart>(chart)) return legend;
  double x = 0, y = 0;
  for (const std::size_t input : inputs_of(chart)) {
    const std::string name = shortened(data.inputs[input].name, 40);
    const double width = 30 + static_cast<double>(name.size()) * 6.2;
    if (x > 0 && x + width > kPlotWidth) {
      x = 0;
      y += kLegendLine;
    }
    legend.content += fmt::format(R"(<rect class="fill {}" x="{:.1f}" y="{:.1f}" width="10" height="10"/>)",
                                  colour_class(input), x, y);
    legend.content += fmt::format(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", x + 15, y + 9, escape_markup(name));
    x += width;
  }
  legend.height = y + kLegendLine + 8;
  return legend;
}

std::string moved(double x, double y, const std::string& content) {
  return fmt::format("<g transform=\"translate({:.1f} {:.1f})\">{}</g>", x, y, content);
}

Block block_of(const Figure& figure, const Data& data) {
  const Chart& chart = figure.views.front().chart;
  const Block legend = legend_of(chart, data);
  const Drawing drawing = draw(chart);
  Block block;
  block.content = fmt::format(R"(<text class="title" x="0" y="14">{}</text>)", escape_markup(figure.title)) +
                  moved(0, kTitle, legend.content) + moved(0, kTitle + legend.height, drawing.content);
  block.height = kTitle + legend.height + drawing.height;
  return block;
}

}  // namespace

std::string to_svg(const Figure& figure, const Data& data) {
  return to_svg(std::vector<Figure>{figure}, data);
}

std::string to_svg(const std::vector<Figure>& figures, const Data& data) {
  const std::size_t columns = figures.size() > 1 ? 2 : 1;
  std::string content;
  double y = kMargin;
  for (std::size_t i = 0; i < figures.size(); i += columns) {
    double tallest = 0;
    for (std::size_t column = 0; column < columns && i + column < figures.size(); ++column) {
      const Block block = block_of(figures[i + column], data);
      content += moved(kMargin + static_cast<double>(column) * (kPlotWidth + 2 * kMargin), y, block.content);
      tallest = std::max(tallest, block.height);
    }
    y += tallest + kMargin;
  }
  const double width = static_cast<double>(columns) * (kPlotWidth + 2 * kMargin);
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}">)"
      R"(<style>{2}</style><rect class="paper" width="100%" height="100%"/>{3}</svg>)",
      width, std::ceil(y), plot_style(Scheme::kLight), content);
}

}  // namespace lockstep::report
