#pragma once
#include <lockstep/launch/child.h>

namespace lockstep::launch {

// The variables that ranks on other hosts get from here, because ssh brings none: the paths of programs and libraries,
// and all that tunes what runs in a rank (OMP_, MKL_, KMP_, GOMP_, CCL_, FI_, NCCL_, GLOO_, TORCH_, PYTORCH_, PYTHON,
// CUDA_ but for the choice of GPUs, ATEN_, LOCKSTEP_ but for what belongs to a process).
Variables forwarded_environment();

}  // namespace lockstep::launch
