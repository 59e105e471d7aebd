#pragma once
#include <sched.h>

#include <span>
#include <vector>

namespace lockstep {

// The hardware threads that a thread may run on. Made before a fork it can be applied after it: apply() allocates
// nothing and is safe in a signal handler. One of no cpus leaves everything as it is.
class AffinityMask {
 public:
  AffinityMask() = default;
  explicit AffinityMask(std::span<const int> cpus);
  // That of the calling thread; one of no cpus where the system does not tell.
  static AffinityMask current();

  // How many hardware threads these are.
  int count() const;

  // For the calling thread and those that it starts from now on. 0, or an errno: EINVAL when the thread is kept from
  // all of these cpus.
  int apply() const noexcept;

 private:
  std::vector<cpu_set_t> sets_;  // end to end: one alone ends at 1,024
};

}  // namespace lockstep
