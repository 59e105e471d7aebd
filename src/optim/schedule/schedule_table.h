// What schedules there are: their names, and the order of their parameters.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <lockstep/base/parameters.h>
#include <lockstep/optim/schedule.h>

namespace lockstep::optim {

struct ScheduleKind {
  std::vector<std::string> order;  // of the parameters that can be given without their names
  Schedule (*make)(ParameterReader& parameters);
  bool takes_list = false;  // all numbers without a name are the first parameter
};

using ScheduleTable = std::map<std::string, ScheduleKind, std::less<>>;

const ScheduleTable& schedule_table();

// Throws UsageError when there is none of that name.
const ScheduleKind& find_schedule(std::string_view name);

}  // namespace lockstep::optim
