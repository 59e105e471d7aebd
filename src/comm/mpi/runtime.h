#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <mpi.h>

#include "../engine.h"
#include "service_thread.h"

namespace lockstep::comm::mpi {

// MPI in this process: whose it is, from where it may be called, and how it ends. There is one, because MPI is one.
//
// A program that has called MPI_Init keeps its MPI. Otherwise begin() starts it, in a thread of its own, which alone
// calls it when MPI allows no more (MPI_THREAD_FUNNELED). At the end of the process it is finalized when the exit
// status is 0 and every rank has come to its end; else it is left to the launcher, which then ends the job.
class Runtime {
 public:
  // Lives as long as the process.
  static Runtime& get();

  // Starts MPI unless it runs; every rank of the job calls it. `timeout` bounds also the wait at the end of the
  // process. Throws UsageError when the program or MPI itself allows too few threads, and what `patience` throws.
  void begin(std::chrono::milliseconds timeout, const Patience& patience);

  // In MPI_COMM_WORLD.
  int rank() const { return rank_; }
  int size() const { return size_; }

  // Runs `function`, which calls MPI but never waits, as MPI allows: one call at a time, and in the thread that it
  // demands. Throws RuntimeError once MPI has been given up.
  template <typename Function>
  void call(Function&& function) {
    if (one_thread_) return thread_->run([&] { run_unless_given_up(function); });
    const std::lock_guard lock(mutex_);
    run_unless_given_up(function);
  }

  // An operation has ended while messages of its were under way, whose memory may be gone by now. MPI is not called
  // any more in this process, so that nothing is written there.
  void give_up(const std::string& reason) noexcept;

  // Whether communicators can still be freed: neither given up nor finalized.
  bool usable() const;

 private:
  Runtime() = default;
  void join_program(int level);
  void start(const Patience& patience);
  void finalize() noexcept;
  static void at_exit(int status, void* self);

  template <typename Function>
  void run_unless_given_up(Function&& function) {
    if (given_up_.load(std::memory_order_acquire)) throw_given_up();
    function();
  }
  [[noreturn]] void throw_given_up() const;

  std::mutex beginning_;
  bool begun_ = false;
  int level_ = MPI_THREAD_SINGLE;
  bool one_thread_ = false;
  int rank_ = 0;
  int size_ = 1;
  std::chrono::milliseconds timeout_{};
  std::unique_ptr<ServiceThread> thread_;  // only where MPI is ours
  MPI_Comm ending_ = MPI_COMM_NULL;        // where the ranks meet before MPI is finalized

  std::mutex mutex_;
  std::atomic<bool> given_up_ = false;
  std::string reason_;  // written once, before given_up_
};

}  // namespace lockstep::comm::mpi
