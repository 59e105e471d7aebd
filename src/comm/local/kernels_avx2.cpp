#define LOCKSTEP_FIND_KERNEL find_kernel_avx2
#include "kernels.inc"
