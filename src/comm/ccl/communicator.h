#pragma once
#include <memory>
#include <string>

#include <oneapi/ccl.hpp>

#include "../backend.h"

namespace lockstep::comm::ccl {

// A communicator of oneCCL, lent to one group. When the group is gone it goes back to a cache, where the next group of
// the same processes finds it: making one takes many questions to the store, and unmaking one would wait for the other
// ranks. It is never unmade.
class Communicator {
 public:
  // Collective: every rank of the group calls it. Throws what `patience` throws.
  static std::unique_ptr<Communicator> acquire(const BackendRequest& request, const Patience& patience);

  Communicator(std::string members, int number, std::shared_ptr<::ccl::communicator> handle);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  const ::ccl::communicator& get() const { return *handle_; }
  // Whether it was made for this group, and not found in the cache.
  bool fresh() const { return fresh_; }

 private:
  std::string members_;  // the processes, in the order of their ranks
  int number_;           // among the communicators of the same processes
  bool fresh_ = false;
  std::shared_ptr<::ccl::communicator> handle_;
};

}  // namespace lockstep::comm::ccl
