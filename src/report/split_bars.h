#pragma once
#include <string>

#include "figure.h"

namespace lockstep::report {

// Adds a bar of data, compute and communication; none where nothing of it is known.
void add_split_bar(BarChart& chart, const std::string& label, std::size_t input, const Split& split);

}  // namespace lockstep::report
