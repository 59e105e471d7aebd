// In place of the kernels, where there was no compiler for them.
#include "kernels.h"

extern "C" __attribute__((visibility("default"))) const lockstep::kernels::cuda::Kernels* lockstep_cuda_kernels() {
  return nullptr;
}
