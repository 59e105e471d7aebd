#pragma once
#include <pthread.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <lockstep/base/rank.h>

#include "operation.h"

namespace lockstep::comm {

// What a rank last did in a group, as it tells others when they ask.
struct Whereabouts {
  std::uint64_t sequence = 0;  // of its last collective
  std::string call;            // "all_reduce #16 (float32[10])"
  std::string state;           // "done"
  std::string stack;           // where its main thread is
};

// One for each process of the job: answers other ranks who ask where this one is, asks them on behalf of an operation
// that waits, and reports a stall. It has a thread and a connection to the store of its own, so it answers whatever the
// program does.
//
// An operation that runs for longer than LOCKSTEP_STALL_SECONDS (30; 0: never) is a stall. One rank of those that wait
// prints it, once for each operation.
class Monitor {
 public:
  // The calling thread is the one whose stack is told.
  Monitor(c10d::Store& store, RankId rank, std::shared_ptr<const LossFlag> loss);
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  ~Monitor();

  // Where each rank of the world is that answers within `patience`: what it did last in `group`. With `is_end`, every
  // rank that is asked leaves a post-mortem.
  std::map<int, Whereabouts> ask(const std::string& group, bool is_end,
                                 std::chrono::milliseconds patience = std::chrono::seconds(2));

  // A group whose stalls are to be reported, until forget.
  void watch(const std::string& group, std::vector<int> world_ranks);
  void forget(const std::string& group);

 private:
  void loop();
  void answer(std::int64_t question);
  void look_for_stall();
  void report_stall(const std::string& group, const Operation& operation, std::chrono::duration<double> age);

  RankId rank_;
  std::shared_ptr<const LossFlag> loss_;
  pthread_t main_thread_;
  std::chrono::seconds stall_time_;
  c10::intrusive_ptr<c10d::Store> answers_;    // of the thread
  c10::intrusive_ptr<c10d::Store> questions_;  // of whoever asks
  std::mutex asking_;
  std::mutex mutex_;
  bool ending_ = false;
  std::map<std::string, std::vector<int>> groups_;
  std::uint64_t reported_ = 0;  // the newest ticket whose stall was looked at
  std::thread stall_report_;
  std::thread thread_;
};

// In words who of a group has not come to a collective, or called another in its place: "rank 2 has not arrived: its
// last call was all_reduce #16 (...), done". `members` are the world's numbers of the group's ranks. Empty when all
// have come.
std::string describe_others(const std::map<int, Whereabouts>& whereabouts, const std::vector<int>& members,
                            const Operation& operation);

}  // namespace lockstep::comm
