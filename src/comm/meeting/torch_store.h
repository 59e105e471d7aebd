// PyTorch's own stores, for jobs that must meet as PyTorch does.
#pragma once
#include <chrono>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <lockstep/base/init_method.h>
#include <lockstep/base/rank.h>

namespace lockstep::comm {

// The TCPStore at an address, served by rank 0 there and on no other address; returns when all ranks have come. Anyone
// who reaches the address can read and write it, and rank 0 says so in one line.
c10::intrusive_ptr<c10d::Store> meet_at_tcp_store(const Endpoint& where, RankId rank,
                                                  std::chrono::milliseconds timeout);

// The FileStore at a path that all ranks see; it must not be there before the job, and is removed by its last rank.
c10::intrusive_ptr<c10d::Store> meet_at_file_store(const std::string& path, RankId rank,
                                                   std::chrono::milliseconds timeout);

}  // namespace lockstep::comm
