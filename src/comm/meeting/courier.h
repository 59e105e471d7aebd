// How rank 0 tells the others, before anything connects them, where it serves the job's rendezvous and under which
// token.
#pragma once
#include <chrono>
#include <functional>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <lockstep/base/placement.h>

namespace lockstep::comm {

// Every rank calls it, once; rank 0 with the text, which every rank gets back. Throws TimeoutError.
using Courier = std::function<std::string(const std::string& text_of_rank_0)>;

// Through a store of PyTorch's.
Courier make_store_courier(c10::intrusive_ptr<c10d::Store> store, RankId rank);

// Through MPI, by the plugin for the MPI whose launcher started the ranks, which starts MPI if the program has not done
// so; nothing when no MPI started them.
Courier make_mpi_courier(RankId rank, std::chrono::milliseconds timeout);

// Through a file that only this user can read, which is removed once every rank has had time to read it: when the
// Courier of rank 0 is destroyed. On one node it is in XDG_RUNTIME_DIR or /tmp; else in LOCKSTEP_MEETING_DIR or
// ~/.lockstep/meetings, which must be on a file system that all nodes share. Its name is the launcher's name for the
// job; nothing when the launcher has given it none.
Courier make_file_courier(const Placement& placement, std::chrono::milliseconds timeout);

}  // namespace lockstep::comm
