#pragma once
#include <memory>
#include <thread>

#include <lockstep/base/rendezvous_client.h>

#include "../operation.h"

namespace lockstep::comm {

// This rank's membership of the job: other ranks learn within moments when it dies, and it learns of theirs. Says
// goodbye when it is destroyed, unless by an exception on its way up.
class LifeLine {
 public:
  // Joins as `self`. From then on, `loss` is raised when another rank is lost, or who serves the rendezvous: `server`.
  LifeLine(const Token& token, const RendezvousClientOptions& options, const Member& self, std::string server,
           std::shared_ptr<LossFlag> loss);
  LifeLine(const LifeLine&) = delete;
  LifeLine& operator=(const LifeLine&) = delete;
  ~LifeLine();

  // Returns when all ranks of the job have joined. Throws when one is lost before that; TimeoutError names who is
  // missing.
  std::vector<Member> wait_for_world(std::chrono::milliseconds timeout) { return member_.wait_for_world(timeout); }

 private:
  void watch();

  RendezvousClient member_;   // the connection whose end means that this rank is lost
  RendezvousClient watcher_;  // waits for news of others
  std::string server_;
  std::shared_ptr<LossFlag> loss_;
  std::thread thread_;
};

}  // namespace lockstep::comm
