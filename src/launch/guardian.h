#pragma once
#include <functional>

namespace lockstep::launch {

// Runs `body` in a process of its own, in a process group of its own, and stands guard over it: whichever of the two is
// killed, the other ends every process that stems from them. A signal that asks this process to end is passed on to the
// body's. Returns the body's exit code, or 128 + S when signal S ended it.
//
// `body` gets a descriptor that can be read, at its end, when this process has died; it must then end at once.
int guard(const std::function<int(int guardian)>& body);

// For a body that has done its work and waits only for whoever reads its output, perhaps for ever: ends what still
// stems from it. From now on it dies with its guardian, and of a signal that asks it to end.
void stand_down(int guardian);

}  // namespace lockstep::launch
