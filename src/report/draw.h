// Figures as SVG. What comes back is complete: nothing has to be added by a script.
#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "figure.h"

namespace lockstep::report {

inline constexpr double kPlotWidth = 520;

struct Drawing {
  std::string content;  // of an <svg> or a <g> that is kPlotWidth wide
  double height = 0;
  std::string hover;  // JSON: scales and the points that were drawn, for the script; empty where there is none
};

Drawing draw(const LineChart& chart);
Drawing draw(const BarChart& chart);
Drawing draw(const Chart& chart);

// A file of its own with title and legend, in light colours, of one figure in its first view; of several, on one sheet.
std::string to_svg(const Figure& figure, const Data& data);
std::string to_svg(const std::vector<Figure>& figures, const Data& data);

}  // namespace lockstep::report
