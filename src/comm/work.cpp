#include <lockstep/comm/work.h>

#include <thread>
#include <utility>

#include "guard.h"
#include "work_state.h"

namespace lockstep {

bool Work::done() const {
  return !state_->work || state_->work->isCompleted();
}

void Work::wait() {
  comm::guarded(
      state_->operation,
      [&] {
        if (state_->work) state_->work->wait();
        if (state_->after) std::exchange(state_->after, {})();
      },
      state_->loss.get());
}

// Gloo takes a timeout for the end of the operation itself, so time is kept here, for all backends alike.
void Work::wait(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  auto pause = std::chrono::microseconds(1);
  while (!done()) {
    if (std::chrono::steady_clock::now() >= deadline) {
      throw TimeoutError(
          {.message = state_->operation + " is not complete in the time given", .next = "wait again: it goes on"});
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(1000));
  }
  wait();
}

void Work::on_done(std::function<void()> callback) {
  if (!state_->work) return callback();
  state_->work->getFuture()->addCallback([callback = std::move(callback)](c10::ivalue::Future&) { callback(); });
}

int Work::source() const {
  return state_->work ? state_->work->sourceRank() : -1;
}

}  // namespace lockstep
