#include "awaited_tests.h"

#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/train/schedule_of.h>

namespace lockstep::train {
namespace {

bool is_of_test(const std::string& metric) {
  return metric.starts_with("test.");
}

// The keys that make a run wait for a metric of the test.
std::vector<std::string> waiting_keys(const RunConfig& config) {
  std::vector<std::string> keys;
  if (config.stop.accuracy) keys.emplace_back("stop.accuracy");
  if (config.stop.patience > 0 && is_of_test(config.stop.metric)) keys.emplace_back("stop.metric");
  if (schedule_of(config).plateau() && is_of_test(config.schedule.metric)) keys.emplace_back("schedule.metric");
  return keys;
}

}  // namespace

void require_evaluations(const RunConfig& config, const Places& places) {
  if (config.evaluation.every_epochs > 0) return;
  for (const std::string& key : waiting_keys(config)) {
    throw UsageError(
        {.message = fmt::format("{}'{}' waits for evaluations that are never made", places.before(key), key),
         .found = places.shown(key) + " with " + places.shown("evaluation.every_epochs"),
         .expected = "evaluation.every_epochs of at least 1"});
  }
}

void require_nothing_of_test(const RunConfig& config, const std::vector<config::Setting>& settings) {
  const Places places(settings);
  for (const std::string& key : waiting_keys(config)) {
    throw UsageError(
        {.message = fmt::format("{}'{}' waits for a test, but there is no test data", places.before(key), key),
         .found = places.shown(key),
         .next = "give data.test_path, or let it wait for a metric of the training"});
  }
  const bool chosen = places.is_given("checkpoint.keep_best") || places.is_given("checkpoint.metric");
  if (chosen && config.checkpoint.keep_best > 0 && is_of_test(config.checkpoint.metric)) {
    log::warning("{} keeps no checkpoint: there is no test data", places.shown("checkpoint.metric"));
  }
}

}  // namespace lockstep::train
