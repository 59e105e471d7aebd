// How the ranks of a job find one another.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <lockstep/base/init_method.h>
#include <lockstep/base/placement.h>
#include <lockstep/base/rendezvous_client.h>

#include "../operation.h"

namespace lockstep::comm {

class LifeLine;

// What the ranks have in common once they have met.
struct Meeting {
  c10::intrusive_ptr<c10d::Store> store;
  std::vector<std::string> hosts;  // of each rank; empty where ranks of PyTorch may be among them
  std::shared_ptr<LossFlag> loss = std::make_shared<LossFlag>();
  std::shared_ptr<LifeLine> life_line;  // null for a single process, and where ranks of PyTorch may be among them
  std::shared_ptr<void> farewell;       // destroyed last: rank 0 may be who serves the meeting
};

struct MeetingRequest {
  Placement placement;
  InitMethod method;
  std::string backend;
  std::chrono::milliseconds timeout{};
};

// Meets all ranks of the job, and returns when they have come. A single process meets nobody and opens no port. Several
// meet at the launcher's authenticated rendezvous, when it has one (LOCKSTEP_RENDEZVOUS and the token). Else rank 0
// serves such a rendezvous, and where it is and its token reach the others in one of these ways: through PyTorch's
// TCPStore or FileStore, when the method or MASTER_ADDR and MASTER_PORT ask for one; through MPI, when the backend is
// mpi; through a file of mode 0600; or through MPI after all.
//
// With the backend gloo at a store of PyTorch's, the store itself is all they share: ranks of Python can join.
Meeting meet(const MeetingRequest& request);

// Joins a rendezvous that `server` serves ("the launcher", as errors name it), as `rank`, and waits for all other
// ranks.
Meeting join_rendezvous(const Token& token, const RendezvousClientOptions& options, RankId rank,
                        const std::string& server, std::chrono::milliseconds timeout);

}  // namespace lockstep::comm
