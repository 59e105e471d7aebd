// LOCKSTEP_COMM_CPUS: the hardware threads of this rank that are kept for communication, as `lockstep run
// --cores-for-comm` sets it. Threads that move data between ranks go there, out of the way of those that compute.
#pragma once
#include <vector>

#include <lockstep/base/affinity_mask.h>

namespace lockstep {

// Keeps cores for communication in a rank that another launcher has bound: with LOCKSTEP_CORES_FOR_COMM=K and without a
// list, the last K cores of this process's mask become the list, and its threads keep the rest. Call it before threads
// are many. Throws UsageError when the mask has no core more than K.
void divide_cpus();

// Empty when the variable is not set. Throws UsageError when it is no list of cpus.
std::vector<int> comm_cpus();

// Moves the calling thread there, and with it the threads that it starts. Where that is not possible the thread stays
// where it is, and the log says so. Does nothing when the variable is not set.
void move_to_comm_cpus();

// While it lives the calling thread is there. What a library starts meanwhile stays there.
class OnCommCpus {
 public:
  OnCommCpus() { move_to_comm_cpus(); }
  OnCommCpus(const OnCommCpus&) = delete;
  OnCommCpus& operator=(const OnCommCpus&) = delete;
  ~OnCommCpus() { before_.apply(); }

 private:
  AffinityMask before_ = AffinityMask::current();
};

}  // namespace lockstep
