#include <lockstep/gpu/ranges.h>

#include <vector>

#include <fmt/format.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/gpu/work_stream.h>

#include "driver.h"

namespace lockstep::gpu {
namespace {

namespace profiler = torch::profiler::impl;

// Of this thread: libtorch marks operators once, however many ask for it.
thread_local int marking = 0;

void mark_operators() {
  if (marking++ > 0) return;
  const profiler::ProfilerConfig config(profiler::ProfilerState::NVTX);
  torch::autograd::profiler::enableProfiler(config, {},
                                            {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION});
}

void unmark_operators() {
  if (--marking > 0) return;
  try {
    torch::autograd::profiler::disableProfiler();
  } catch (const std::exception&) {  // another profiler has taken its place
  }
}

// For ends: whoever reads the result of work that failed hears of it.
void finish_quietly(at::Device device) {
  try {
    finish(device);
  } catch (const std::exception&) {
  }
}

}  // namespace

RangeDetail parse_range_detail(const std::string& name) {
  if (name == "off") return RangeDetail::kOff;
  if (name == "steps") return RangeDetail::kSteps;
  if (name == "ops") return RangeDetail::kOperators;
  const std::vector<std::string> names = {"off", "steps", "ops"};
  throw UsageError({.message = fmt::format("there are no NVTX ranges '{}'{}", name, did_you_mean(name, names)),
                    .expected = "off, steps or ops"});
}

Ranges::Ranges() = default;

Ranges::Ranges(Options options) : options_(options) {
  if (options_.detail == RangeDetail::kOff) return;
  driver();
  if (options_.detail == RangeDetail::kOperators) mark_operators();
}

Ranges::~Ranges() {
  if (options_.detail == RangeDetail::kOperators) unmark_operators();
}

void Ranges::finish_work() const {
  if (options_.synchronize) finish(options_.device);
}

Ranges::Range::Range(const Ranges& owner, const char* name) : owner_(owner) {
  if (owner_.options_.detail != RangeDetail::kOff) {
    owner_.finish_work();
    driver().push_range(name);
  }
  span_.emplace(name);
}

Ranges::Range::~Range() {
  const bool has_range = owner_.options_.detail != RangeDetail::kOff;
  if (has_range && owner_.options_.synchronize) finish_quietly(owner_.options_.device);
  span_.reset();
  if (has_range) driver().pop_range();
}

ProfiledPart::ProfiledPart(at::Device device) : device_(device) {
  finish(device_);
  driver().start_profiler();
  driver().push_registered_range("PROFILE");
}

ProfiledPart::~ProfiledPart() {
  finish_quietly(device_);
  driver().pop_range();
  driver().stop_profiler();
}

}  // namespace lockstep::gpu
