#include "operation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>

#include "watch.h"

namespace lockstep::comm {

void LossFlag::raise(std::string reason) {
  const std::lock_guard lock(mutex_);
  if (raised_.load(std::memory_order_relaxed)) return;  // the first loss is the cause of the others
  reason_ = std::move(reason);
  raised_.store(true, std::memory_order_release);
}

std::string LossFlag::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

std::string Operation::describe() const {
  return name + (sequence == 0 ? "" : fmt::format(" #{}", sequence)) + (tensor.empty() ? "" : " (" + tensor + ")");
}

std::string describe_tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  return fmt::format("{}[{}]", c10::getDtypeNames(tensor.scalar_type()).first, fmt::join(tensor.sizes(), ", "));
}

OperationPatience::OperationPatience(const Operation& operation, std::chrono::milliseconds timeout, const Watch& watch)
    : operation_(operation), timeout_(timeout), deadline_(std::chrono::steady_clock::now() + timeout), watch_(watch) {}

void OperationPatience::check() const {
  if (watch_.loss().raised()) throw watch_.given_up(operation_);
  if (std::chrono::steady_clock::now() > deadline_) throw watch_.too_late(operation_, timeout_);
}

}  // namespace lockstep::comm
