// What the job's launcher and the agents on its nodes say to each other, after both have proved the job's token: one
// CBOR object a message, with its kind under "is".
//
//   agent     hello       who it is, and what it was told of the job
//   launcher  start       its share of the ranks         (once for each attempt)
//   agent     output, end, stuck     of a rank
//   agent     asked       its user, or its scheduler, has sent it a signal
//   launcher  signal      for the ranks
//   either    beat        once a second, so that silence means loss
//   either    refuse      what makes going on impossible
//   launcher  bye         with the job's exit code
#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/launch/binding.h>
#include <lockstep/launch/child.h>

#include "rank_events.h"

namespace lockstep::launch {

using Message = nlohmann::json;

// A node as it introduces itself.
struct NodeInfo {
  std::string version;
  std::string host;
  pid_t pid = 0;
  int number = -1;  // its place among the nodes, if it was told; else it takes the next
  int gpus = 0;
  int port = 0;       // reserved there for rank 0, should that be its
  int nodes_min = 0;  // what it was told of the job; 0: nothing
  int nodes_max = 0;
  int ranks = 0;
  int ranks_per_node = 0;
  std::string address;  // the launcher fills this in: where the others can reach it

  std::string name() const;  // "node 1 (node07, pid 4411)"
};

// A node's share of the job.
struct NodeAssignment {
  std::vector<std::string> command;
  std::string folder;     // where the ranks work; empty: where the agent is
  Variables environment;  // of all ranks
  int first_rank = 0;
  int ranks = 1;
  int size = 1;
  int node = 0;
  int nodes = 1;
  int restarts = 0;
  int max_restarts = 0;
  std::string job;
  std::string master_address;
  int master_port = 0;
  std::string rendezvous;
  int heartbeat = 0;  // seconds
  BindingOptions binding;
};

// An error on its way to another process, and there. `where` becomes its operation, if it has none.
Message refusal(const Error& error);
[[noreturn]] void throw_refusal(const Message& message, const std::string& where = "");

}  // namespace lockstep::launch
