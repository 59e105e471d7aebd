#pragma once
#include <ATen/record_function.h>

#include "../kernels/recorded.h"

namespace lockstep::bench {

// What an operation has to do, as far as it is known: what ours say of themselves, and products, convolutions and the
// usual passes over memory of libtorch's. From its inputs, which are there when it begins.
kernels::Work work_of(const at::RecordFunction& operation);

}  // namespace lockstep::bench
