#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <lockstep/base/placement.h>

#include "operation.h"

namespace lockstep::comm {

class LifeLine;

// What the ranks have in common once they have met.
struct Meeting {
  c10::intrusive_ptr<c10d::Store> store;
  std::vector<std::string> hosts;  // of each rank
  std::shared_ptr<LossFlag> loss = std::make_shared<LossFlag>();
  std::shared_ptr<LifeLine> life_line;  // only where the launcher serves the meeting
};

// Meets all ranks of the job, and returns when they have come: in memory for a single process; at the launcher's
// authenticated rendezvous when it has one (LOCKSTEP_RENDEZVOUS and the token); else at PyTorch's TCPStore, served by
// rank 0 on the placement's master address and on no other.
Meeting meet(const Placement& placement, std::chrono::milliseconds timeout);

}  // namespace lockstep::comm
