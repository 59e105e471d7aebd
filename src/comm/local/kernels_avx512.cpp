#define LOCKSTEP_FIND_KERNEL find_kernel_avx512
#include "kernels.inc"
