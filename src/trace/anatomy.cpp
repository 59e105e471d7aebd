#include <lockstep/trace/anatomy.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>

#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>

#include "intervals.h"
#include "steps.h"

namespace lockstep::trace {
namespace {

constexpr double kNanoseconds = 1e6;       // of a millisecond
constexpr double kDeviation = 1.4826;      // of a normal distribution, in median absolute deviations
constexpr std::size_t kMostBuckets = 1e5;  // that a file may have

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  return values[values.size() / 2];
}

std::int64_t detail(const Event& event, std::string_view name) {
  for (const auto& [key, value] : event.details) {
    if (key == name) return value;
  }
  return 0;
}

// One iteration with all that lies within it.
struct Step {
  std::int64_t began = 0, ended = 0, backward = 0;                                  // `backward`: when it began
  std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> spans;  // by name
  std::vector<std::pair<std::int64_t, std::int64_t>> waits;
  std::vector<ReadyBucket> buckets;

  // Milliseconds of these spans, without what of them was waiting for others.
  double length(const char* name) const {
    const auto found = spans.find(name);
    if (found == spans.end()) return 0;
    const Intervals whole(found->second);
    return static_cast<double>(whole.length() - whole.in_common(Intervals(waits)).length()) / kNanoseconds;
  }
};

void for_events_of(const Recording& recording, const std::function<void(const Event&)>& visit) {
  for (const Track& track : recording.tracks) {
    if (track.name.starts_with("cuda:")) continue;
    for (const Event& event : track.events) visit(event);
  }
}

std::vector<Step> steps_of(const Recording& recording) {
  const std::vector<Event> spans = steps_in(recording);
  std::vector<Step> steps(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) steps[i] = {.began = spans[i].began, .ended = spans[i].ended};
  const auto find = [&](std::int64_t time) {
    const Event* const span = step_at(spans, time);
    return span == nullptr ? nullptr : &steps[static_cast<std::size_t>(span - spans.data())];
  };
  for_events_of(recording, [&](const Event& event) {
    Step* const step = find(event.began);
    if (step == nullptr) return;
    step->spans[event.name].emplace_back(event.began, event.ended);
    if (event.name.ends_with(".wait")) step->waits.emplace_back(event.began, event.ended);
    if (event.name == "backward") step->backward = event.began;
  });
  for_events_of(recording, [&](const Event& event) {
    Step* const step = find(event.began);
    // Also where a gradient came from its factors: at other sizes it is reduced.
    const bool is_bucket =
        event.name == "all_reduce" || event.name == "all_reduce.launch" || event.name == "all_reduce.factored";
    if (step == nullptr || !is_bucket) return;
    const std::int64_t ready = event.began - detail(event, "queued_ns") - step->backward;
    step->buckets.push_back(
        {.bytes = detail(event, "bytes"), .ready = std::max(0.0, static_cast<double>(ready) / kNanoseconds)});
  });
  return steps;
}

double number_at(const nlohmann::ordered_json& value, const char* name) {
  const double number = value.at(name).get<double>();
  if (!std::isfinite(number) || number < 0) {
    throw UsageError({.message = "the anatomy of a step makes no sense",
                      .found = std::string(name) + " " + value.at(name).dump(),
                      .expected = "a number from 0 up"});
  }
  return number;
}

}  // namespace

Anatomy anatomy_of(const Recording& recording) {
  const std::vector<Step> steps = steps_of(recording);
  if (steps.empty()) throw RuntimeError("no whole training step was recorded");
  const auto middle = [&](const auto& value) {
    std::vector<double> values;
    for (const Step& step : steps) values.push_back(value(step));
    return median(std::move(values));
  };
  const auto own = [](const Step& step) { return step.length("iteration"); };
  Anatomy anatomy{
      .step = middle(own),
      .data = middle([](const Step& step) { return step.length("data"); }),
      .forward = middle([](const Step& step) { return step.length("forward") + step.length("loss"); }),
      .backward = middle([](const Step& step) { return step.length("backward"); }),
      .update = middle([](const Step& step) { return step.length("zero_grad") + step.length("optimizer.step"); })};
  anatomy.jitter =
      kDeviation * middle([&](const Step& step) { return std::abs(own(step) - anatomy.step); }) / anatomy.step;
  const auto& buckets = steps.front().buckets;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const auto ready = [i](const Step& step) { return i < step.buckets.size() ? step.buckets[i].ready : 0; };
    anatomy.buckets.push_back({.bytes = buckets[i].bytes, .ready = std::min(middle(ready), anatomy.backward)});
  }
  return anatomy;
}

nlohmann::ordered_json to_json(const Anatomy& anatomy) {
  nlohmann::ordered_json buckets = nlohmann::ordered_json::array();
  for (const ReadyBucket& bucket : anatomy.buckets) {
    buckets.push_back({{"bytes", bucket.bytes}, {"ready_milliseconds", bucket.ready}});
  }
  return {{"step_milliseconds", anatomy.step},
          {"data_milliseconds", anatomy.data},
          {"forward_milliseconds", anatomy.forward},
          {"backward_milliseconds", anatomy.backward},
          {"update_milliseconds", anatomy.update},
          {"jitter", anatomy.jitter},
          {"buckets", std::move(buckets)}};
}

Anatomy anatomy_from_json(const nlohmann::ordered_json& value) {
  try {
    Anatomy anatomy{.step = number_at(value, "step_milliseconds"),
                    .data = number_at(value, "data_milliseconds"),
                    .forward = number_at(value, "forward_milliseconds"),
                    .backward = number_at(value, "backward_milliseconds"),
                    .update = number_at(value, "update_milliseconds"),
                    .jitter = number_at(value, "jitter")};
    const auto& buckets = value.at("buckets");
    if (buckets.size() > kMostBuckets) throw UsageError("the anatomy of a step has more than 100,000 buckets");
    for (const auto& bucket : buckets) {
      anatomy.buckets.push_back({.bytes = static_cast<std::int64_t>(number_at(bucket, "bytes")),
                                 .ready = number_at(bucket, "ready_milliseconds")});
    }
    return anatomy;
  } catch (const nlohmann::json::exception& error) {
    throw UsageError({.message = "the anatomy of a step cannot be read", .found = error.what()});
  }
}

}  // namespace lockstep::trace
