#include "clock_offset.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <ATen/ops/empty.h>
#include <nlohmann/json.hpp>

namespace lockstep::train {
namespace {

constexpr int kRoundTrips = 16;
constexpr int kTag = 0x7ace;

std::int64_t now() {
  return trace::Clock::now().time_since_epoch().count();
}

// The same for processes whose CLOCK_MONOTONIC is one: of one boot of one kernel, and in one time namespace.
std::string clock_identity(const Group& group) {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::error_code error;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/time", error);
  // Who cannot tell asks for itself.
  return boot.empty() ? "rank " + std::to_string(group.rank()) : boot + " " + space.string();
}

std::vector<ClockSample> ask(const Group& group) {
  std::vector<ClockSample> samples;
  const at::Tensor message = at::empty({1}, at::kLong);
  for (int i = 0; i < kRoundTrips; ++i) {
    ClockSample sample{.sent = now()};
    group.send(message.fill_(sample.sent), 0, kTag);
    group.receive(message, 0, kTag);
    sample.received = now();
    sample.answered = message.item<std::int64_t>();
    samples.push_back(sample);
  }
  return samples;
}

void answer(const Group& group, int who) {
  const at::Tensor message = at::empty({1}, at::kLong);
  for (int i = 0; i < kRoundTrips; ++i) {
    group.receive(message, who, kTag);
    group.send(message.fill_(now()), who, kTag);
  }
}

}  // namespace

trace::ClockOffset offset_from(const std::vector<ClockSample>& samples) {
  const auto best = std::min_element(samples.begin(), samples.end(), [](const ClockSample& a, const ClockSample& b) {
    return a.received - a.sent < b.received - b.sent;
  });
  const std::int64_t trip = best->received - best->sent;
  return {.nanoseconds = best->answered - (best->sent + trip / 2), .uncertainty = (trip + 1) / 2};
}

trace::ClockOffset measure_clock_offset(const Group& group, bool each) {
  const auto clocks = group.all_gather_text(clock_identity(group));
  // The first rank with each clock asks; rank 0's is the measure.
  const auto asker_for = [&](int rank) {
    if (each) return rank;
    return static_cast<int>(std::find(clocks.begin(), clocks.end(), clocks[static_cast<std::size_t>(rank)]) -
                            clocks.begin());
  };
  trace::ClockOffset own;
  for (int rank = 1; rank < group.size(); ++rank) {
    if (asker_for(rank) != rank) continue;
    if (group.rank() == 0) answer(group, rank);
    if (group.rank() == rank) own = offset_from(ask(group));
  }
  const auto all = group.all_gather_json({own.nanoseconds, own.uncertainty});
  const auto& mine = all[static_cast<std::size_t>(asker_for(group.rank()))];
  return {.nanoseconds = mine.at(0), .uncertainty = mine.at(1)};
}

}  // namespace lockstep::train
