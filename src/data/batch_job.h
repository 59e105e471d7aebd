#pragma once
#include <exception>
#include <optional>
#include <vector>

#include <lockstep/data/sampler.h>

#include "device_copy.h"
#include "filler.h"

namespace lockstep::data {

// A batch in the making. What changes while workers are at it is guarded by the mutex of the BatchMaker.
struct BatchJob {
  std::vector<std::int64_t> samples;
  SamplerState state;  // of the run, when this batch has been given out
  BatchTensors tensors;

  std::size_t taken = 0;   // slots that workers have begun with
  std::size_t filled = 0;  // slots that are done
  bool ready = false;
  // Of the first slot that went wrong, so that it does not depend on who was faster.
  std::exception_ptr error;
  std::size_t error_slot = 0;
  std::optional<DeviceCopy::Pending> on_device;
};

}  // namespace lockstep::data
