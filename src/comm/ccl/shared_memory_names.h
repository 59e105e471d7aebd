#pragma once
#include "../engine.h"

namespace lockstep::comm::ccl {

// libfabric's shared memory has names in /dev/shm, which a killed process leaves behind. This object removes those of
// this process when it goes: by then every rank must have the memory of every other mapped, or have given up.
class SharedMemoryNames {
 public:
  SharedMemoryNames() = default;
  SharedMemoryNames(const SharedMemoryNames&) = delete;
  SharedMemoryNames& operator=(const SharedMemoryNames&) = delete;
  ~SharedMemoryNames();

  // Collective: makes every rank talk to every other, which maps their memory.
  void meet(Engine& engine, int ranks, const Patience& patience) const;
};

}  // namespace lockstep::comm::ccl
