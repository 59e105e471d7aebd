#include <lockstep/gpu/ranges.h>

#include <array>
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

void mark_operators() {
  const profiler::ProfilerConfig config(profiler::ProfilerState::NVTX);
  torch::autograd::profiler::enableProfiler(config, {},
                                            {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION});
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
  if (options_.detail == RangeDetail::kOperators) torch::autograd::profiler::disableProfiler();
}

void Ranges::finish_work() const {
  if (options_.synchronize) finish(options_.device);
}

Ranges::Range::Range(const Ranges& owner, const char* name) : owner_(owner) {
  if (owner_.options_.detail == RangeDetail::kOff) return;
  owner_.finish_work();
  driver().push_range(name);
}

Ranges::Range::~Range() {
  if (owner_.options_.detail == RangeDetail::kOff) return;
  try {
    owner_.finish_work();
  } catch (const std::exception&) {  // of work that failed: whoever reads its result hears of it
  }
  driver().pop_range();
}

ProfiledPart::ProfiledPart(at::Device device) : device_(device) {
  finish(device_);
  driver().start_profiler();
  driver().push_registered_range("PROFILE");
}

ProfiledPart::~ProfiledPart() {
  try {
    finish(device_);
    driver().pop_range();
    driver().stop_profiler();
  } catch (const std::exception&) {  // as above
  }
}

}  // namespace lockstep::gpu
