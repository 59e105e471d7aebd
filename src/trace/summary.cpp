#include <lockstep/trace/summary.h>

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/text.h>

#include "intervals.h"
#include "steps.h"

namespace lockstep::trace {
namespace {

constexpr double kNanoseconds = 1e6;  // of a millisecond

bool is_gpu(const Track& track) {
  return track.name.starts_with("cuda:");
}

bool is_collective_kernel(const Event& event) {
  return event.name.starts_with("nccl");
}

// Of all tracks that `takes` likes, the events that `likes` does.
template <typename Takes, typename Likes>
Intervals times_of(const Recording& recording, Takes&& takes, Likes&& likes) {
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;
  for (const Track& track : recording.tracks) {
    if (!takes(track)) continue;
    for (const Event& event : track.events) {
      if (likes(event)) parts.emplace_back(event.began, event.ended);
    }
  }
  return Intervals(std::move(parts));
}

std::vector<double> step_times(const Recording& recording) {
  std::vector<double> times;
  for (const Event& step : steps_in(recording)) {
    times.push_back(static_cast<double>(step.ended - step.began) / kNanoseconds);
  }
  return times;
}

RankSummary of_rank(const RankTimeline& timeline, const std::vector<double>& steps) {
  const Recording& recording = timeline.recording;
  const auto named = [](const char* name) { return [name](const Event& event) { return event.name == name; }; };
  const auto host = [](const Track& track) { return !is_gpu(track); };
  const double count = std::max<double>(1, static_cast<double>(steps.size()));
  const auto each = [&](std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / kNanoseconds / count; };
  RankSummary summary{.rank = timeline.rank};
  for (const double step : steps) summary.step += step / count;
  summary.data = each(times_of(recording, host, named("data")).length());

  const bool on_gpu = std::any_of(recording.tracks.begin(), recording.tracks.end(), is_gpu);
  if (on_gpu) {
    const auto collectives = times_of(recording, is_gpu, is_collective_kernel);
    const auto computing = times_of(recording, is_gpu, [](const Event& event) { return !is_collective_kernel(event); });
    summary.communication = each(collectives.length());
    summary.exposed = summary.communication - each(collectives.in_common(computing).length());
    summary.own = each(computing.length());
    return summary;
  }
  const auto collectives = times_of(
      recording, [](const Track& track) { return track.name == "communication"; }, [](const Event&) { return true; });
  const auto waiting = times_of(recording, host, [](const Event& event) { return event.name.ends_with(".wait"); });
  summary.communication = each(collectives.length());
  summary.exposed = each(collectives.in_common(waiting).length());
  summary.own = summary.step - each(waiting.length());
  return summary;
}

std::int64_t bytes_of(const Recording& recording) {
  std::int64_t bytes = 0;
  for (const Track& track : recording.tracks) {
    for (const Event& event : track.events) {
      for (const auto& [name, value] : event.details) bytes += name == "bytes" ? value : 0;
    }
  }
  return bytes;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  return values[values.size() / 2];
}

// The lower of the two in the middle: of two ranks the faster one.
double median_own(const std::vector<RankSummary>& ranks) {
  std::vector<double> values;
  for (const RankSummary& rank : ranks) values.push_back(rank.own);
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

}  // namespace

Summary summarize(const std::vector<RankTimeline>& timelines) {
  Summary summary{.steps = std::numeric_limits<std::int64_t>::max()};
  std::vector<double> all;
  for (const RankTimeline& timeline : timelines) {
    const auto steps = step_times(timeline.recording);
    summary.ranks.push_back(of_rank(timeline, steps));
    summary.steps = std::min(summary.steps, std::ssize(steps));
    summary.uncertainty = std::max(summary.uncertainty, timeline.clock.uncertainty);
    summary.lost += timeline.recording.lost;
    all.insert(all.end(), steps.begin(), steps.end());
  }
  if (all.empty()) return Summary{.ranks = summary.ranks, .lost = summary.lost};
  summary.step = median(all);
  summary.least = *std::min_element(all.begin(), all.end());
  summary.most = *std::max_element(all.begin(), all.end());
  const auto slowest = std::max_element(summary.ranks.begin(), summary.ranks.end(),
                                        [](const RankSummary& a, const RankSummary& b) { return a.own < b.own; });
  summary.slowest = slowest->rank;
  const double middle = median_own(summary.ranks);
  if (middle > 0) summary.behind = slowest->own / middle - 1;
  if (summary.steps > 0) summary.communicated = bytes_of(timelines.front().recording) / summary.steps;
  return summary;
}

std::vector<std::string> describe(const Summary& summary) {
  if (summary.steps == 0) return {"no whole step is in the trace"};
  const RankSummary& slowest = *std::find_if(summary.ranks.begin(), summary.ranks.end(),
                                             [&](const auto& rank) { return rank.rank == summary.slowest; });
  std::vector<std::string> lines = {fmt::format("{} traced, {:.2f} ms each (median; {:.2f} to {:.2f})",
                                                format_plural(summary.steps, "step"), summary.step, summary.least,
                                                summary.most)};
  if (summary.ranks.size() > 1) {
    lines.push_back(fmt::format("slowest: rank {}, {:.2f} ms of its own work a step, {:.1f}% more than the median rank",
                                slowest.rank, slowest.own, summary.behind * 100));
  }
  double communication = 0, exposed = 0, data = 0;
  for (const RankSummary& rank : summary.ranks) {
    communication += rank.communication / static_cast<double>(summary.ranks.size());
    exposed += rank.exposed / static_cast<double>(summary.ranks.size());
    data += rank.data / static_cast<double>(summary.ranks.size());
  }
  if (communication > 0) {
    lines.push_back(
        fmt::format("communication: {} and {:.2f} ms a step, {:.2f} ms of them exposed ({:.1f}% of the step)",
                    format_bytes(static_cast<std::uint64_t>(summary.communicated)), communication, exposed,
                    exposed / summary.step * 100));
  } else {
    lines.emplace_back("communication: none was seen");
  }
  lines.push_back(fmt::format("waiting for data: {:.2f} ms a step", data));
  if (summary.uncertainty > 0) {
    lines.push_back(fmt::format("clocks of other machines are known to within {:.0f} us",
                                static_cast<double>(summary.uncertainty) / 1e3));
  }
  if (summary.lost > 0) {
    lines.push_back(fmt::format("{} events found no room; trace fewer steps", format_count(summary.lost)));
  }
  return lines;
}

nlohmann::ordered_json to_json(const Summary& summary) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const RankSummary& rank : summary.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"step_milliseconds", rank.step},
                     {"own_milliseconds", rank.own},
                     {"data_milliseconds", rank.data},
                     {"communication_milliseconds", rank.communication},
                     {"exposed_milliseconds", rank.exposed}});
  }
  return {{"steps", summary.steps},
          {"step_milliseconds", summary.step},
          {"step_milliseconds_least", summary.least},
          {"step_milliseconds_greatest", summary.most},
          {"slowest_rank", summary.slowest},
          {"slowest_behind", summary.behind},
          {"bytes_a_step", summary.communicated},
          {"clock_uncertainty_microseconds", static_cast<double>(summary.uncertainty) / 1e3},
          {"events_lost", summary.lost},
          {"ranks", std::move(ranks)}};
}

}  // namespace lockstep::trace
