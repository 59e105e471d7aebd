#include "message_pump.h"

#include <lockstep/base/comm_cpus.h>
#include <lockstep/base/errors.h>

namespace lockstep::comm {
namespace {

// Rounds without progress after which the thread yields, then sleeps between looks.
constexpr int kEagerRounds = 2000;
constexpr int kPatientRounds = 20000;
constexpr auto kNap = std::chrono::microseconds(100);

void relax(int idle_rounds) {
  if (idle_rounds > kPatientRounds) {
    std::this_thread::sleep_for(kNap);
  } else if (idle_rounds > kEagerRounds) {
    std::this_thread::yield();
  }
}

}  // namespace

MessagePump::MessagePump(std::shared_ptr<Watch> watch) : watch_(std::move(watch)) {}

MessagePump::~MessagePump() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void MessagePump::add(c10::intrusive_ptr<EngineWork> work, std::unique_ptr<Transfer> transfer,
                      std::chrono::milliseconds timeout) {
  auto patience = std::make_unique<OperationPatience>(work->operation(), timeout, *watch_);
  {
    const std::lock_guard lock(mutex_);
    arriving_.push_back({std::move(work), std::move(transfer), std::move(patience)});
    if (!thread_.joinable()) {
      thread_ = std::thread([this] {
        move_to_comm_cpus();
        loop();
      });
    }
  }
  changed_.notify_all();
}

void MessagePump::loop() {
  std::list<Message> active;
  int idle_rounds = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (active.empty()) changed_.wait(lock, [this] { return ending_ || !arriving_.empty(); });
      if (!arriving_.empty()) idle_rounds = 0;
      active.splice(active.end(), arriving_);
      if (ending_) break;
    }
    const std::size_t before = active.size();
    active.remove_if([this](Message& message) { return advance(message); });
    idle_rounds = active.size() == before ? idle_rounds + 1 : 0;
    relax(idle_rounds);
  }
  const auto closed = std::make_exception_ptr(RuntimeError("the group was closed before the message had passed"));
  for (Message& message : active) message.work->fail(closed);
}

bool MessagePump::advance(Message& message) {
  try {
    if (message.transfer->poll()) {
      watch_->end(message.work->operation(), true);
      message.work->complete_from(message.transfer->peer());
      return true;
    }
    message.patience->check();
    return false;
  } catch (...) {
    watch_->end(message.work->operation(), false);
    message.work->fail(std::current_exception());
    return true;
  }
}

}  // namespace lockstep::comm
