#include <lockstep/gpu/kernel_trace.h>

#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <lockstep/base/errors.h>
#include <lockstep/gpu/work_stream.h>

namespace lockstep::gpu {
namespace {

namespace profiler = torch::profiler::impl;

constexpr std::size_t kMostEvents = 1'000'000;
constexpr std::size_t kMostOfName = 160;  // templates make long ones

// What to add to the profiler's times, of the system's clock, for times of trace::Clock. Of a few looks the one counts
// that took least.
std::int64_t from_system_clock() {
  std::int64_t difference = 0, shortest = std::numeric_limits<std::int64_t>::max();
  for (int look = 0; look < 8; ++look) {
    const std::int64_t before = trace::Clock::now().time_since_epoch().count();
    const std::int64_t there = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
    const std::int64_t took = trace::Clock::now().time_since_epoch().count() - before;
    if (took >= shortest) continue;
    shortest = took;
    difference = before + took / 2 - there;
  }
  return difference;
}

std::string shown_name(const std::string& name) {
  return name.size() <= kMostOfName ? name : name.substr(0, kMostOfName) + "...";
}

}  // namespace

KernelTrace::KernelTrace(at::Device device) : device_(device) {
  gpu::finish(device_);
  const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
  const std::set<profiler::ActivityType> activities = {profiler::ActivityType::CUDA};
  try {
    torch::autograd::profiler::prepareProfiler(config, activities);
    torch::autograd::profiler::enableProfiler(config, activities);
  } catch (const c10::Error& error) {
    throw RuntimeError({.message = "libtorch's profiler cannot record the GPU",
                        .found = error.what_without_backtrace(),
                        .next = "trace without --nvtx ops, which takes its place"});
  }
  running_ = true;
}

KernelTrace::~KernelTrace() {
  if (!running_) return;
  try {
    torch::autograd::profiler::disableProfiler();
  } catch (const std::exception&) {  // somebody else has ended it
  }
}

trace::Recording KernelTrace::finish() {
  gpu::finish(device_);
  running_ = false;
  const auto result = torch::autograd::profiler::disableProfiler();
  const std::int64_t shift = from_system_clock();
  std::map<std::int64_t, trace::Track> streams;
  trace::Recording recording;
  std::size_t count = 0;
  for (const auto& event : result->events()) {
    if (event.deviceType() != c10::DeviceType::CUDA) continue;
    if (++count > kMostEvents) {
      ++recording.lost;
      continue;
    }
    trace::Track& track = streams[event.deviceResourceId()];
    if (track.name.empty()) {
      track.name = fmt::format("cuda:{} stream {}", event.deviceIndex(), event.deviceResourceId());
    }
    const auto began = static_cast<std::int64_t>(event.startNs()) + shift;
    track.events.push_back({.name = shown_name(event.name()),
                            .began = began,
                            .ended = began + static_cast<std::int64_t>(event.durationNs()),
                            .details = {}});
  }
  for (auto& [number, track] : streams) recording.tracks.push_back(std::move(track));
  return recording;
}

}  // namespace lockstep::gpu
