// How operations of oneCCL run to their end. It has no threads of its own here (see environment.h): it moves while an
// event is tested, and then all communicators of the process move. So one thread at a time may be inside oneCCL.
#pragma once
#include <functional>
#include <mutex>

#include <oneapi/ccl.hpp>

#include "../engine.h"

namespace lockstep::comm::ccl {

// Waits for its turn to be inside oneCCL. Throws what `patience` throws, and RuntimeError after give_up().
std::unique_lock<std::mutex> enter(const Patience& patience);

// From now on nothing in this process enters oneCCL: an operation that was given up still has its memory, and would go
// on with it as soon as any other operation moves.
void give_up();

// Starts an operation and returns when it is complete. When it fails, or `patience` throws, oneCCL is given up.
void complete(const std::function<::ccl::event()>& start, const Patience& patience);

}  // namespace lockstep::comm::ccl
