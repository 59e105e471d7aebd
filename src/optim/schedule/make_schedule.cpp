#include <lockstep/optim/make_schedule.h>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "schedule_table.h"

namespace lockstep::optim {
namespace {

double required(ParameterReader& parameters, const std::string& name) {
  const auto value = parameters.number(name);
  if (!value) parameters.refuse(name, "a number of epochs or steps");
  return *value;
}

Schedule make_constant(ParameterReader& parameters) {
  return constant({.factor = parameters.number("factor").value_or(1), .length = parameters.number("length")});
}

Schedule make_cosine(ParameterReader& parameters) {
  return cosine({.length = required(parameters, "length"), .minimum = parameters.number("minimum").value_or(0)});
}

Schedule make_cosine_restarts(ParameterReader& parameters) {
  return cosine_restarts({.length = required(parameters, "length"),
                          .growth = parameters.number("growth").value_or(1),
                          .minimum = parameters.number("minimum").value_or(0)});
}

Schedule make_exponential(ParameterReader& parameters) {
  ExponentialOptions made;
  made.factor = parameters.number("factor").value_or(made.factor);
  return exponential(made);
}

Schedule make_multi_step(ParameterReader& parameters) {
  const auto milestones = parameters.numbers("milestones");
  if (!milestones) parameters.refuse("milestones", "the epochs or steps at which the rate drops");
  MultiStepOptions made{.milestones = *milestones};
  made.factor = parameters.number("factor").value_or(made.factor);
  return multi_step(made);
}

Schedule make_one_cycle(ParameterReader& parameters) {
  OneCycleOptions made{.length = required(parameters, "length")};
  made.rise = parameters.number("rise").value_or(made.rise);
  made.start_divisor = parameters.number("start_divisor").value_or(made.start_divisor);
  made.end_divisor = parameters.number("end_divisor").value_or(made.end_divisor);
  made.linear = parameters.text("anneal", {"cos", "linear"}) == "linear";
  return one_cycle(made);
}

Schedule make_plateau(ParameterReader& parameters) {
  PlateauOptions made;
  made.patience = parameters.integer("patience").value_or(made.patience);
  made.factor = parameters.number("factor").value_or(made.factor);
  made.maximize = parameters.text("mode", {"min", "max"}) == "max";
  made.threshold = parameters.number("threshold").value_or(made.threshold);
  made.threshold_is_rate = parameters.text("threshold_mode", {"rel", "abs"}) != "abs";
  made.cooldown = parameters.integer("cooldown").value_or(made.cooldown);
  made.minimum = parameters.number("minimum").value_or(made.minimum);
  return plateau(made);
}

Schedule make_polynomial(ParameterReader& parameters) {
  return polynomial({.length = required(parameters, "length"), .power = parameters.number("power").value_or(1)});
}

Schedule make_step(ParameterReader& parameters) {
  StepOptions made{.every = required(parameters, "every")};
  made.factor = parameters.number("factor").value_or(made.factor);
  return step(made);
}

Schedule make_warm_up(ParameterReader& parameters) {
  return warm_up({.length = required(parameters, "length"), .from = parameters.number("from")});
}

}  // namespace

const ScheduleTable& schedule_table() {
  static const ScheduleTable table = {
      {"constant", {{"factor", "length"}, make_constant}},
      {"cosine", {{"length", "minimum"}, make_cosine}},
      {"cosine_restarts", {{"length", "growth", "minimum"}, make_cosine_restarts}},
      {"exponential", {{"factor"}, make_exponential}},
      {"multi_step", {{"milestones"}, make_multi_step, /*takes_list=*/true}},
      {"one_cycle", {{"length", "rise", "start_divisor", "end_divisor", "anneal"}, make_one_cycle}},
      {"plateau", {{"patience", "factor", "mode", "threshold", "threshold_mode", "cooldown", "minimum"}, make_plateau}},
      {"polynomial", {{"length", "power"}, make_polynomial}},
      {"step", {{"every", "factor"}, make_step}},
      {"warmup", {{"length", "from"}, make_warm_up}},
  };
  return table;
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, kind] : schedule_table()) all.push_back(name);
    return all;
  }();
  return names;
}

const ScheduleKind& find_schedule(std::string_view name) {
  const auto found = schedule_table().find(name);
  if (found != schedule_table().end()) return found->second;
  throw UsageError({.message = fmt::format("there is no schedule '{}'{}", name, did_you_mean(name, schedule_names())),
                    .expected = fmt::format("{}", fmt::join(schedule_names(), ", "))});
}

Schedule make_schedule(std::string_view name, const Parameters& parameters) {
  const ScheduleKind& kind = find_schedule(name);
  ParameterReader reader(fmt::format("the schedule {}", name), parameters);
  Schedule schedule = kind.make(reader);
  reader.require_no_others();
  return schedule;
}

}  // namespace lockstep::optim
