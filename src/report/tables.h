// The tables of the page, as text.
#pragma once
#include <string>
#include <vector>

#include "figure.h"

namespace lockstep::report {

struct TextTable {
  std::vector<std::string> head;               // empty: there is no table
  std::vector<std::vector<std::string>> rows;  // as many cells as the head has
  std::vector<bool> marked = {};               // rows that stand out; empty: none
};

// The numbers of a plot: a row for each place on the x axis, or each bar. Of more than 500 rows some are left out,
// evenly.
TextTable table_of(const Chart& chart);

// What each run came to; its configuration, marked where runs differ; and its machine, likewise.
TextTable run_table(const Data& data);
TextTable config_table(const Data& data);
TextTable machine_table(const Data& data);

}  // namespace lockstep::report
