#include "steps.h"

#include <algorithm>

namespace lockstep::trace {

const Event* step_at(const std::vector<Event>& steps, std::int64_t time) {
  const auto after = std::upper_bound(steps.begin(), steps.end(), time,
                                      [](std::int64_t at, const Event& step) { return at < step.began; });
  if (after == steps.begin() || time > std::prev(after)->ended) return nullptr;
  return &*std::prev(after);
}

std::vector<Event> steps_in(const Recording& recording) {
  std::vector<Event> steps;
  for (const Track& track : recording.tracks) {
    for (const Event& event : track.events) {
      if (event.name == "iteration") steps.push_back(event);
    }
  }
  std::sort(steps.begin(), steps.end(), [](const Event& a, const Event& b) { return a.began < b.began; });
  std::vector<bool> works(steps.size());
  for (const Track& track : recording.tracks) {
    if (track.name.starts_with("cuda:")) continue;
    for (const Event& event : track.events) {
      if (event.name == "iteration" || event.name == "data") continue;
      if (const Event* step = step_at(steps, event.began)) works[static_cast<std::size_t>(step - steps.data())] = true;
    }
  }
  std::vector<Event> result;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (works[i]) result.push_back(std::move(steps[i]));
  }
  return result;
}

}  // namespace lockstep::trace
