#include "skip_log.h"

#include <atomic>
#include <bit>
#include <limits>

#include <ATen/ops/full.h>
#include <fmt/format.h>

#include <lockstep/base/log.h>

namespace lockstep::amp {
namespace {

constexpr float kManyInARow = 25;
constexpr float kAbsent = std::numeric_limits<float>::quiet_NaN();

}  // namespace

void SkipLog::begin_at(const ScaleNumbers& numbers) {
  known_ = numbers;
  in_a_row_ = 0;
  warned_ = false;
  if (row_.defined()) row_.fill_(kAbsent);  // the same memory, which a graph may know
}

// An event would say when a copy is done, but it may not be asked while a graph is recorded, and does not tell of
// copies that a replay makes. So the host looks at the memory, whose numbers are each written whole. The number of the
// step is at both ends of it: a copy that runs from one end to the other leaves them different until it is done, and
// two looks that agree had none begin or end between them. If a device wrote in another order, a part that passes for a
// whole would cost no more than a wrong line in the log: the steps themselves do not depend on it.
void SkipLog::look(const at::Tensor& numbers) {
  const at::Tensor& memory = numbers.is_cpu() ? numbers : row_;
  if (!memory.defined()) return;
  const auto read = [from = memory.mutable_data_ptr<float>()] {
    ScaleValues values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = std::atomic_ref(from[i]).load(std::memory_order_acquire);
    }
    return values;
  };
  const auto values = read();
  if (values.front() != values.back() || values != read()) return;  // also if they are NaN
  take(std::bit_cast<ScaleNumbers>(values));
}

void SkipLog::send(const at::Tensor& numbers) {
  if (numbers.is_cpu()) return;
  if (!row_.defined()) row_ = at::full(numbers.sizes(), kAbsent, at::kFloat).pin_memory();
  row_.copy_(numbers, /*non_blocking=*/true);
}

void SkipLog::take(const ScaleNumbers& now) {
  const float skipped = now.skipped - known_.skipped, steps = now.steps - known_.steps;
  known_ = now;
  if (skipped <= 0) {
    if (steps > 0) {
      in_a_row_ = 0;
      warned_ = false;
    }
    return;
  }
  in_a_row_ = skipped == steps ? in_a_row_ + skipped : (now.last_skipped == now.steps ? 1.0F : 0.0F);
  const std::string which = skipped == 1
                                ? fmt::format("step {} skipped", now.last_skipped)
                                : fmt::format("{} steps skipped, the last of them step {}", skipped, now.last_skipped);
  log::info("{}: gradients overflowed at loss scale {}; the scale {} {}", which, now.last_scale,
            dynamic_ ? "is now" : "stays", now.scale);
  if (warned_ || (in_a_row_ < kManyInARow && !(dynamic_ && now.scale < 1))) return;
  warned_ = true;
  log::warning(
      "skipped steps in a row: {}; loss scale: {}; the loss itself may not be finite: look at it, at the input "
      "and at the learning rate",
      in_a_row_, now.scale);
}

}  // namespace lockstep::amp
