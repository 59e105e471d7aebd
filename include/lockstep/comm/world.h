// The whole job, seen from one rank.
#pragma once
#include <chrono>
#include <string>

#include <lockstep/base/placement.h>
#include <lockstep/comm/group.h>

namespace lockstep {

struct WorldOptions {
  // "local", "gloo", "mpi", "ccl", "local+gloo" or "local+mpi" for tensors in the CPU's memory, "nccl" for those of
  // GPUs, with auto beside it for the CPU's. auto: local where all ranks share a node, local+gloo where some do, else
  // gloo.
  std::string backend = "auto";
  // What PyTorch's init_process_group takes: where ranks meet ("env://", "tcp://HOST:PORT", "file:///PATH") and who
  // this one is. Empty: both are found out, from whoever started the ranks.
  std::string init_method = {};
  std::optional<RankId> rank = {};
  // How long ranks wait for one another: for the job to be complete, and in each collective.
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
};

// The group of all ranks. The one thing that a program makes first and destroys last; every rank makes it, and the
// constructor returns when all have come. Rank, size and meeting point come from the environment
// (lockstep/base/placement.h); a program started alone is a world of one, which opens no port.
//
// Throws UsageError when the environment or the backend makes no sense, RuntimeError when not all ranks come in time.
class World : public Group {
 public:
  explicit World(const WorldOptions& options = {});
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const Placement& placement() const { return placement_; }

 private:
  World(const WorldOptions& options, Placement placement);
  Placement placement_;
};

}  // namespace lockstep
