#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include <lockstep/optim/schedule_trace.h>

namespace lockstep::optim {
namespace {

// Dots to set, several in each character.
class Canvas {
 public:
  Canvas(std::size_t width, std::size_t height, bool unicode)
      : width_(width), height_(height), unicode_(unicode), cells_(width * height) {}

  std::size_t columns() const { return width_ * across(); }
  std::size_t rows() const { return height_ * down(); }

  // Row 0 is the lowest.
  void set(std::size_t column, std::size_t row) {
    // The bits of a Braille pattern, by column and by row from below.
    constexpr std::array<std::array<unsigned, 4>, 2> kBits = {{{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}}};
    const unsigned bit = unicode_ ? kBits.at(column % 2).at(row % 4) : 1;
    cells_[(height_ - 1 - row / down()) * width_ + column / across()] |= bit;
  }

  std::string line(std::size_t line) const {
    std::string text;
    for (std::size_t i = 0; i < width_; ++i) text += character(cells_[line * width_ + i]);
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

 private:
  std::size_t across() const { return unicode_ ? 2 : 1; }
  std::size_t down() const { return unicode_ ? 4 : 1; }

  std::string character(unsigned cell) const {
    if (cell == 0) return " ";
    if (!unicode_) return "*";
    // U+2800 and the bits, in UTF-8.
    const std::array bytes = {'\xE2', static_cast<char>(0xA0 | (cell >> 6)), static_cast<char>(0x80 | (cell & 0x3F))};
    return {bytes.begin(), bytes.end()};
  }

  std::size_t width_, height_;
  bool unicode_;
  std::vector<unsigned> cells_;
};

// A column shows all points that fall into it, and is joined to the one before.
void draw(Canvas& canvas, const std::vector<RatePoint>& points, double highest) {
  const auto row_of = [&](double rate) {
    return static_cast<std::size_t>(std::lround(rate / highest * static_cast<double>(canvas.rows() - 1)));
  };
  std::size_t before = row_of(points.front().rate);
  for (std::size_t column = 0; column < canvas.columns(); ++column) {
    const std::size_t first = column * points.size() / canvas.columns();
    const std::size_t last = std::max(first + 1, (column + 1) * points.size() / canvas.columns());
    std::size_t low = before, high = before;
    for (std::size_t i = first; i < last; ++i) {
      before = row_of(points[i].rate);
      low = std::min(low, before);
      high = std::max(high, before);
    }
    for (std::size_t row = low; row <= high; ++row) canvas.set(column, row);
  }
}

std::string number(double value) {
  return fmt::format("{:.4g}", value);
}

// "0        45        90", with the last at the right end.
std::string axis_labels(const Trace& trace, std::size_t width) {
  const auto label = [&](std::size_t i) { return number(trace.time_of(trace.points[i])); };
  std::string line(width, ' ');
  const auto put = [&](const std::string& text, std::size_t at) { line.replace(at, text.size(), text); };
  const std::string last = label(trace.points.size() - 1), middle = label((trace.points.size() - 1) / 2);
  put(label(0), 0);
  if (trace.points.size() > 2) put(middle, (width - middle.size()) / 2);
  if (trace.points.size() > 1) put(last, width - last.size());
  return line;
}

}  // namespace

std::string plot(const Trace& trace, const PlotOptions& options) {
  constexpr int kLeastWidth = 40;  // room for labels and some curve
  const auto height = static_cast<std::size_t>(std::max(options.height, 3));
  double highest = 0;
  for (const RatePoint& point : trace.points) highest = std::max(highest, point.rate);
  if (highest <= 0) highest = 1;
  const std::string top = number(highest), middle = number(highest / 2);
  const std::size_t margin = std::max({top.size(), middle.size(), std::string_view("rate").size()});
  const std::size_t width = static_cast<std::size_t>(std::max(options.width, kLeastWidth)) - margin - 2;

  Canvas canvas(width, height, options.unicode);
  draw(canvas, trace.points, highest);
  const std::string_view tick = options.unicode ? "┤" : "+", bar = options.unicode ? "│" : "|";
  std::string text = fmt::format("{:>{}}\n", "rate", margin);
  for (std::size_t line = 0; line < height; ++line) {
    const bool labelled = line == 0 || line == height / 2 || line + 1 == height;
    const std::string label = line == 0 ? top : line == height / 2 ? middle : labelled ? "0" : "";
    text += fmt::format("{:>{}} {}{}\n", label, margin, labelled ? tick : bar, canvas.line(line));
  }
  std::string floor;
  for (std::size_t i = 0; i < width; ++i) floor += options.unicode ? "─" : "-";
  text += fmt::format("{:>{}} {}{}\n", "", margin, options.unicode ? "└" : "+", floor);
  const std::string unit = trace.clock == Clock::kSteps ? "step" : "epoch";
  text += fmt::format("{:>{}}  {}\n", "", margin, axis_labels(trace, width));
  return text + fmt::format("{:>{}}  {:>{}}\n", "", margin, unit, (width + unit.size()) / 2);
}

}  // namespace lockstep::optim
