#include "operation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

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
  return fmt::format("{} #{}{}", name, sequence, tensor.empty() ? "" : " (" + tensor + ")");
}

std::string describe_tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  return fmt::format("{}[{}]", c10::getDtypeNames(tensor.scalar_type()).first, fmt::join(tensor.sizes(), ", "));
}

OperationPatience::OperationPatience(const Operation& operation, std::chrono::milliseconds timeout,
                                     const LossFlag& loss)
    : operation_(operation), timeout_(timeout), deadline_(std::chrono::steady_clock::now() + timeout), loss_(loss) {}

void OperationPatience::check() const {
  if (loss_.raised()) {
    throw RuntimeError({.message = fmt::format("{} was given up: {}", operation_.describe(), loss_.reason())});
  }
  if (std::chrono::steady_clock::now() > deadline_) {
    throw TimeoutError(
        {.message = fmt::format("{} timed out after {}", operation_.describe(), format_duration(timeout_)),
         .next = "see what the other ranks were doing; raise the timeout if one is only slow"});
  }
}

}  // namespace lockstep::comm
