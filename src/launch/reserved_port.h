#pragma once
#include <lockstep/base/fd.h>

namespace lockstep::launch {

// A TCP port that the kernel chose and that stays ours for the life of the object: the socket is bound with
// SO_REUSEADDR and never listens, so rank 0 can bind and listen on the same port while nobody else is given it.
class ReservedPort {
 public:
  ReservedPort();
  int number() const { return number_; }

 private:
  UniqueFd socket_;
  int number_ = 0;
};

}  // namespace lockstep::launch
