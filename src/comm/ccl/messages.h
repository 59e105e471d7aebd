#pragma once
#include <memory>

#include "../backend.h"
#include "ccl_engine.h"

namespace lockstep::comm::ccl {

// Collective. The ranks of one node pass messages through shared memory, as the backend `local` does; where they are on
// several nodes, or cannot share memory, through the job's store.
std::unique_ptr<Messages> make_messages(const BackendRequest& request, const Patience& patience);

}  // namespace lockstep::comm::ccl
