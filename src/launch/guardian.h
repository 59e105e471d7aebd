#pragma once
#include <functional>

namespace lockstep::launch {

// Runs `body` in a process of its own, in a process group of its own, and stands guard over it: whichever of the two is
// killed, the other ends every process that stems from them. A signal that asks this process to end is passed on to the
// body's. Returns the body's exit code, or 128 + S when signal S ended it.
//
// `body` gets a descriptor that can be read, at its end, when this process has died; it must then end at once.
int guard(const std::function<int(int guardian)>& body);

}  // namespace lockstep::launch
