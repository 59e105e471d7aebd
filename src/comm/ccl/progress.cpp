#include "progress.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <lockstep/base/errors.h>

namespace lockstep::comm::ccl {
namespace {

// Polls after which a rank lets others have its core: where there are more ranks than cores, one of them is waited for.
constexpr int kEagerPolls = 100;
// How long after an error of oneCCL the loss of a rank, which is the better half of the message, may become known.
constexpr auto kTimeToLearnOfLoss = std::chrono::seconds(2);

std::mutex& turn() {
  static std::mutex mutex;
  return mutex;
}

std::atomic<bool>& given_up() {
  static std::atomic<bool> flag = false;
  return flag;
}

void relax(int polls) {
  if (polls > kEagerPolls) std::this_thread::yield();
}

void run(::ccl::event& event, const std::function<::ccl::event()>& start, const Patience& patience) {
  {
    const auto lock = enter(patience);
    event = start();
  }
  for (int polls = 0;; polls = std::min(polls + 1, kEagerPolls + 1)) {
    {
      const auto lock = enter(patience);
      if (event.test()) return;
    }
    patience.check();
    relax(polls);
  }
}

[[noreturn]] void explain(const std::exception& error, const Patience& patience) {
  const auto deadline = std::chrono::steady_clock::now() + kTimeToLearnOfLoss;
  while (std::chrono::steady_clock::now() < deadline) {
    patience.check();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw RuntimeError({.message = std::string("oneCCL failed: ") + error.what(),
                      .next = "CCL_LOG_LEVEL=info tells more; the backend gloo does without oneCCL"});
}

}  // namespace

std::unique_lock<std::mutex> enter(const Patience& patience) {
  std::unique_lock lock(turn(), std::try_to_lock);
  for (int polls = 0; !lock; ++polls) {
    patience.check();
    relax(polls);
    lock.try_lock();
  }
  if (given_up()) throw RuntimeError("an earlier operation of oneCCL in this process was given up");
  return lock;
}

void give_up() {
  given_up() = true;
}

void complete(const std::function<::ccl::event()>& start, const Patience& patience) {
  auto event = std::make_unique<::ccl::event>();
  try {
    run(*event, start, patience);
  } catch (const Error&) {
    give_up();
    (void)event.release();  // its destructor would wait for the operation
    throw;
  } catch (const std::exception& error) {
    give_up();
    (void)event.release();
    explain(error, patience);
  }
}

}  // namespace lockstep::comm::ccl
