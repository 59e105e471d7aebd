// The OpenMP runtimes of this process. Each has its own threads, so two of them ask for every core twice; and a program
// that sets the number of threads sets it for one of them.
#pragma once
#include <string>
#include <vector>

namespace lockstep {

// The paths of the runtimes that are loaded now, one for each kind: GNU's (libgomp), Intel's (libiomp5), LLVM's
// (libomp). Two copies of one kind count as one: libtorch brings a libgomp of its own.
std::vector<std::string> loaded_openmp_runtimes();

// Says so in the log, once, when there is more than one.
void warn_of_several_openmp_runtimes();

}  // namespace lockstep
