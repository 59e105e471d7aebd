#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <lockstep/base/rank.h>

#include "operation.h"

namespace lockstep {
namespace comm {
class LifeLine;
class Monitor;
class Watch;
}  // namespace comm

// What the copies of a Group share, and what its subgroups are made from.
struct GroupContext {
  std::shared_ptr<void> farewell;  // outlives all others: rank 0 may be who serves the meeting
  std::string name = "world";
  std::string backend;                    // the name it was asked for by
  c10::intrusive_ptr<c10d::Store> store;  // this group's own part of the job's store
  std::vector<int> world_ranks;           // of each rank of the group
  std::vector<std::string> hosts;         // of each rank of the world
  std::string interface_address;
  std::chrono::milliseconds timeout{};
  std::shared_ptr<comm::LossFlag> loss;
  std::shared_ptr<comm::LifeLine> life_line;  // may be null
  std::shared_ptr<comm::Monitor> monitor;     // null where life_line is
  std::shared_ptr<comm::Watch> watch;
  int subgroups = 0;  // made so far; the same on every rank
  c10::intrusive_ptr<c10d::ProcessGroup> process_group;

  // Ends the communicators in order, which NCCL asks for. Where an operation failed there is nothing left to end well.
  ~GroupContext();
};

namespace comm {

// A context for some ranks of `parent`, which has everything but its process group.
std::shared_ptr<GroupContext> make_subcontext(GroupContext& parent, const std::vector<int>& ranks);

// Connects the ranks of `context`, which has everything but its process group, and fills that in. Collective.
void connect(GroupContext& context, RankId rank);

}  // namespace comm
}  // namespace lockstep
