// Work on all threads of this rank.
#pragma once
#include <algorithm>
#include <cstdint>

#include <c10/util/FunctionRef.h>

namespace lockstep::kernels {

// Calls body(begin, end) for parts of the range, of at least `grain` each, on the threads that libtorch's own
// operations use, as many as at::get_num_threads() says. Rethrows what a part throws. Inside of another such region it
// runs alone.
//
// at::parallel_for is a template with an OpenMP pragma in it, and so would bring the OpenMP of whichever compiler
// compiles it. This one calls the runtime that libtorch is linked to.
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain,
                  c10::function_ref<void(std::int64_t, std::int64_t)> body);

}  // namespace lockstep::kernels
