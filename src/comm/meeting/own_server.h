#pragma once
#include <chrono>

#include <lockstep/base/placement.h>

#include "courier.h"
#include "meet.h"

namespace lockstep::comm {

// For ranks that no launcher of ours serves: rank 0 serves the authenticated rendezvous itself, on `address`, and its
// address and the token travel by `courier`.
Meeting meet_at_rank_0(RankId rank, const std::string& address, const Courier& courier,
                       std::chrono::milliseconds timeout);

// The address that others can reach this host at: that of the interface named by LOCKSTEP_INTERFACE, else of `host`,
// else of this host's name.
std::string address_of_this_host(const std::string& host);

}  // namespace lockstep::comm
