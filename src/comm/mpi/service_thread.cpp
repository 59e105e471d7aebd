#include "service_thread.h"

#include <pthread.h>

#include <chrono>
#include <future>
#include <thread>

#include <lockstep/base/comm_cpus.h>

namespace lockstep::comm::mpi {
namespace {

constexpr auto kLongestWait = std::chrono::milliseconds(50);

}  // namespace

ServiceThread::ServiceThread() : state_(std::make_shared<State>()) {
  std::thread thread([state = state_] {
    move_to_comm_cpus();
    std::unique_lock lock(state->mutex);
    for (;;) {
      state->changed.wait(lock, [&] { return !state->tasks.empty(); });
      const auto task = std::move(state->tasks.front());
      state->tasks.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  });
  ::pthread_setname_np(thread.native_handle(), "ls-mpi");
  thread.detach();
}

void ServiceThread::run(std::function<void()> task, const Patience* patience) {
  const auto packaged = std::make_shared<std::packaged_task<void()>>(std::move(task));
  auto done = packaged->get_future();
  {
    const std::lock_guard lock(state_->mutex);
    state_->tasks.emplace_back([packaged] { (*packaged)(); });
  }
  state_->changed.notify_one();
  if (patience != nullptr) {
    while (done.wait_for(kLongestWait) != std::future_status::ready) patience->check();
  }
  done.get();
}

}  // namespace lockstep::comm::mpi
