#include "step_times.h"

#include <ATen/ops/empty.h>

namespace lockstep::train {

StepTimes StepTimes::over(const Group& group) const {
  at::Tensor values = at::empty({4}, at::kDouble);
  auto* const at = values.mutable_data_ptr<double>();
  at[0] = total.count();
  at[1] = data.count();
  at[2] = communication.value_or(Seconds{}).count();
  at[3] = communication ? 1 : 0;
  group.all_reduce(values, Reduce::kAverage);
  StepTimes average{.total = Seconds(at[0]), .data = Seconds(at[1]), .steps = steps, .samples = samples};
  if (at[3] == 1) average.communication = Seconds(at[2]);
  return average;
}

TimeSplit StepTimes::split() const {
  if (total.count() <= 0) return {};
  TimeSplit split{.data = data / total};
  if (communication) split.communication = *communication / total;
  split.compute = 1 - split.data - split.communication.value_or(0);
  return split;
}

}  // namespace lockstep::train
