#include "sigpipe_blocked.h"

#include <ctime>

namespace lockstep {
namespace {

sigset_t only_sigpipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

}  // namespace

SigpipeBlocked::SigpipeBlocked() {
  const sigset_t sigpipe = only_sigpipe();
  ::pthread_sigmask(SIG_BLOCK, &sigpipe, &before_);
}

SigpipeBlocked::~SigpipeBlocked() {
  if (sigismember(&before_, SIGPIPE) == 1) return;
  const sigset_t sigpipe = only_sigpipe();
  const timespec at_once{};
  ::sigtimedwait(&sigpipe, nullptr, &at_once);  // else one that was raised meanwhile would come with the next call
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace lockstep
