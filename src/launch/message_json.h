// Messages made and read. Apart from messages.h, because what this includes takes long to compile.
#pragma once
#include <nlohmann/json.hpp>

#include "messages.h"

namespace lockstep::launch {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Bind, kind, masks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BindingOptions, bind, threads, threads_per_core, cores_for_comm)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NodeInfo, version, host, pid, number, gpus, port, nodes_min, nodes_max, ranks,
                                   ranks_per_node)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NodeAssignment, command, folder, environment, first_rank, ranks, size, node, nodes,
                                   restarts, max_restarts, job, master_address, master_port, rendezvous, heartbeat,
                                   binding)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankOutput, rank, stream, lines)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankEnd, rank, pid, exit_code, signal, asked, time, age, out_of_memory, last_lines,
                                   error, doing, blamed_rank)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankStuck, rank, pid, how, doing, fatal, waits)

// `content` as a message of a kind.
template <typename Content>
Message message(const char* kind, const Content& content) {
  Message result = content;
  result["is"] = kind;
  return result;
}

}  // namespace lockstep::launch
