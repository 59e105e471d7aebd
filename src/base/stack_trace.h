// Where threads of this process are.
#pragma once
#include <pthread.h>

#include <string>
#include <vector>

namespace lockstep {

// The functions that the calling thread is in, innermost first: names where the program has symbols, else the library
// and the offset in it.
std::vector<std::string> stack_trace();

// A C++ name as people write it; other text as it is.
std::string demangle(const std::string& name);

// As stack_trace, of another thread, which is interrupted by a signal for a moment; empty when it does not answer
// within a second. Calls take turns.
std::vector<std::string> stack_trace_of(pthread_t thread);

}  // namespace lockstep
