#define LOCKSTEP_FIND_KERNEL find_kernel_base
#include "kernels.inc"
