#pragma once
#include <chrono>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <lockstep/base/placement.h>

namespace lockstep::comm {

// The store at which the ranks meet: in memory for a single process, else PyTorch's TCPStore at the placement's master
// address, served by rank 0 and bound to that address alone. Returns when all ranks have connected.
c10::intrusive_ptr<c10d::Store> meet(const Placement& placement, std::chrono::milliseconds timeout);

}  // namespace lockstep::comm
