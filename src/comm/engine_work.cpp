#include "engine_work.h"

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::comm {

EngineWork::EngineWork(c10d::OpType type, Operation operation, std::vector<at::Tensor> results)
    : Work(-1, type),
      operation_(std::move(operation)),
      results_(std::move(results)),
      future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))) {}

bool EngineWork::wait(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto is_complete = [this] { return completed_; };
  if (timeout == kNoTimeout) {
    cv_.wait(lock, is_complete);  // the operation itself has a deadline
  } else if (!cv_.wait_for(lock, timeout, is_complete)) {
    throw TimeoutError(
        {.message = fmt::format("{} is not complete after {}", operation_.describe(), format_duration(timeout)),
         .next = "wait again: the operation goes on"});
  }
  if (exception_) std::rethrow_exception(exception_);
  return true;
}

// The future first: a continuation may start other work, and whoever waits here must find it started.
void EngineWork::complete() {
  future_->markCompleted(c10::IValue(results_));
  finish();
}

void EngineWork::complete_from(int source_rank) {
  source_rank_ = source_rank;
  complete();
}

void EngineWork::fail(std::exception_ptr error) {
  future_->setError(error);
  finish(std::move(error));
}

}  // namespace lockstep::comm
