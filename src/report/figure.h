// What is to be drawn, before it has a place: curves and bars with the axes that they belong to.
#pragma once
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include <lockstep/report/data.h>

namespace lockstep::report {

enum class Unit { kNumber, kPercent, kBytes };  // kPercent: the values are parts of 1

struct Axis {
  std::string title;
  Unit unit = Unit::kNumber;
  bool is_log = false;
  bool has_zero = false;           // begins at 0, wherever the values lie
  std::vector<double> ticks = {};  // empty: round numbers
};

struct Point {
  double x = 0, y = kUnknown;
  double least = kUnknown, greatest = kUnknown;  // of several measurements; drawn as a whisker
};

enum class Stroke { kFaint, kThin, kThick, kDashed, kDashDot, kLongDash, kDotted };

struct Series {
  std::string name;       // "mnist-a, test"
  std::string kind;       // "test": what the key of the plot calls it; empty: not in the key
  std::size_t input = 0;  // of Data::inputs, which gives the colour, and with which it is hidden
  Stroke stroke = Stroke::kThin;
  bool has_dots = false;
  std::vector<Point> points = {};  // in the order of x
};

struct LineChart {
  Axis x, y;
  std::vector<Series> series;
};

struct Segment {
  std::string kind;  // one of data, compute, communication, which have colours of their own; empty: the input's
  double value = 0;
};

struct Bar {
  std::string label;
  std::size_t input = 0;
  std::vector<Segment> segments;  // one after the other
  double least = kUnknown, greatest = kUnknown;
  std::string text = {};  // at its end
};

struct BarChart {
  Axis axis;
  std::vector<Bar> bars;
};

using Chart = std::variant<LineChart, BarChart>;

// The same figure over another axis: "epochs", "steps", "time".
struct View {
  std::string name;  // empty where there is only one
  Chart chart;
};

struct Figure {
  std::string id;  // a file's name: lower case and dashes
  std::string title, caption;
  std::vector<View> views;
};

// Figures that have data, in the order in which they are shown.
std::vector<Figure> learning_figures(const Data& data);
std::vector<Figure> scaling_figures(const Data& data);
std::vector<Figure> bench_figures(const Data& data);
std::vector<Figure> all_figures(const Data& data);

// Whether there is anything to draw.
bool is_empty(const Series& series);

// In the order of x; points of one x stay in theirs.
void sort_points(Series& series);

}  // namespace lockstep::report
