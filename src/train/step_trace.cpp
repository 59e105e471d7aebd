#include <lockstep/train/step_trace.h>

#include <unistd.h>

#include <cstring>
#include <utility>

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/in_short.h>
#include <lockstep/base/log.h>
#include <lockstep/gpu/kernel_trace.h>
#include <lockstep/gpu/work_stream.h>
#include <lockstep/trace/recorder.h>

#include "../base/host_name.h"
#include "clock_offset.h"

namespace lockstep::train {
namespace {

constexpr int kTag = 0x7acf;

// The mean of what was measured at both ends: a clock drifts meanwhile.
trace::ClockOffset between(const trace::ClockOffset& a, const trace::ClockOffset& b) {
  return {.nanoseconds = a.nanoseconds + (b.nanoseconds - a.nanoseconds) / 2,
          .uncertainty = std::max(a.uncertainty, b.uncertainty) + std::abs(b.nanoseconds - a.nanoseconds) / 2};
}

void send_text(const Group& group, const std::string& text) {
  const at::Tensor length = at::empty({1}, at::kLong), bytes = at::empty({std::ssize(text)}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), text.data(), text.size());
  group.send(length.fill_(std::ssize(text)), 0, kTag);
  group.send(bytes, 0, kTag);
}

std::string receive_text(const Group& group, int from) {
  const at::Tensor length = at::empty({1}, at::kLong);
  group.receive(length, from, kTag);
  const at::Tensor bytes = at::empty({length.item<std::int64_t>()}, at::kByte);
  group.receive(bytes, from, kTag);
  return {static_cast<const char*>(bytes.const_data_ptr()), static_cast<std::size_t>(bytes.numel())};
}

}  // namespace

class StepTrace::Implementation {
 public:
  Implementation(Group group, StepTraceOptions options) : group_(std::move(group)), options_(std::move(options)) {}

  ~Implementation() {
    if (recording_) trace::stop_recording();
  }

  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  void reach(std::int64_t steps) {
    last_ = steps;
    if (recording_ && steps >= options_.steps.end) end();
    if (!recording_ && !ended_ && steps >= options_.steps.first && steps < options_.steps.end) begin(steps);
  }

  void finish() {
    if (recording_) end();
    if (ended_ || group_.rank() != 0) return;
    problem_ = fmt::format("no step was traced: the run did not come to step {} (it ended after {})",
                           options_.steps.first, last_);
    if (last_ >= options_.steps.end) {
      problem_ = fmt::format("no step was traced: the run began after step {}", options_.steps.end);
    }
    log::warning("{}", problem_);
  }

  std::optional<trace::Summary> summary_;  // on rank 0, of what was written
  std::string problem_;

 private:
  void begin(std::int64_t steps) {
    first_ = steps;
    offset_ = measure_clock_offset(group_);
    if (options_.device.is_cuda()) {
      gpu::finish(options_.device);  // what earlier steps have left
      kernels_.emplace(options_.device);
    }
    trace::start_recording();
    recording_ = true;
  }

  void end() {
    trace::RankTimeline own{.rank = group_.rank(),
                            .host = host_name(),
                            .process = ::getpid(),
                            .clock = {},
                            .recording = trace::stop_recording()};
    recording_ = false;
    ended_ = true;
    if (kernels_) {
      trace::Recording gpu = kernels_->finish();
      own.recording.lost += gpu.lost;
      for (auto& track : gpu.tracks) own.recording.tracks.push_back(std::move(track));
      kernels_.reset();
    }
    own.clock = between(offset_, measure_clock_offset(group_));
    if (group_.rank() != 0) {
      send_text(group_, trace::pack(own));
      return;
    }
    std::vector<trace::RankTimeline> timelines = {std::move(own)};
    for (int rank = 1; rank < group_.size(); ++rank) timelines.push_back(trace::unpack(receive_text(group_, rank)));
    write(timelines);
  }

  void write(const std::vector<trace::RankTimeline>& timelines) {
    trace::Summary summary = trace::summarize(timelines);
    const nlohmann::ordered_json about = {{"program", "lockstep"},       {"ranks", group_.size()},
                                          {"backend", group_.backend()}, {"first_step", first_},
                                          {"end_step", last_},           {"summary", trace::to_json(summary)}};
    try {
      trace::write_trace(options_.file.string(), trace::chrome_trace(timelines, about));
    } catch (const Error& error) {
      problem_ = "the trace was not written: " + in_short(error);
      log::warning("{}", problem_);
      return;
    }
    for (const std::string& line : trace::describe(summary)) log::info("trace: {}", line);
    log::info("trace: {} opens in ui.perfetto.dev and chrome://tracing", options_.file.string());
    summary_ = std::move(summary);
  }

  Group group_;
  StepTraceOptions options_;
  bool recording_ = false, ended_ = false;
  std::int64_t first_ = 0, last_ = 0;  // steps that were done when it began, and now
  trace::ClockOffset offset_;          // when it began
  std::optional<gpu::KernelTrace> kernels_;
};

StepTrace::StepTrace(Group group, StepTraceOptions options)
    : implementation_(std::make_unique<Implementation>(std::move(group), std::move(options))) {}

StepTrace::~StepTrace() = default;

void StepTrace::reach(std::int64_t steps) {
  implementation_->reach(steps);
}

void StepTrace::finish() {
  implementation_->finish();
}

const std::optional<trace::Summary>& StepTrace::summary() const {
  return implementation_->summary_;
}

const std::string& StepTrace::problem() const {
  return implementation_->problem_;
}

}  // namespace lockstep::train
